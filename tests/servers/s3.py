"""Moto's S3 server, one request at a time. Runs in the servers' own environment.

Moto compares a condition and writes in two steps and handles requests in threads, so that two writers could both be
told that they had won; S3 does not allow that, so what the tests run against must not either.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple


def main() -> None:
    """Serve on a port until killed."""
    moto, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def in_turn(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        with turn:
            return moto(environ, start_response)

    run_simple("127.0.0.1", int(sys.argv[1]), in_turn, threaded=True, request_handler=MotoRequestHandler)


if __name__ == "__main__":
    main()

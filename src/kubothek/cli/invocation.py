"""What was said before the command: which store, and whether in colour. Commands get it as their context's object."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import click

import kubothek as kb


class Color(StrEnum):
    """When the output is coloured; ``auto`` is on a terminal, unless ``NO_COLOR`` is set (https://no-color.org)."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options that hold for all commands."""

    store_url: str | None
    store_options: Mapping[str, str | bool]
    color: Color

    @property
    def coloured(self) -> bool | None:
        """Whether output is coloured; ``None`` where that depends on whether the stream is a terminal."""
        if self.color is Color.AUTO:
            return False if os.environ.get("NO_COLOR") else None
        return self.color is Color.ALWAYS

    def open_store(self) -> kb.Store:
        """Open the store.

        Raises
        ------
        click.UsageError
            None was named.
        """
        if not self.store_url:
            raise click.UsageError(
                "No store is given. Name it before the command with --store URL (a directory, s3://bucket/prefix, …), "
                "or in the environment variable KUBOTHEK_STORE."
            )
        return kb.Store(self.store_url, **self.store_options)


@dataclass(frozen=True, slots=True)
class DatasetTarget:
    """The dataset that a command is about; whether it exists shows when it is opened."""

    invocation: Invocation
    uuid: str

    @property
    def store(self) -> kb.Store:
        """Where it is; a usage error if no store was named."""
        return self.invocation.open_store()


@dataclass(frozen=True, slots=True)
class CubeTarget:
    """The cube that a command is about; whether it exists shows when it is opened."""

    invocation: Invocation
    uuid_prefix: str

    @property
    def store(self) -> kb.Store:
        """Where it is; a usage error if no store was named."""
        return self.invocation.open_store()

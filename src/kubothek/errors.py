"""Which errors Kubothek raises, drawn as one tree and branched by what a caller would do.

::

    KubothekError
    ├── InvalidInputError            fix the call                       (ValueError)
    │   ├── SchemaError                 columns or types do not fit
    │   ├── UnknownColumnError          a column that is nowhere
    │   ├── PredicateTypeError          a literal that its column cannot hold   (TypeError)
    │   ├── NullValueError              a null where none may be
    │   ├── DuplicateCellsError         a cell given twice in one write
    │   ├── UnindexedColumnError        an index is needed and absent   (RuntimeError)
    │   └── AmbiguousDeleteScopeError   a file holds more than is to be deleted
    ├── NotFoundError                look elsewhere                     (KeyError)
    │   ├── DatasetNotFoundError
    │   ├── CubeNotFoundError           (ValueError)
    │   ├── IndexNotFoundError
    │   ├── ObjectNotFoundError         a key that the store does not have
    │   └── SnapshotExpiredError
    ├── AlreadyExistsError           choose another name, or overwrite  (RuntimeError)
    ├── CommitConflictError          retry with new data                (RuntimeError)
    ├── CommitStateUnknownError      look before retrying               (RuntimeError)
    ├── CorruptDatasetError          metadata, schema or files do not fit together (RuntimeError)
    └── StoreError                   the storage said no; what and where (OSError)

Each also derives from the built-in that Kartothek raised in the same place, so handlers written for it keep working.
What an error knows (the columns, the keys, the examples) are its attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class KubothekError(Exception):
    """The root of all errors that Kubothek raises on purpose.

    Parameters
    ----------
    message
        What was asked, what was found, and what to do next.
    details
        The data of the error; each entry can be read as an attribute.
    """

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def __str__(self) -> str:
        """Return the message itself; ``KeyError`` would put it in quotes."""
        return self.message

    def __getattr__(self, name: str) -> Any:
        """Give each detail as an attribute."""
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the details, so that an error crosses processes whole."""
        return _rebuild, (type(self), self.message, self.details)


def _rebuild(kind: type[KubothekError], message: str, details: dict[str, Any]) -> KubothekError:
    return kind(message, **details)


class InvalidInputError(KubothekError, ValueError):
    """The call cannot be carried out as it was made; nothing was written."""


class SchemaError(InvalidInputError):
    """Columns or types do not fit each other or the format."""


class UnknownColumnError(InvalidInputError):
    """A column was named that does not exist; ``columns`` lists them."""


class PredicateTypeError(InvalidInputError, TypeError):
    """A condition compares a column with a value that its type cannot hold without loss."""


class NullValueError(InvalidInputError):
    """A column that may not hold nulls does; ``column`` names it."""


class DuplicateCellsError(InvalidInputError):
    """One write holds the same cell more than once; ``examples`` shows some."""


class UnindexedColumnError(InvalidInputError, RuntimeError):
    """The operation needs an index on a column that has none; ``columns`` lists them."""


class AmbiguousDeleteScopeError(InvalidInputError):
    """A delete scope selects files that also hold, or may hold, other rows; ``labels`` lists them."""


class NotFoundError(KubothekError, KeyError):
    """What was asked for is not there."""


class DatasetNotFoundError(NotFoundError):
    """No dataset of this name is in the store."""


class CubeNotFoundError(NotFoundError, ValueError):
    """No cube of this name is in the store, or it lacks its seed."""


class IndexNotFoundError(NotFoundError):
    """The dataset has no index on this column."""


class ObjectNotFoundError(NotFoundError):
    """The store has no object of this key; ``key`` names it."""


class SnapshotExpiredError(NotFoundError):
    """A file of the version that was opened has been deleted since; ``key`` names it."""


class AlreadyExistsError(KubothekError, RuntimeError):
    """What was to be created exists already."""


class CommitConflictError(KubothekError, RuntimeError):
    """Another commit came first and the two cannot both hold; ``ours`` and ``theirs`` name them."""


class CommitStateUnknownError(KubothekError, RuntimeError):
    """Whether the commit took place cannot be told; ``write_id`` names it."""


class CorruptDatasetError(KubothekError, RuntimeError):
    """Stored objects contradict each other or their format; ``key`` names the object."""


class StoreError(KubothekError, OSError):
    """The storage refused or failed; ``key`` and ``operation`` say where."""


def combined_error(what: str, errors: Sequence[KubothekError]) -> KubothekError:
    """Return the one error that reports several; ``problems`` holds them.

    Its class is theirs where they agree, else :class:`InvalidInputError`. The columns, datasets and
    keys that they name are those that it names.

    Examples
    --------
    >>> error = combined_error("No copy", [UnknownColumnError("no x", columns=("x",)), InvalidInputError("no y")])
    >>> print(type(error).__name__, error.columns, error)
    InvalidInputError ('x',) No copy:
    - no x
    - no y
    """
    kinds = {type(error) for error in errors}
    kind = kinds.pop() if len(kinds) == 1 else InvalidInputError
    text = f" {errors[0]}" if len(errors) == 1 else "".join(f"\n- {error}" for error in errors)
    details: dict[str, Any] = {
        name: tuple(dict.fromkeys(one for error in errors for one in error.details.get(name, ())))
        for name in ("columns", "datasets")
    }
    keys = tuple(error.details["key"] for error in errors if "key" in error.details)
    if keys:
        details |= {"key": keys[0], "keys": keys}
    return kind(f"{what}:{text}", **details, problems=tuple(errors))

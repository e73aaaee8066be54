"""What stands for Dask's lazy objects: a result that is made by ``compute``, and a bag of elements made one by one.

Both work in this process; Spark DataFrames are what distributes. They have just the methods that code around Kartothek
calls on the objects that Kartothek returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Delayed(Generic[T]):
    """A result that is made when it is asked for, each time anew.

    Examples
    --------
    >>> Delayed(lambda: 6 * 7).compute()
    42
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make

    def compute(self, **_options: Any) -> T:
        """Make the result; options for Dask's schedulers have no effect."""
        return self._make()


class Bag(Generic[T]):
    """Elements that are made one by one, each time anew when they are asked for.

    Examples
    --------
    >>> Bag(lambda: iter([1, 2, 3])).map(str).compute()
    ['1', '2', '3']
    """

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[T]:
        """Make the elements."""
        return iter(self._make())

    def map(self, function: Callable[..., U], *args: Any, **kwargs: Any) -> Bag[U]:
        """Return the bag of what a function makes of each element."""
        return Bag(lambda: (function(element, *args, **kwargs) for element in self))

    def filter(self, predicate: Callable[[T], bool]) -> Bag[T]:
        """Return the bag of the elements for which this is true."""
        return Bag(lambda: filter(predicate, self))

    def compute(self, **_options: Any) -> list[T]:
        """Make all elements; options for Dask's schedulers have no effect."""
        return list(self)

    def to_delayed(self) -> list[Delayed[list[T]]]:
        """Return the bag as its only partition."""
        return [Delayed(self.compute)]


def one_in_a_bag(make: Callable[[], T]) -> Bag[T]:
    """Return a bag with one element, which is made when the bag is computed."""
    return Bag(lambda: iter([make()]))


def elements(given: Any) -> Iterator[Any]:
    """Yield the elements of a bag, of a list of delayed results or frames, or of a single one.

    A bag or delayed result may be of any kind that has ``compute``, Dask's included.
    """
    if hasattr(given, "compute"):
        result = given if isinstance(given, Bag) else given.compute()
        yield from result if isinstance(result, (list, tuple, Bag)) else [result]
        return
    for element in given:
        yield element.compute() if hasattr(element, "compute") else element

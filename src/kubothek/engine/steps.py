"""Runs work that comes in steps, one after the other or in threads, and yields what it made in order.

A *step* is a call without arguments. It returns what it made, and the steps that follow it: those whose results come
next, before those of any other step. So a task may begin with a look at a file and only then say into how many pieces
it falls, and the pieces are made in parallel all the same. No thread ever waits for another or for the consumer: what
is ahead stays ahead, and a consumer that walks away leaves nothing that runs. Where :data:`ONE_BY_ONE` says so, all of
it happens in the caller's thread, in the order of the results, so that a simulation can be run again.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")

ONE_BY_ONE: ContextVar[bool] = ContextVar("ONE_BY_ONE", default=False)
"""Whether :func:`in_threads` begins no thread, but runs each step where and when its result is asked for."""


@dataclass(frozen=True, slots=True)
class Made(Generic[Out]):
    """What a step made, in order, and the steps whose results come next."""

    results: tuple[Out, ...] = ()
    following: tuple[Callable[[], Made[Out]], ...] = ()


Step = Callable[[], Made[Out]]


def once(task: Callable[[In], Out], one: In) -> Made[Out]:
    """Be the step that applies a task to one input, if called with both."""
    return Made((task(one),))


def steps_of(results: Iterator[Out]) -> Step[Out]:
    """Return the step that makes the first of these results, followed by those that make the others."""
    return partial(_next_of, results)


def _next_of(results: Iterator[Out]) -> Made[Out]:
    for result in results:
        return Made((result,), (steps_of(results),))
    return Made()


def in_order(steps: Iterable[Step[Out]]) -> Iterator[Out]:
    """Run steps one by one, each when its result is asked for.

    Examples
    --------
    >>> list(in_order([steps_of(iter("ab")), lambda: Made(("c",))]))
    ['a', 'b', 'c']
    """
    for step in steps:
        waiting = [step]
        while waiting:
            made = waiting.pop()()
            waiting.extend(reversed(made.following))
            yield from made.results


def in_threads(
    steps: Iterable[Step[Out]], threads: int | None = None, lead: int | None = None
) -> Generator[Out, None, None]:
    """Run steps several at a time, and yield their results in order.

    Parameters
    ----------
    steps
        The steps; they are taken as they are needed. A single one is run in this thread, since a thread costs more than
        most.
    threads
        How many run at once; ``None`` for one per core.
    lead
        How many of the next steps are begun before their results are asked for, which bounds the memory they take;
        ``None`` for one less than twice the number of threads.
    """
    if ONE_BY_ONE.get():
        yield from in_order(steps)
        return
    count = threads or os.cpu_count() or 1
    most = lead or 2 * count - 1
    coming = iter(steps)
    first = list(islice(coming, 2))
    if len(first) < 2:
        made: Made[Out] = first[0]() if first else Made()
        yield from made.results
        first = list(made.following)
    if not first:
        return
    with ThreadPoolExecutor(count) as pool:
        ahead: deque[Step[Out] | Future[Made[Out]]] = deque(first)
        try:
            _begin(ahead, coming, pool, most)
            while ahead:
                made = _result(ahead.popleft())
                ahead.extendleft(reversed(made.following))
                _begin(ahead, coming, pool, most)
                yield from made.results
        finally:
            for one in ahead:
                if isinstance(one, Future):
                    one.cancel()


def _begin(
    ahead: deque[Step[Out] | Future[Made[Out]]], coming: Iterator[Step[Out]], pool: ThreadPoolExecutor, count: int
) -> None:
    """Get ``count`` steps ahead where there are so many, and have the first of them begun."""
    ahead.extend(islice(coming, max(count - len(ahead), 0)))
    for place in range(min(count, len(ahead))):
        one = ahead[place]
        if not isinstance(one, Future):
            ahead[place] = pool.submit(one)


def _result(one: Step[Out] | Future[Made[Out]]) -> Made[Out]:
    return one.result() if isinstance(one, Future) else one()

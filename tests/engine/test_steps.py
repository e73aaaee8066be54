"""Work in steps: results in order, whatever runs beside what, and nothing that waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.engine.steps import Made, Step, in_order, in_threads, steps_of

Tree = tuple[list[int], list["Tree"]]
TREES = st.recursive(
    st.tuples(st.lists(st.integers(0, 9), max_size=2), st.just([])),
    lambda trees: st.tuples(st.lists(st.integers(0, 9), max_size=2), st.lists(trees, max_size=3)),
)


def step_of(tree: Tree) -> Step[int]:
    """Return the step that makes a node's results, followed by those of its children."""
    results, children = tree
    return lambda: Made(tuple(results), tuple(map(step_of, children)))


def flat(trees: Iterable[Tree]) -> list[int]:
    """Return all results in the order in which they are promised."""
    return [n for results, children in trees for n in (*results, *flat(children))]


@given(st.lists(TREES, max_size=4), st.integers(1, 3), st.integers(1, 4))
def test_results_come_in_order(trees: list[Tree], threads: int, lead: int) -> None:
    """What follows a step comes before any later step, one by one and in threads."""
    assert list(in_order(map(step_of, trees))) == flat(trees)
    assert list(in_threads(map(step_of, trees), threads, lead)) == flat(trees)


def numbered(count: int, begun: list[int]) -> Step[int]:
    """Return a step followed by ``count`` steps, each of which notes that it has begun."""

    def one(number: int) -> Callable[[], Made[int]]:
        return lambda: begun.append(number) or Made((number,))  # type: ignore[func-returns-value]

    return lambda: Made((), tuple(map(one, range(count))))


def test_the_lead_is_bounded() -> None:
    """Steps that follow are begun no further ahead than others."""
    begun: list[int] = []
    results = in_threads([numbered(100, begun)], threads=2, lead=3)
    assert [next(results) for _ in range(5)] == list(range(5))
    time.sleep(0.05)
    assert len(begun) <= 5 + 3
    results.close()


def test_steps_of_one_input_run_beside_each_other() -> None:
    """Pieces of a single file are made by several threads."""
    meeting = threading.Barrier(2, timeout=10)
    steps = [lambda: Made((meeting.wait() >= 0,)) for _ in range(2)]
    assert list(in_threads([lambda: Made((), tuple(steps))], threads=2)) == [True, True]


def test_a_consumer_that_walks_away() -> None:
    """Closing ends the threads; what has not begun never does, and what is being made is dropped."""
    before, begun = threading.active_count(), []
    results = in_threads([numbered(50, begun), numbered(50, begun)], threads=2)
    next(results)
    results.close()
    assert threading.active_count() == before
    count = len(begun)
    time.sleep(0.02)
    assert len(begun) == count < 10


def test_an_iterator_is_closed_with_its_steps() -> None:
    """An iterator whose results are not wanted any more is closed at once."""
    closed = []

    def numbers() -> Iterable[int]:
        try:
            yield from range(100)
        finally:
            closed.append(True)

    results = in_threads([steps_of(iter(numbers())), steps_of(iter([7]))], threads=2)
    assert next(results) == 0
    results.close()
    assert closed == [True]


def test_an_error_comes_where_its_result_would() -> None:
    """What was made before an error is seen before it."""

    def fail() -> Made[int]:
        raise ValueError("second")

    results = in_threads([lambda: Made((1,), (fail, lambda: Made((3,))))], threads=2)
    assert next(results) == 1
    with pytest.raises(ValueError, match="second"):
        next(results)

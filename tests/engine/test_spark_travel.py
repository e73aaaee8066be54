"""What travels to executors: opened where Kubothek is the driver's own, and seen by the driver when it is back."""

from __future__ import annotations

import io
import pickle
import sys

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from kubothek.engine.spark import check_reached, travel
from kubothek.errors import StoreError
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store
from kubothek.version import __version__

NUMBERS = pa.record_batch({"x": [1, 2]})


class Parcel(travel.Traveller):
    """Something of ours that travels."""

    def __init__(self, content: int) -> None:
        self.content = content


def doubled(batches):
    """Be a task body."""
    for batch in batches:
        yield from (batch, batch)


def test_a_body_and_an_object_arrive() -> None:
    """Pickled as Spark does, they do and hold what they did."""
    body, parcel = pickle.loads(cloudpickle.dumps((travel.travelling(doubled), Parcel(3))))
    assert list(body([NUMBERS])) == [NUMBERS, NUMBERS]
    assert (type(parcel), parcel.content) == (Parcel, 3)


def test_what_travels_names_nothing_of_ours() -> None:
    """Nothing is imported before it is known to be there: all that is ours is inside of bytes."""
    names = set()

    class Noting(pickle.Unpickler):
        def find_class(self, module, name):
            names.add(module.partition(".")[0])
            return super().find_class(module, name)

    Noting(io.BytesIO(cloudpickle.dumps(travel.travelling(doubled)))).load()
    assert "kubothek" not in names
    assert "tests" not in names


@pytest.mark.parametrize(
    ("module", "said"),
    [("kubothek.version", "there is none on .* kubothek.spark.ship"), ("msgspec", "cannot be imported on .* msgspec")],
)
def test_what_is_missing_is_named(module: str, said: str, monkeypatch) -> None:
    """Whether it is the package or something that it requires."""
    data = cloudpickle.dumps(Parcel(3))
    for name in [name for name in sys.modules if name.partition(".")[0] == "kubothek"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=said):
        pickle.loads(data)


def test_another_version_is_named(monkeypatch) -> None:
    """With the driver's, for which the data was made."""
    monkeypatch.setattr(travel, "__version__", "9.9.9")
    data = cloudpickle.dumps(Parcel(3))
    with pytest.raises(ImportError, match=rf"has Kubothek 9\.9\.9, and this task found {__version__} on"):
        pickle.loads(data)


def test_files_that_only_executors_see_are_refused(tmp_path) -> None:
    """A directory of the same name on another machine is another directory."""
    store = Store(tmp_path)
    store.put("d/table/a.parquet", b"")
    there, gone = (StagedPartition(name, {"table": f"d/table/{name}.parquet"}, 1, 1, {}) for name in "ab")
    check_reached(store, [there])
    with pytest.raises(StoreError, match=r"1 of 2 files .* another directory"):
        check_reached(store, [there, gone])

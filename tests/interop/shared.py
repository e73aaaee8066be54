"""What Plateau and Kartothek must both be able to do with our datasets, and we with theirs.

:class:`Interoperates` has a test per ability; ``test_plateau.py`` and ``test_kartothek.py`` say with whom.
"""

from __future__ import annotations

import shutil
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.interop.generated import cases_for_others, cases_updated_by, draw_cases, rows_to_add
from tests.interop.other import (
    Other,
    Step,
    as_pandas_keeps,
    complaints,
    frame,
    postings_found,
    postings_of_files,
    same_rows,
)
from tests.interop.rows import INDEXED, QUESTIONS, SETTINGS, every_type, months, pairs

from kubothek import (
    C,
    Cube,
    Dataset,
    build_cube,
    build_dataset_indices,
    commit_dataset,
    copy_dataset,
    create_empty_dataset,
    drop_dataset_indices,
    garbage_collect_dataset,
    open_dataset,
    query_cube,
    rollback_dataset,
    update_dataset,
    verify_dataset,
    write_dataset,
    write_partitions,
)
from kubothek.errors import NotFoundError
from kubothek.testing.datasets import DatasetCase, write_case
from kubothek.testing.reference_rows import ReferenceRows


def reads(number: int) -> list[Step]:
    """Steps that read so many datasets."""
    return [{"do": "read", "uuid": f"d{n}"} for n in range(number)]


def update_step(case: DatasetCase, dataset: Dataset, rows: ReferenceRows, store: Path) -> Step:
    """Return a step that updates a dataset, and update the plain rows likewise."""
    added, scope = rows_to_add(case, dataset.schema)
    rows.update(added.to_pylist(), scope)
    frames = [frame(store, as_pandas_keeps(added))] if added.num_rows else []
    settings = {"delete_scope": scope, "partition_on": case.partition_on, "frames": frames}
    return {"do": "update", "uuid": dataset.uuid, **settings}


def go_on(case: DatasetCase, uuid: str, rows: ReferenceRows, store: Path) -> Dataset:
    """Check a dataset after an update of another software, and add its first rows once more, to the plain rows too."""
    dataset = open_dataset(uuid, store)
    found = dataset.scan().to_arrow()
    assert same_rows(found, dataset, rows.rows), f"{case}\nhas {found.to_pylist()}\nnot {rows.rows}"
    # An update of theirs leaves a JSON header beside the other one, which verify tells.
    # A delete scope that fits all that one commit has added looks like software that has not seen that commit.
    found = [problem for problem in verify_dataset(uuid, store) if problem.kind != "overwritten_commit"]
    assert case.header_format != "json" or found == [], case
    rows.update(case.steps[0].rows)
    return update_dataset(case.steps[0].frames, uuid, store)


class Interoperates:
    """Each test lets the other software work once or twice on datasets in a directory."""

    other: ClassVar[Other]
    version: ClassVar[str]

    @pytest.mark.parametrize("header_format", ["json", "msgpack"])
    def test_it_reads_every_type(self, tmp_path: Path, header_format: Any) -> None:
        """Rows, types, partition columns and metadata are what we wrote."""
        layout = {"partition_on": ["p", "q"], "metadata": {"k": "ü"}, "header_format": header_format}
        dataset = write_dataset(every_type(), "d", tmp_path, **layout)
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert found.facts["version"].startswith(self.version)
        assert same_rows(found.rows, dataset, every_type())
        assert found.facts["partition_keys"] == ["p", "q"]
        assert found.facts["labels"] == sorted(dataset.partitions)
        assert found.facts["metadata"]["k"] == "ü"
        types = {field.name: self.other.shown_types.get(str(field.type), str(field.type)) for field in dataset.schema}
        assert found.facts["schema"] == types

    def test_it_reads_indices_of_every_type(self, tmp_path: Path) -> None:
        """Every index has the values and labels that the rows have."""
        rows = every_type()
        dataset = write_dataset(rows, "d", tmp_path, partition_on=["p", "q"], secondary_indices=INDEXED)
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert found.facts["indices"] == sorted([*INDEXED, "p", "q"])
        quoted = {"a": "a", "a b/c%": "a%20b%2Fc%25", "ü=1": "%C3%BC%3D1", "東京": "%E6%9D%B1%E4%BA%AC"}
        labels = [f"p={p}/q={quoted[q]}/" for p, q in zip(rows["p"].to_pylist(), rows["q"].to_pylist(), strict=True)]
        for column in [*INDEXED, "p", "q"]:
            kind = dataset.schema.field(column).type
            values = found.postings[column]["value"].cast(kind).to_pylist()
            expected = pairs(rows[column].cast(kind).to_pylist(), labels)
            assert pairs(values, found.postings[column]["label"].to_pylist()) == expected, column

    def test_it_finds_rows_by_partition_and_index(self, tmp_path: Path) -> None:
        """Conditions give the rows that they give here."""
        layout = {"partition_on": ["p", "q"], "secondary_indices": ["integer", "string", "date"]}
        dataset = write_dataset(every_type(), "d", tmp_path, **layout)
        steps = [{"do": "read", "uuid": "d", "where": where} for where in QUESTIONS.values()]
        for where, found in zip(QUESTIONS.values(), self.other.does(tmp_path, *steps), strict=True):
            here = dataset.scan(where=where).to_arrow()
            assert here.num_rows
            assert same_rows(found.rows, dataset, here)

    def test_it_reads_generated_datasets(self, tmp_path: Path) -> None:
        """Whatever the types, names, partitions, indices, updates and deletions: rows, labels and indices are right."""
        cases = draw_cases(60, cases_for_others())
        datasets = [write_case(case, f"d{n}", tmp_path) for n, case in enumerate(cases)]
        wrong = []
        for found, dataset, case in zip(self.other.tries(tmp_path, *reads(60)), datasets, cases, strict=True):
            wrong += complaints(found, dataset, case, case.reference().rows, tmp_path)
        assert not wrong, "\n".join(wrong)

    def test_it_updates_generated_datasets(self, tmp_path: Path) -> None:
        """It adds rows and deletes partitions; we read that and add again; it collects garbage and reads that."""
        cases = draw_cases(40, cases_updated_by(self.other))
        expected = [case.reference() for case in cases]
        updates = [
            update_step(case, write_case(case, f"d{n}", tmp_path), rows, tmp_path)
            for n, (case, rows) in enumerate(zip(cases, expected, strict=True))
        ]
        worth = [step for step in updates if step["frames"] or step["delete_scope"]]
        assert len(worth) > 30
        self.other.does(tmp_path, *worth)
        datasets = [
            go_on(case, f"d{n}", rows, tmp_path) for n, (case, rows) in enumerate(zip(cases, expected, strict=True))
        ]
        collect = [{"do": "collect", "uuid": dataset.uuid} for dataset in datasets]
        found = self.other.tries(tmp_path, *collect, *reads(40))[40:]
        wrong = []
        for one, dataset, case, rows in zip(found, datasets, cases, expected, strict=True):
            wrong += complaints(one, dataset, case, rows.rows, tmp_path)
        assert not wrong, "\n".join(wrong)

    def test_it_reads_what_we_updated(self, tmp_path: Path) -> None:
        """After updates that add and delete, rows and index are those of the last commit."""
        write_dataset(months(1, 2), "d", tmp_path, **SETTINGS)
        update_dataset(months(3), "d", tmp_path)
        dataset = update_dataset(months(2, add=0.5), "d", tmp_path, delete_scope=[{"p": 2}, {"p": 1}])
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert same_rows(found.rows, dataset, pa.concat_tables([months(3), months(2, add=0.5)]))
        index = found.postings["i1"].to_pydict()
        assert pairs(*index.values()) == {(103, "p=3"), (1, "p=3"), (102, "p=2"), (0, "p=2")}

    def test_it_updates_what_we_wrote(self, tmp_path: Path) -> None:
        """Its commit to our dataset is read here with its rows, index and deletions."""
        write_dataset(months(1, 2, 3), "d", tmp_path, **SETTINGS, metadata={"k": 1})
        frames = [frame(tmp_path, months(4)), frame(tmp_path, months(1, add=0.5))]
        step = {"do": "update", "uuid": "d", "frames": frames, "delete_scope": [{"p": 2}], **SETTINGS}
        self.other.does(tmp_path, step)
        dataset = open_dataset("d", tmp_path)
        expected = pa.concat_tables([months(1, 3), months(4), months(1, add=0.5)])
        assert dataset.version is None
        assert dataset.metadata["k"] == 1
        assert same_rows(dataset.scan().to_arrow(), dataset, expected)
        odd = dataset.scan(where=C("i1") == 1).to_arrow()
        assert same_rows(odd, dataset, expected.filter(pc.equal(expected["i1"], 1)))
        assert len(dataset.load_index("i1").eval_operator("==", 102)) == 0

    def test_we_update_what_it_updated(self, tmp_path: Path) -> None:
        """Commits of both follow each other, and each reads the other's."""
        write_dataset(months(1), "d", tmp_path, **SETTINGS)
        self.other.does(tmp_path, {"do": "update", "uuid": "d", "frames": [frame(tmp_path, months(2))], **SETTINGS})
        dataset = update_dataset(months(3), "d", tmp_path, delete_scope=[{"p": 1}])
        assert dataset.version is not None
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert same_rows(found.rows, dataset, months(2, 3))
        assert same_rows(dataset.scan().to_arrow(), dataset, months(2, 3))
        postings = pairs(*found.postings["i1"].to_pydict().values())
        assert postings == {(102, "p=2"), (0, "p=2"), (103, "p=3"), (1, "p=3")}

    def test_its_commits_are_in_the_history(self, tmp_path: Path) -> None:
        """Each is a version between ours, which can be opened and brought back, whoever committed last."""
        write_dataset(months(1), "d", tmp_path, **SETTINGS)
        update = {"do": "update", "uuid": "d", **SETTINGS}
        self.other.does(tmp_path, {**update, "frames": [frame(tmp_path, months(2))], "delete_scope": [{"p": 1}]})
        theirs = open_dataset("d", tmp_path)
        assert [(one.version, one.is_foreign) for one in theirs.history()] == [(2, True), (1, False)]
        update_dataset(months(3), "d", tmp_path)
        self.other.does(tmp_path, {**update, "frames": [frame(tmp_path, months(4))]})
        history = open_dataset("d", tmp_path).history()
        told = [(one.version, one.is_foreign, one.added, one.removed, one.overwrote) for one in history]
        assert told == [(4, True, 1, 0, ()), (3, False, 1, 0, ()), (2, True, 1, 1, ()), (1, False, 1, 0, ())]
        assert open_dataset("d", tmp_path, at=2).scan().to_arrow() == theirs.scan().to_arrow()
        assert open_dataset("d", tmp_path, at=history[-1].time).version == 1
        back = rollback_dataset("d", tmp_path, 2)
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert same_rows(found.rows, back, months(2))
        assert (back.version, verify_dataset("d", tmp_path)) == (5, [])

    @pytest.mark.parametrize("adopted", [False, True], ids=["at once", "after another commit"])
    def test_what_it_overwrites_is_reported_and_comes_back(self, tmp_path: Path, adopted: bool) -> None:
        """It reads a version, we commit, it stores: our rows are gone, which is noticed, and they can be had back."""
        store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
        write_dataset(months(1), "d", store, **SETTINGS)
        shutil.copytree(store, elsewhere)  # where it works on what it has read
        self.other.does(elsewhere, {"do": "update", "uuid": "d", "frames": [frame(elsewhere, months(3))], **SETTINGS})
        (lost, *_) = update_dataset(months(2), "d", store).history()
        shutil.copytree(elsewhere / "d", store / "d", dirs_exist_ok=True)
        shutil.copy(elsewhere / "d.by-dataset-metadata.json", store)
        seen = update_dataset(months(4), "d", store) if adopted else open_dataset("d", store)
        assert same_rows(seen.scan().to_arrow(), seen, months(1, 3, 4) if adopted else months(1, 3))
        assert [one.overwrote for one in seen.history() if one.is_foreign] == [(lost.commit,)]
        (problem,) = [one for one in verify_dataset("d", store) if one.kind == "overwritten_commit"]
        assert lost.commit in problem.message
        back = rollback_dataset("d", store, lost.version)
        assert same_rows(back.scan().to_arrow(), back, months(1, 2))
        assert verify_dataset("d", store) == []
        assert same_rows(open_dataset("d", store, at=3).scan().to_arrow(), back, months(1, 3))

    def test_it_updates_most_types(self, tmp_path: Path) -> None:
        """It takes rows for our dataset, but decimals, whose width it guesses, and what fails with its own datasets."""
        rows = every_type().drop_columns(["q", "decimal"])
        rows = rows.select([field.name for field in rows.schema if not self.other.loses_type(field.type)])
        types = {field.name: field.type for field in rows.schema}
        indexed = [name for name in INDEXED if name in types and not self.other.loses_index(types[name])]
        settings: dict[str, Any] = {"partition_on": ["p"], "secondary_indices": indexed}
        first = write_dataset(rows, "d", tmp_path, **settings)
        rows = rows.select(first.schema.names).cast(first.schema)
        complete = rows.take([0, 3])  # pandas has no integers beside nulls
        frames = [frame(tmp_path, as_pandas_keeps(complete))]
        self.other.does(tmp_path, {"do": "update", "uuid": "d", "frames": frames, **settings})
        dataset = open_dataset("d", tmp_path)
        assert dataset.schema == first.schema
        assert same_rows(dataset.scan().to_arrow(), dataset, pa.concat_tables([rows, complete]))
        day = datetime(2024, 2, 29)  # noqa: DTZ001  no zone
        assert dataset.scan(where=C("timestamp") == day).to_arrow().num_rows == 2

    def test_we_read_what_it_wrote(self, tmp_path: Path) -> None:
        """A dataset of its own is read and updated here."""
        self.other.does(tmp_path, {"do": "write", "uuid": "d", "frames": [frame(tmp_path, months(1, 2))], **SETTINGS})
        dataset = open_dataset("d", tmp_path)
        assert (dataset.partition_keys, dataset.index_columns) == (("p",), ("i1",))
        assert same_rows(dataset.scan().to_arrow(), dataset, months(1, 2))
        dataset = update_dataset(months(3), "d", tmp_path)
        assert same_rows(dataset.scan().to_arrow(), dataset, months(1, 2, 3))
        assert dataset.scan(where=C("i1") == 1).to_arrow().num_rows == 2

    @pytest.mark.parametrize("compressed", [False, True])
    def test_we_read_its_csv_files(self, tmp_path: Path, compressed: bool) -> None:
        """Data files that it wrote as text come back in the types of the schema."""
        rows = every_type().select(["p", "q", "integer", "double", "bool", "string", "date", "timestamp"]).take([0, 3])
        settings = {"partition_on": ["p", "q"], "csv": compressed, "frames": [frame(tmp_path, rows)]}
        self.other.does(tmp_path, {"do": "write", "uuid": "d", **settings})
        files = [key for key in tmp_path.rglob("*.csv*") if key.is_file()]
        assert len(files) == 2
        assert {key.suffix for key in files} == {".gz" if compressed else ".csv"}
        dataset = open_dataset("d", tmp_path)
        assert same_rows(dataset.scan().to_arrow(), dataset, rows)
        assert dataset.scan(where=C("date") == date(2020, 1, 1)).to_arrow().num_rows == 2

    def test_it_reads_a_dataset_without_rows(self, tmp_path: Path) -> None:
        """Where all partitions are gone, it still finds the columns."""
        write_dataset(months(1), "d", tmp_path, partition_on="p")
        dataset = update_dataset(None, "d", tmp_path, delete_scope=[{"p": 1}])
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert found.rows.num_rows == 0
        assert sorted(found.rows.column_names) == sorted(dataset.schema.names)

    def test_it_fills_an_empty_dataset(self, tmp_path: Path) -> None:
        """A dataset that we made from a schema is read as it is, and takes its rows."""
        dataset = create_empty_dataset(months(1).schema, "d", tmp_path, partition_on="p", metadata={"k": 1})
        read = {"do": "read", "uuid": "d"}
        update = {"do": "update", "uuid": "d", "partition_on": ["p"], "frames": [frame(tmp_path, months(1, 2))]}
        before, after = self.other.does(tmp_path, read, update, read)
        assert (before.rows.num_rows, sorted(before.rows.column_names)) == (0, sorted(dataset.schema.names))
        assert same_rows(after.rows, dataset, months(1, 2))
        dataset = open_dataset("d", tmp_path)
        assert dataset.metadata["k"] == 1
        assert same_rows(dataset.scan().to_arrow(), dataset, months(1, 2))

    def test_it_reads_staged_partitions(self, tmp_path: Path) -> None:
        """Files that were staged in one place and committed in another are like any others."""
        write_dataset(months(1), "d", tmp_path, **SETTINGS)
        staged = [write_partitions(months(number), "d", tmp_path) for number in (2, 3)]
        dataset = commit_dataset("d", tmp_path, new_partitions=staged, delete_scope=[{"p": 1}])
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert same_rows(found.rows, dataset, months(2, 3))
        assert postings_found(found, dataset, "i1") == postings_of_files(dataset, "i1", tmp_path)

    def test_indices_are_built_and_dropped(self, tmp_path: Path) -> None:
        """Indices that either of us builds later, or that we drop, are seen and kept up to date by the other."""
        write_dataset(months(1, 2), "d", tmp_path, **SETTINGS)
        dataset = build_dataset_indices("d", tmp_path, ["t", "v1"])
        dataset = drop_dataset_indices("d", tmp_path, ["i1"])
        read = {"do": "read", "uuid": "d"}
        update = {"do": "update", "uuid": "d", "frames": [frame(tmp_path, as_pandas_keeps(months(3)))]}
        before, after, _ = self.other.does(
            tmp_path, read, update, read, {"do": "build_indices", "uuid": "d", "columns": ["i1"]}, read
        )
        assert before.facts["indices"] == ["p", "t", "v1"]
        assert postings_found(before, dataset, "t") == postings_of_files(dataset, "t", tmp_path)
        dataset = open_dataset("d", tmp_path)
        assert set(dataset.index_columns) == {"t", "v1", "i1"}
        assert postings_found(after, dataset, "t") == postings_of_files(dataset, "t", tmp_path)
        assert postings_of_index(dataset, "i1") == postings_of_files(dataset, "i1", tmp_path)
        assert postings_of_index(dataset, "v1") == postings_of_files(dataset, "v1", tmp_path)

    def test_it_reads_and_updates_a_copy(self, tmp_path: Path) -> None:
        """A copy is a dataset of its own."""
        write_dataset(months(1, 2), "d", tmp_path, **SETTINGS, header_format="msgpack")
        dataset = copy_dataset("d", tmp_path, to_uuid="copy")
        read, update = {"do": "read", "uuid": "copy"}, {"do": "update", "uuid": "copy", **SETTINGS}
        frames = [frame(tmp_path, months(3))]
        before, after = self.other.does(tmp_path, read, {**update, "frames": frames}, read)
        assert same_rows(before.rows, dataset, months(1, 2))
        assert same_rows(after.rows, dataset, months(1, 2, 3))
        assert same_rows(open_dataset("d", tmp_path).scan().to_arrow(), dataset, months(1, 2))

    def test_it_reads_and_updates_a_dataset_of_a_cube(self, tmp_path: Path) -> None:
        """The datasets of a cube are datasets to it, and its commits show in the cube."""
        cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
        rows = pa.table({"x": [1, 2], "p": [1, 1], "v1": [1.0, 2.0]})
        more = pa.table({"x": [3], "p": [2], "v1": [3.0]})
        build_cube(rows, cube, tmp_path)
        settings = {"partition_on": ["p"], "secondary_indices": ["x"], "frames": [frame(tmp_path, more)]}
        read = {"do": "read", "uuid": "c++seed"}
        before, after = self.other.does(tmp_path, read, {"do": "update", "uuid": "c++seed", **settings}, read)
        assert (before.rows.num_rows, after.rows.num_rows) == (2, 3)
        assert query_cube("c", tmp_path, where=C("x") >= 2).to_arrow()["v1"].to_pylist() == [2.0, 3.0]

    def test_its_garbage_collection_spares_what_is_ours(self, tmp_path: Path) -> None:
        """It deletes data files that nothing refers to, and nothing that a reader or our history needs."""
        write_dataset(months(1, 2), "d", tmp_path, **SETTINGS)
        dataset = update_dataset(months(3), "d", tmp_path, delete_scope=[{"p": 1}])
        private = sorted(path for path in (tmp_path / "_kubothek").rglob("*") if path.is_file())
        self.other.does(tmp_path, {"do": "collect", "uuid": "d"})
        assert sorted(path for path in (tmp_path / "_kubothek").rglob("*") if path.is_file()) == private
        assert list((tmp_path / "d" / "table").glob("p=1/*.parquet")) == []
        dataset = open_dataset("d", tmp_path)
        assert same_rows(dataset.scan(where=C("i1") >= 0).to_arrow(), dataset, months(2, 3))

    def test_our_garbage_collection_spares_what_it_wrote(self, tmp_path: Path) -> None:
        """After commits of both, ours deletes only what neither refers to, if no earlier version is to stay."""
        write_dataset(months(1, 2), "d", tmp_path, **SETTINGS)
        update = {"do": "update", "uuid": "d", "frames": [frame(tmp_path, months(3))], "delete_scope": [{"p": 1}]}
        self.other.does(tmp_path, {**update, **SETTINGS})
        assert len(garbage_collect_dataset("d", tmp_path, older_than=timedelta(0), keep=1)) >= 2
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert same_rows(found.rows, open_dataset("d", tmp_path), months(2, 3))

    def test_it_deletes_what_we_wrote(self, tmp_path: Path) -> None:
        """A dataset that it deleted is gone for us, and can be written anew."""
        write_dataset(months(1), "d", tmp_path, **SETTINGS)
        self.other.does(tmp_path, {"do": "delete", "uuid": "d"})
        with pytest.raises(NotFoundError):
            open_dataset("d", tmp_path)
        dataset = write_dataset(months(2), "d", tmp_path, **SETTINGS)
        (found,) = self.other.does(tmp_path, {"do": "read", "uuid": "d"})
        assert same_rows(found.rows, dataset, months(2))


def postings_of_index(dataset: Dataset, column: str) -> set[tuple[Any, str]]:
    """Return the pairs of value and label that we find in an index."""
    values = {row[column] for row in dataset.scan([column]).to_arrow().to_pylist()} - {None}
    index = dataset.load_index(column)
    return {(value, label) for value in values for label in index.eval_operator("==", value)}

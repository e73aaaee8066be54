"""How a whole store is looked over, mostly before it is moved here from other software: every dataset, every cube.

::

    list       the top level: headers, and folders that belong to none
    check      each cube as check_cube does, each other dataset as verify_dataset does
    look       at partition values that mean something else here, and at files that nothing refers to

Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubothek.codec.keys import HEADER_SUFFIXES, is_uuid
from kubothek.cube.check import check_cube
from kubothek.dataset.snapshot import Snapshot, find_snapshot, not_found
from kubothek.dataset.upkeep.garbage import DAY, find_dataset_garbage
from kubothek.dataset.upkeep.verify import unreadable_dataset, verify_snapshot
from kubothek.errors import CorruptDatasetError
from kubothek.model.cube import split_uuid
from kubothek.model.problem import Problem
from kubothek.model.survey import Finding, Subject, Survey, Verdict
from kubothek.plan.cube.metadata import is_seed
from kubothek.plan.retention import plan_retention
from kubothek.plan.survey import check_cube_members, check_partition_values, check_tables_of, problem_finding
from kubothek.store.interface import Store


def survey_store(store: Store, name: str | None = None, *, files: bool = True) -> Survey:
    """Look over a store and say what is fine, suspicious or broken.

    Parameters
    ----------
    store
        The store.
    name
        A dataset or a cube to look at; ``None`` for all.
    files
        Whether to look into files: footers, indexed columns, and the cells of cubes.

    Raises
    ------
    DatasetNotFoundError
        There is neither a dataset nor a cube of this name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek.dataset.write import write_dataset
    >>> rows = pa.table({"OPEN": [True, False], "TEMP": [0.5, 3.0]})
    >>> ds = write_dataset(rows, "weather", "memory://survey", partition_on="OPEN")
    >>> survey = survey_store(Store("memory://survey"))
    >>> [(subject.name, subject.verdict, subject.findings[0].kind) for subject in survey.subjects]
    [('weather', 'suspicious', 'boolean_partition')]
    """
    objects, folders = store.list_level("")
    ends = tuple(HEADER_SUFFIXES.values())
    headers = {info.key.removesuffix(end): info.key for info in objects for end in ends if info.key.endswith(end)}
    chosen = [uuid for uuid in sorted(headers) if name is None or name in (uuid, _cube_of(uuid))]
    if name is not None and not chosen:
        raise not_found(name, store)
    found: dict[str, list[Finding]] = {uuid: [] for uuid in chosen}
    known = [uuid for uuid in chosen if is_uuid(uuid)]
    for uuid in set(chosen) - set(known):
        message = f"No dataset can be called {uuid!r}: rename its objects, or delete them."
        found[uuid].append(Finding("broken", "wrong_name", headers[uuid], message))
    cubes = sorted({cube for uuid in known if (cube := _cube_of(uuid)) is not None and name in (None, cube)})
    for problem in _problems(known, cubes, store, files=files):
        found.setdefault(problem.subject, []).append(problem_finding(problem))
    for uuid in known:
        found[uuid] += _look(uuid, store)
    subjects = [Subject(uuid, "dataset", tuple(dict.fromkeys(found.pop(uuid)))) for uuid in chosen]
    verdicts = {subject.name: subject.verdict for subject in subjects}
    for cube in cubes:
        members = {uuid: verdicts[uuid] for uuid in known if _cube_of(uuid) == cube}
        findings = [*found.pop(cube, ()), *_look_at_cube(members, store)]
        subjects.append(Subject(cube, "cube", tuple(findings)))
    subjects += [Subject(folder, "folder", tuple(findings)) for folder, findings in sorted(found.items())]
    named = {subject.name for subject in subjects}
    subjects += _loose_folders([folder.rstrip("/") for folder in folders], named) if name is None else ()
    return Survey(store.url, tuple(subjects))


def _cube_of(uuid: str) -> str | None:
    """Return the cube to which a dataset belongs by its name."""
    split = split_uuid(uuid)
    return None if split is None else split[0]


def _problems(uuids: Iterable[str], cubes: Iterable[str], store: Store, *, files: bool) -> Iterator[Problem]:
    """Yield what is wrong with cubes, their datasets, and datasets of none."""
    checked = set(cubes)
    for cube in checked:
        yield from check_cube(cube, store, files=files)
    for uuid in uuids:
        if _cube_of(uuid) not in checked:
            pinned = _pin(uuid, store)
            if isinstance(pinned, CorruptDatasetError):
                yield unreadable_dataset(uuid, pinned)
            elif pinned is not None:
                yield from verify_snapshot(pinned, files=files)


def _pin(uuid: str, store: Store) -> Snapshot | CorruptDatasetError | None:
    try:
        return find_snapshot(uuid, store)
    except CorruptDatasetError as error:
        return error


def _look(uuid: str, store: Store) -> Iterator[Finding]:
    """Find what is not wrong, and yet to be known; of a dataset that cannot be read nothing more is said."""
    try:
        snapshot = find_snapshot(uuid, store)
        garbage = find_dataset_garbage(uuid, store, plan_retention(store.world.clock(), DAY, None))
        if snapshot is not None:
            yield from check_tables_of(snapshot.tables)
            for table in snapshot.tables:
                keys, schema = snapshot.partition_keys, snapshot.schemas[table]
                yield from check_partition_values(uuid, table, keys, schema, snapshot.file_table(table))
    except CorruptDatasetError:
        return
    if garbage is not None and garbage.keys:
        message = (
            f"Nothing refers to {len(garbage.keys):,} file(s) that are older than a day, which take space and do no "
            "harm. garbage_collect_dataset deletes them."
        )
        yield Finding("suspicious", "unreferenced_files", garbage.keys[0], message)


def _look_at_cube(members: Mapping[str, Verdict], store: Store) -> Iterator[Finding]:
    """Find what its datasets make of a cube; that all can be read and none is the seed was found before."""
    pinned = [_pin(uuid, store) for uuid in members] if "broken" in members.values() else []
    headers = [one.header for one in pinned if isinstance(one, Snapshot)]
    has_seed = any(is_seed(header.metadata) and not header.is_withdrawn for header in headers)
    all_readable = not any(isinstance(one, CorruptDatasetError) for one in pinned)
    yield from check_cube_members(members, has_seed=has_seed or all_readable)


def _loose_folders(folders: Iterable[str], named: set[str]) -> list[Subject]:
    """Return the folders that have the name of a dataset and belong to none; ours, which have not, are left out."""
    message = (
        "The folder belongs to no dataset: it is left of one that was deleted, a first write is under way, or other "
        "software put it there. Look at it before you delete it."
    )
    loose = sorted(folder for folder in folders if folder not in named and is_uuid(folder))
    finding = "folder_without_header"
    return [Subject(one, "folder", (Finding("suspicious", finding, f"{one}/", message),)) for one in loose]

"""Programs as the guides of Kartothek show them, which run on Kartothek and here alike.

Each takes ``load``, which imports a module of the package by its path below it (``"io.eager"``), and ``url``, an empty
store; it returns what it has found, as values of JSON. ``python guides.py kartothek`` runs all on Kartothek and prints
the answers, which are kept in ``kartothek_answers.json``. So it is written for Python 3.8, and for both versions of
pandas.
"""

import importlib
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd


def labels(dm):
    """Return the labels of a dataset without what differs from run to run."""
    return sorted(re.sub("[0-9a-f]{32}", "*", label) for label in dm.partitions)


def told(frame, ordered=False):
    """Return columns, kinds of types and rows of a frame; rows in their order, or sorted."""
    values = [[None if pd.isnull(value) else str(value) for value in row] for row in frame.to_numpy(dtype=object)]
    rows = values if ordered else sorted(values, key=str)
    return {"columns": list(frame.columns), "kinds": [one.kind for one in frame.dtypes], "rows": rows}


def trips(ride=1.0, days=("20130102", "20130102", "20130103", "20130103"), kind=("test", "train"), place="foo"):
    """Return four rows of all the types that the guides use."""
    return pd.DataFrame(
        {
            "A": ride,
            "B": [pd.Timestamp(day) for day in days],
            "C": pd.Series(1, index=list(range(4)), dtype="float32"),
            "D": np.array([3] * 4, dtype="int32"),
            "E": pd.Categorical(list(kind) * 2),
            "F": place,
        }
    )


def getting_started(load, url):
    """Store two frames, look at what is there, read all of it and parts; two tables; a schema that does not fit."""
    eager, by_one = load("io.eager"), load("io.iter")
    factory = lambda: load("core.utils").ensure_store(url)  # a factory is any callable
    dm = eager.store_dataframes_as_dataset(factory, "unique", [trips(), trips(5.0, place="bar")])
    parts = [
        {
            "data": {
                "core-table": pd.DataFrame({"id": [22, 23], "f": [1.1, 2.4]}),
                "aux-table": pd.DataFrame({"id": [22], "c": ["x"]}),
            }
        },
        {
            "data": {
                "core-table": pd.DataFrame({"id": [29, 31], "f": [3.2, 0.6]}),
                "aux-table": pd.DataFrame({"id": [31], "c": ["y"]}),
            }
        },
    ]
    two = eager.store_dataframes_as_dataset(factory, dataset_uuid="two-tables", dfs=parts)
    try:
        eager.store_dataframes_as_dataset(factory, "unfit", [trips(), trips().rename(columns={"A": "Z"})])
        refused = False
    except ValueError:
        refused = True
    read = by_one.read_dataset_as_dataframes__iterator(dataset_uuid="two-tables", store=factory)
    return {
        "tables": dm.tables,
        "labels": labels(dm),
        "schema": {one.name: str(one.type).split("[")[0] for one in dm.table_meta["table"]},
        "whole": told(eager.read_table("unique", factory, table="table")),
        "two": sorted(two.tables),
        "parts": sorted(
            ({name: told(part[name][sorted(part[name])]) for name in sorted(part)} for part in read), key=str
        ),
        "filtered": told(eager.read_table("two-tables", factory, table="core-table", predicates=[[("f", "<", 2.5)]])),
        "refused": refused,
    }


def examples(load, url):
    """Metadata and labels of one's own, in all the ways to write and read partitions."""
    api = load("api.dataset")
    friends = pd.DataFrame({"Name": ["Paul", "Lisa"], "Age": [32, 29]})
    dm = api.store_dataframes_as_dataset(store=url, dataset_uuid="friends", dfs=[friends], metadata={"title": "mine"})
    parts = [
        {"data": [("First", friends), ("Second", friends.head(1))]},
        {"data": [("First", friends.tail(1)), ("Second", friends)]},
    ]
    api.store_dataframes_as_dataset__iter(parts, store=url, dataset_uuid="by_one", metadata={"dataset": "metadata"})
    task = api.store_delayed_as_dataset(parts, store=url, dataset_uuid="delayed")
    task.compute()
    count = lambda found: sorted(sorted((name, len(frame)) for name, frame in part.items()) for part in found)
    return {
        "metadata": dm.metadata["title"],
        "friends": told(api.read_table(store=url, dataset_uuid="friends", table="table")),
        "eager": count(api.read_dataset_as_dataframes(dataset_uuid="by_one", store=url)),
        "iter": count(api.read_dataset_as_dataframes__iterator(dataset_uuid="by_one", store=url)),
        "delayed": count(task.compute() for task in api.read_dataset_as_delayed(dataset_uuid="delayed", store=url)),
        "bag": count(api.read_dataset_as_dataframe_bag(dataset_uuid="delayed", store=url).compute(scheduler="sync")),
    }


def partitioning(load, url):
    """One partition column, several, and one that several tables share."""
    eager = load("io.eager")
    one = eager.store_dataframes_as_dataset(url, "partitioned", [trips()], partition_on="B")
    both = [trips(), trips(place="bar")]
    two = eager.store_dataframes_as_dataset(url, "several", both, partition_on=["E", "F"])
    days = pd.to_datetime(["20130102", "20190101"])
    other = pd.DataFrame({"B": days, "L": [1, 4], "Q": [True, False]})
    tables = [{"data": {"table1": trips(), "table2": other}}]
    three = eager.store_dataframes_as_dataset(url, "tables", tables, partition_on="B")
    grouped = eager.read_dataset_as_dataframes("several", url, dispatch_by=["E"])
    return {
        "one": labels(one),
        "several": labels(two),
        "tables": [label for label in labels(three) if "2013-01-02" in label],
        "keys": three.partition_keys,
        "grouped": [told(part["table"]) for part in grouped],
        "where": told(eager.read_table("several", url, predicates=[[("E", "==", "test"), ("F", "in", ["bar"])]])),
    }


def shuffling(load, url, frames=None):
    """Many files without a shuffle, one per value with it, and buckets with an index on what they are made by.

    ``frames`` makes a frame of ten partitions of a pandas frame.
    """
    dask = load("io.dask.dataframe")
    df = pd.DataFrame({"A": [0, 1] * 100, "B": np.repeat(range(20), 10), "C": "some_payload"})
    ddf = frames(df) if frames else importlib.import_module("dask.dataframe").from_pandas(df, npartitions=10)
    common = {"store": url, "partition_on": "A", "table": "table"}
    plain = dask.update_dataset_from_ddf(ddf, dataset_uuid="no_shuffle", **common).compute()
    whole = dask.update_dataset_from_ddf(ddf, dataset_uuid="with_shuffle", shuffle=True, **common).compute()
    dm = dask.update_dataset_from_ddf(
        ddf, dataset_uuid="with_bucketing", shuffle=True, bucket_by="B", num_buckets=4, secondary_indices="B", **common
    ).compute()
    dm = dm.load_index("B", load("core.utils").ensure_store(url))
    found = [dm.indices["B"].eval_operator("==", value) for value in range(20)]
    return {
        "plain": labels(plain),
        "whole": labels(whole),
        "at_most": len(dm.partitions) <= 8,
        "values": sorted(str(value) for value in dm.indices["B"].observed_values()),
        "files_per_value": sorted({label.split("/")[0] for labels_of_value in found for label in labels_of_value}),
        "one_each": [sorted(label.split("/")[0] for label in one) for one in found],
    }


def mutating(load, url):
    """Append, delete and replace; two tables, of which both must be given."""
    eager = load("io.eager")
    store = {"store": url}
    dm = eager.store_dataframes_as_dataset(dataset_uuid="partitioned", dfs=[trips()], partition_on="B", **store)
    other = trips(5.0, ("20110103", "20110103", "20110104", "20110104"), ("prod", "dev"), "bar")
    appended = eager.update_dataset_from_dataframes([other], dataset_uuid=dm.uuid, **store)
    whole = told(eager.read_table(dm.uuid, table="table", **store))
    second = pd.DataFrame({"G": "foo", "K": [pd.Timestamp("20190604")] * 4, "L": 2.0})
    two = eager.store_dataframes_as_dataset(
        dataset_uuid="two", dfs=[{"data": {"table1": trips(), "table2": second}}], **store
    )
    more = {"data": {"table1": other, "table2": second}}
    two = eager.update_dataset_from_dataframes(more, dataset_uuid=two.uuid, **store)
    try:
        eager.update_dataset_from_dataframes({"data": {"table2": second}}, dataset_uuid=two.uuid, **store)
        refused = False
    except ValueError:
        refused = True
    scope = [{"B": pd.Timestamp("20130102")}]
    gone = eager.update_dataset_from_dataframes(
        None, dataset_uuid=dm.uuid, partition_on="B", delete_scope=scope, **store
    )
    both = [trips(), trips(place="bar")]
    eager.store_dataframes_as_dataset(dataset_uuid="several", dfs=both, partition_on=["E", "F"], **store)
    scope = [{"E": "train", "F": "foo"}, {"E": "test", "F": "bar"}]
    left = eager.update_dataset_from_dataframes(
        None, dataset_uuid="several", partition_on=["E", "F"], delete_scope=scope, **store
    )
    eager.store_dataframes_as_dataset(dataset_uuid="replace", dfs=[trips()], partition_on="B", **store)
    modified = other.copy()
    modified["B"] = pd.Timestamp("20130103")
    scope = [{"B": pd.Timestamp("2013-01-03")}]
    eager.update_dataset_from_dataframes(
        [modified], dataset_uuid="replace", partition_on="B", delete_scope=scope, **store
    )
    return {
        "appended": labels(appended),
        "whole": whole,
        "tables": sorted(two.tables),
        "partitions": len(two.partitions),
        "refused": refused,
        "gone": labels(gone),
        "left": labels(left),
        "replaced": told(eager.read_table("replace", table="table", **store)),
    }


def looking_up(load, url):
    """Indices, factories, queries, columns and categoricals; staged partitions, copies and deletion."""
    api = load("api.dataset")
    rows = pd.DataFrame({"P": [1, 1, 2, 2], "S": ["a", "b", "b", None], "V": [0.5, 1.5, 2.5, 3.5]})
    api.store_dataframes_as_dataset(url, "looked_up", [rows], partition_on="P", secondary_indices=["S"])
    factory = api.DatasetFactory("looked_up", url, load_all_indices=True)
    files = {part.label: part.files["table"] for part in factory.partitions.values()}
    names = {label: label.split("/")[0] for label in files}
    table = factory.get_indices_as_dataframe(predicates=[[("P", "==", 1)]])
    store = load("core.utils").ensure_store(url)
    api.create_empty_dataset_header(store, "staged", factory.table_meta, partition_on=["P"])
    staged = [api.write_single_partition(store, "staged", rows[p == rows.P], partition_on=["P"]) for p in (1, 2)]
    committed = api.commit_dataset(store, "staged", new_partitions=staged, partition_on=["P"], metadata={"by": "me"})
    api.build_dataset_indices(url, "staged", ["V"])
    api.copy_dataset("staged", store, "copied")
    api.delete_dataset("staged", url)
    read = api.read_table
    return {
        "columns": sorted(factory.index_columns),
        "loaded": sorted(factory.indices),
        "query": sorted(names[label] for label in factory.query(S="b")),
        "operators": [
            sorted(names[label] for label in factory.indices[column].eval_operator(op, value))
            for column, op, value in [("S", "in", ["a"]), ("S", ">", "a"), ("P", "<=", 1), ("P", "==", 3)]
        ],
        "indices": sorted(
            [names[label], str(p), s] for label, p, s in table.reset_index()[["partition", "P", "S"]].to_numpy()
        ),
        "projected": told(read(factory=factory, columns=["V"], predicates=[[("S", "==", "b")], [("V", ">", 3.0)]])),
        "category": [str(one) for one in read("looked_up", url, categoricals={"table": ["S"]}).dtypes],
        "nothing": told(read("looked_up", url, predicates=[[("P", "==", 9)]])),
        "committed": [labels(committed), committed.metadata["by"]],
        "copied": [told(read("copied", url)), sorted(api.DatasetFactory("copied", url).load_all_indices().indices)],
        "exists": [api.DatasetMetadata.exists(name, url) for name in ("staged", "copied")],
    }


def cubes(load, url):
    """Walk through a cube of weather: build, extend, query, transform, append, remove, delete, partition otherwise."""
    api = load("api.cube")
    store = load("core.utils").ensure_store(url)
    factory = lambda: load("core.utils").ensure_store(url)  # what Kartothek asks for
    cube = api.Cube(uuid_prefix="geodata", dimension_columns=["city", "day"], partition_columns=["country"])
    days = pd.to_datetime(["2018-01-01", "2018-01-02"] * 3)
    cities = {"Hamburg": "DE", "Dresden": "DE", "London": "UK"}
    weather = pd.DataFrame(
        {
            "avg_temp": [6, 5, 8, 4, 6, 8],
            "city": np.repeat(list(cities), 2),
            "country": np.repeat(list(cities.values()), 2),
            "day": days,
        }
    )
    answers = {}

    def ask(name, **question):
        found = api.query_cube(cube=cube, store=store, **question)
        answers[name] = [told(frame, ordered=True) for frame in found]

    built = api.build_cube(data=weather, store=store, cube=cube)
    answers["built"] = [sorted(built), built["seed"].uuid, sorted(built["seed"].load_all_indices(store).indices)]
    places = pd.DataFrame(
        {
            "city": ["Hamburg", "Dresden", "London", "Tokyo"],
            "country": ["DE", "DE", "UK", "JP"],
            "latitude": [53.5, 51.1, 51.5, 35.7],
            "longitude": [9.9, 13.7, -0.1, 139.8],
        }
    )
    extended = api.extend_cube(data={"latlong": places}, store=store, cube=cube)
    answers["extended"] = sorted(extended["latlong"].load_all_indices(store).indices)
    ask("all")
    ask("by_country", partition_by="country")
    column = api.C
    east = column("latitude").in_interval(50.0, 52.0) & column("longitude").in_interval(13.0, 14.0)
    ask("where", payload_columns=["avg_temp"], conditions=(column("country") == "DE") & east)
    ask(
        "several",
        conditions=[column("avg_temp") > 5, column("city").isin(["London", "Hamburg"]), column("day") != days[0]],
    )

    def transform(df):
        df["coldest"] = df["avg_temp"].min()
        return {"transformed": df.loc[:, ["coldest", "city", "country", "day"]]}

    bag = api.query_cube_bag(cube=cube, store=factory, partition_by="day").map(transform)
    made = api.extend_cube_from_bag(data=bag, store=factory, cube=cube, ktk_cube_dataset_ids=["transformed"])
    answers["transformed"] = [sorted(one) for one in made.compute(scheduler="sync")]
    ask("transformed_rows", payload_columns=["avg_temp", "coldest"])
    santiago = pd.DataFrame({"avg_temp": [20, 22], "city": "Santiago", "country": "CL", "day": days[:2]})
    api.append_to_cube(data=santiago, store=store, cube=cube)
    ask("appended")
    api.remove_partitions(
        cube=cube, store=store, ktk_cube_dataset_ids=["latlong"], conditions=(column("country") == "UK")
    )
    ask("removed")
    api.delete_cube(cube=cube, store=store, datasets=["transformed"])
    ask("deleted")
    time = pd.DataFrame({"day": pd.date_range("2018-01-01", "2018-01-04", freq="D")})
    time["weekday"] = time.day.dt.weekday.astype("int64")
    api.extend_cube(data={"time": time}, store=store, cube=cube, partition_on={"time": []})
    ask("time", payload_columns=["weekday", "avg_temp"])
    found, datasets = load("api.discover").discover_cube("geodata", store)
    payload = load("api.consistency").get_cube_payload(datasets, found)
    stats = api.collect_stats(cube, store)
    answers["discovered"] = [
        list(found.dimension_columns),
        list(found.partition_columns),
        sorted(datasets),
        sorted(payload),
    ]
    answers["stats"] = {name: [one["files"], one["partitions"], one["rows"]] for name, one in sorted(stats.items())}
    return answers


GUIDES = {
    one.__name__: one for one in (getting_started, examples, partitioning, shuffling, mutating, looking_up, cubes)
}


def main(package):
    """Run all programs on a package, and print what each has found."""
    load = lambda path: importlib.import_module(package + "." + path)
    found = {}
    for name, guide in GUIDES.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = guide(load, "hfs://" + str(Path(folder)))
    json.dump(found, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])

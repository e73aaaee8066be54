"""How large files are, and how evenly rows are spread over partitions: a picture of each for every dataset."""

from __future__ import annotations

from kubothek.display.drawing import (
    axis,
    bar,
    details,
    lane,
    lanes,
    paragraph,
    section,
    spread_ticks,
    strip,
    table,
    warnings,
)
from kubothek.display.words import UNKNOWN, count_text, files_text, percent_text, size_text
from kubothek.model.display import human_bytes, plural
from kubothek.model.markup import Markup, element
from kubothek.model.stale import partition_name
from kubothek.plan.cube.picture import SIZE_EDGES, CubePicture, DatasetPicture, RowsPerPartition
from kubothek.plan.small_files import SMALL_BYTES, has_small_files, small_files_advice

_STEPS = len(SIZE_EDGES) + 1
_SMALL_STEPS = (SIZE_EDGES.index(SMALL_BYTES) + 1) / _STEPS
_SKEWED = 10


def sizes_section(picture: CubePicture) -> Markup:
    """Draw how files and rows are spread."""
    decades = range(0, len(SIZE_EDGES), 3)
    names = [human_bytes(SIZE_EDGES[place]).replace(".0 ", " ") for place in decades]
    ticks = spread_ticks([(place + 1) / _STEPS for place in decades], names)
    small = [dataset for dataset in picture.datasets if is_small(dataset)]
    return section(
        "sizes",
        "Files and rows",
        warnings(small_files_advice(one.dataset_id, one.partitions, one.files, one.bytes or 0) for one in small),
        warnings(_skew_advice(one, one.spread) for one in picture.datasets if one.spread and _is_skewed(one.spread)),
        element("h3", "Sizes of files"),
        paragraph(
            "Files in each step of sizes. The shaded side is below 1 MB, where a request costs more than its data."
        ),
        lanes(*(_sizes_lane(dataset) for dataset in picture.datasets), axis(ticks)),
        element("h3", "Rows per partition"),
        paragraph("Rows of the partitions of each dataset, in their order; a bar is the largest of some neighbours."),
        lanes(*(_rows_lane(dataset) for dataset in picture.datasets)),
        _numbers(picture),
    )


def is_small(dataset: DatasetPicture) -> bool:
    """Tell whether a dataset has many small files."""
    return dataset.bytes is not None and has_small_files(dataset.files, dataset.bytes)


def _sizes_lane(dataset: DatasetPicture) -> Markup:
    sizes = dataset.sizes
    if sizes is None:
        return _nothing(dataset)
    most, width = max(sizes.counts), 1 / _STEPS
    marks = [bar(0, _SMALL_STEPS, 0, 1, "shade")]
    for step, count in enumerate(sizes.counts):
        if count:
            height = max(count / most, 0.06)
            title = f"{_step_name(step)}: {files_text(count)}"
            marks.append(bar((step + 0.08) * width, 0.84 * width, 1 - height, height, "bar", title))
    known = sum(sizes.counts)
    told = f"median {human_bytes(sizes.median)}, {percent_text(sizes.small / known)} below 1 MB"
    return lane(dataset.dataset_id, told, strip(f"{dataset.dataset_id}: {files_text(known)}, {told}", marks, "plot"))


def _nothing(dataset: DatasetPicture) -> Markup:
    told = UNKNOWN if dataset.files else "no file"
    return lane(dataset.dataset_id, told, strip(f"{dataset.dataset_id}: {told}", [], "plot"))


def _step_name(step: int) -> str:
    if step == 0:
        return f"less than {human_bytes(SIZE_EDGES[0])}"
    if step == len(SIZE_EDGES):
        return f"{human_bytes(SIZE_EDGES[-1])} or more"
    return f"{human_bytes(SIZE_EDGES[step - 1])} to {human_bytes(SIZE_EDGES[step])}"


def _rows_lane(dataset: DatasetPicture) -> Markup:
    spread = dataset.spread
    if spread is None:
        return _nothing(dataset)
    width = 1 / len(spread.bars)
    marks = []
    for place, rows in enumerate(spread.bars):
        height = max(rows / max(spread.most, 1), 0.03)
        gap = min(0.04 * width, 0.002)
        marks.append(bar(place * width + gap, width - 2 * gap, 1 - height, height, "bar", plural(rows, "row")))
    told = f"median {spread.median:,}, most {spread.most:,}"
    return lane(dataset.dataset_id, told, strip(f"{dataset.dataset_id}: rows, {told}", marks, "plot"))


def _is_skewed(spread: RowsPerPartition) -> bool:
    return spread.skew >= _SKEWED


def _skew_advice(dataset: DatasetPicture, spread: RowsPerPartition) -> str:
    return (
        f"{dataset.dataset_id} is uneven: {partition_name(dict(spread.largest))} has {plural(spread.most, 'row')}, "
        f"{spread.skew:,.0f} times those of the middle partition. A task holds a partition at a time; partition by one "
        "column more, or write it with buckets."
    )


def _numbers(picture: CubePicture) -> Markup:
    headings = ["dataset", "files", "median size", "below 1 MB", "rows", "median rows", "most rows", "in partition"]
    rows = (
        [
            one.dataset_id,
            f"{one.files:,}",
            size_text(one.sizes.median if one.sizes else None),
            count_text(one.sizes.small if one.sizes else None),
            count_text(one.rows),
            count_text(one.spread.median if one.spread else None),
            count_text(one.spread.most if one.spread else None),
            partition_name(dict(one.spread.largest)) if one.spread else UNKNOWN,
        ]
        for one in picture.datasets
    )
    return details(
        "Files and rows in numbers", table("Sizes of files, rows per partition", headings, rows, range(1, 7))
    )

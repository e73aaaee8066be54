"""How large the secondary indices are, and how far each narrows a read down: a bar for the files of one value."""

from __future__ import annotations

from kubothek.display.drawing import bar, paragraph, section, strip, table
from kubothek.display.words import UNKNOWN, count_text, percent_text, size_text
from kubothek.model.markup import Markup, element, joined
from kubothek.plan.cube.picture import CubePicture, DatasetPicture, IndexPicture

_OF_LITTLE_USE = 0.5
_HEADINGS = ("index", "type", "values", "files per value", "files that a value leads to", "size")


def indices_section(picture: CubePicture) -> Markup:
    """Draw what the indices of all datasets are worth."""
    indices = [(dataset, index) for dataset in picture.datasets for index in dataset.indices]
    if not indices:
        return section(
            "indices", "Indices", paragraph("No dataset has a secondary index; build_dataset_indices makes one.")
        )
    intro = (
        "A condition on an indexed column reads the files that hold its values: the fewer a value is in, the better."
    )
    rows = (_row(dataset, index) for dataset, index in indices)
    return section(
        "indices", "Indices", paragraph(intro, class_="lead"), table("Secondary indices", _HEADINGS, rows, (2, 3, 5))
    )


def _row(dataset: DatasetPicture, index: IndexPicture) -> list[Markup | str]:
    known = index.values and index.entries is not None
    per_value = f"{(index.entries or 0) / (index.values or 1):,.1f}" if known else UNKNOWN
    name = joined([element("b", index.column), " ", element("span", f"of {dataset.dataset_id}", class_="note")])
    share = index.share(dataset.files)
    drawn = UNKNOWN if share is None else _share(share, dataset, index)
    return [name, index.type, count_text(index.values), per_value, drawn, size_text(index.bytes)]


def _share(share: float, dataset: DatasetPicture, index: IndexPicture) -> Markup:
    told = f"{percent_text(share)} of {dataset.files:,}"
    is_blunt = share >= _OF_LITTLE_USE and dataset.files > 1
    advice = "narrows little: sort or bucket the data by this column" if is_blunt else None
    summary = f"{index.column}: a value is in {told} files"
    gauge = strip(summary, [bar(0, 1, 0, 1, "track"), bar(0, max(share, 0.006), 0, 1, "bar")], "gauge")
    return joined([gauge, element("div", told, "; " if advice else None, advice, class_="note")])

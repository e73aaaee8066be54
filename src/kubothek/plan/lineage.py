"""What a header still says of what the content was computed from, once a change is made.

A change that computes content says it all. Of any other, only what it removes matters: in these physical partitions
there is no longer what was computed, so their labels are forgotten. Labels of two datasets belong together where the
columns that both are partitioned by have the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

LabelTexts = Callable[[pa.Array], pa.Table]
"""Gives the texts of partition values in labels (``kubothek.codec.labels.label_texts``)."""


def remaining_lineage(
    recorded: Mapping[str, pa.Array], removed: pa.Array, label_texts: LabelTexts
) -> dict[str, pa.Array]:
    """Return what is still known of what a dataset was computed from, after some of its own partitions were removed.

    Parameters
    ----------
    recorded
        Labels by the dataset that they are of, the seed of the cube first.
    removed
        Labels of the dataset itself.
    label_texts
        Cuts labels into texts.

    Returns
    -------
    dict
        Labels are left out of the first dataset alone: the seed of the cube, which says what there is. Others may have
        one partition for many of this one's, or tell its partitions apart by columns that the seed does not have.
    """
    if not len(removed) or not recorded:
        return dict(recorded)
    seed = next(iter(recorded))
    gone, texts = label_texts(removed), label_texts(recorded[seed])
    shared = [name for name in texts.column_names if name in gone.column_names]
    return {**recorded, seed: _without(recorded[seed], texts, gone, shared)}


def _without(labels: pa.Array, texts: pa.Table, gone: pa.Table, columns: Sequence[str]) -> pa.Array:
    """Return the labels that agree in these columns with nothing that is gone; without columns, all agree."""
    if not columns:
        return labels[:0]
    return labels.filter(pc.invert(pc.is_in(_joined(texts, columns), value_set=_joined(gone, columns))))


def _joined(texts: pa.Table, columns: Sequence[str]) -> pa.Array:
    joined = pc.binary_join_element_wise(*(texts[name] for name in columns), "/")
    return joined.combine_chunks()

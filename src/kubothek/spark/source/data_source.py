"""What Spark knows by the name ``kubothek``: which methods of which modules read and write.

Spark makes an instance with the options in a Python worker beside the driver, asks it for the schema, and keeps it,
pickled, with the DataFrame. Each query then asks it for a reader or a writer, in other workers.
"""

from __future__ import annotations

import importlib

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from kubothek.engine.spark.travel import Traveller
from kubothek.errors import InvalidInputError
from kubothek.spark.source.opened import Pinned
from kubothek.spark.source.reader import make_reader, read_schema
from kubothek.spark.source.stream_options import without_stream_options
from kubothek.spark.source.stream_sink import make_stream_writer
from kubothek.spark.source.writer import make_writer


class KubothekSource(Traveller, DataSource):
    """The format ``kubothek``; its options are those of :mod:`kubothek.spark.source.options`.

    Whoever loads sees the version that is current then, and sees it until he loads again: ``schema`` notes it.
    """

    _pinned: Pinned | None = None

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return "kubothek"

    def schema(self) -> StructType:
        """Columns of the dataset or the cube as Spark has them; reads headers, and runs no job."""
        schema, self._pinned = read_schema(without_stream_options(self.options))
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what plans a read and carries it out."""
        return make_reader(schema, self.options, self._pinned)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what stages rows and commits them."""
        return make_writer(schema, overwrite, self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802  Spark's name
        """Return what stages the rows of micro-batches and commits each of them once."""
        return make_stream_writer(schema, overwrite, self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """Return what reads new partitions of a dataset."""
        try:  # by name, as PySpark 4.1 lacks what this module imports, and does everything else
            source = importlib.import_module("kubothek.spark.source.stream_source")
        except ModuleNotFoundError as error:
            raise InvalidInputError(f"To read streams of kubothek takes a newer PySpark: {error}.") from error
        reader: DataSourceStreamReader = source.make_stream_reader(schema, self.options)
        return reader

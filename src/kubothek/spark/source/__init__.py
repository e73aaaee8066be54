"""The data source ``kubothek`` of Spark: datasets and cubes by ``spark.read.format("kubothek")``, and back.

Spark's Python workers import what is here, on the driver to plan and in the executors to read and write; it needs
PySpark, unlike the rest of the package.
"""

"""Kartothek's own names and parameters, so that code written for Kartothek runs after changing its imports.

Modules lie where Kartothek has them: what was ``kartothek.api.dataset`` is ``kubothek.compat.api.dataset``, and so on.
Everything here is a thin shell around the public functions of :mod:`kubothek`: it turns Kartothek's arguments into
theirs, and what they return into what Kartothek returned (pandas frames, lists, dictionaries). Where Kartothek took and
gave collections of Dask there are these:

========================  ==========================================================================================
Dask                      here
========================  ==========================================================================================
``dask.dataframe``        a Spark DataFrame; what is written may also be a pandas frame or anything in Arrow's format
``dask.delayed``          :class:`~kubothek.compat.lazily.Delayed`: nothing happens before ``.compute()``
``dask.bag``              :class:`~kubothek.compat.lazily.Bag`: elements that are made one by one, in this process
========================  ==========================================================================================

What Kartothek let one ask for and Kubothek has no use for is accepted with Kartothek's default, and refused with any
other value, so that nothing is silently ignored (:mod:`kubothek.compat.arguments`).
"""

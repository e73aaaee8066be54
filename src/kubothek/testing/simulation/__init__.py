"""A simulator of clients that meet in one store: the library's own functions, in an order and with faults from a seed.

Several clients run the public functions over a store in memory of which every call is a moment at which anything may
happen: another client goes on, a client dies, an answer is lost, a request arrives twice or late, the store fails, a
listing lags, clocks differ, other software puts a header, the dataset is deleted and created again. Everything follows
from the seed, so that a schedule can be run again::

    who does what                                           schedules, dataset_operations, cube_operations, foreign
    whose call comes next, and what goes wrong with it      scheduler, faults, client
    every object that ever lay in the store                 objects
    each header against a model in plain Python, what       ledger, header_checks, call_checks, endings
    callers were told and readers saw against that

``python -m kubothek.testing.simulation`` runs many. Two things are taken for granted, as in the library: clocks differ
by less than garbage is old, and a creation that was repeated with success does not arrive once more after the dataset
was deleted.
"""

from kubothek.testing.simulation.schedules import Report, run_schedule

__all__ = ["Report", "run_schedule"]

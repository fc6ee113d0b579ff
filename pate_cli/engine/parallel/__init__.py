"""Where work is done: on the cores of this machine, or on a Dask cluster; knows nothing of what is done.

Both offer `spread`: a task for each item over worker processes, results as they come. A lost worker
loses no result: what it was doing is done again.
"""

from pate_cli.engine.parallel.signals import die_with, interrupts_ignored, terminable

__all__ = ["die_with", "interrupts_ignored", "terminable"]

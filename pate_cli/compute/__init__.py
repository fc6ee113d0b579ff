"""Where work is done: on the cores of this machine, or on a Dask cluster; knows nothing of what is done.

Both offer `spread`: a task for each item over worker processes, results as they come. A lost worker
loses no result: what it was doing is done again.
"""

from pate_cli.compute.tasks import Task, WorkerError
from pate_cli.compute.signals import interrupts_ignored, terminable

__all__ = ["Task", "WorkerError", "interrupts_ignored", "terminable"]

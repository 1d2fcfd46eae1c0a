"""Schedule the instructions of GPU kernels, and prove how far each schedule can be from the best one.

>>> import lowtide
>>> region = lowtide.Region(
...     "body",
...     instructions=[("load", 80), ("add", 4), ("load", 80), ("add", 4)],
...     values=[
...         {"class": "vgpr", "def": 0, "uses": [1]},
...         {"class": "vgpr", "def": 1, "live_out": True},
...         {"class": "vgpr", "def": 2, "uses": [3]},
...         {"class": "vgpr", "def": 3, "live_out": True},
...     ],
... )
>>> result = lowtide.schedule(region, target="gfx906", nodes=1000)
>>> result.waves, result.waves_bound
(10, 10)
>>> result.regions[0].order.tolist()
[0, 2, 1, 3]
>>> result.regions[0].length, result.regions[0].length_bound, result.regions[0].proven
(82, 82, True)
"""

from ._errors import InputError, InternalError, Interrupted
from ._kernel import Kernel, Region, read, scan
from ._lowtide import __version__
from ._others import PackResult, PassResult, pack, passes
from ._plot import plot
from ._result import RegionResult, Result, Session, algorithms, schedule, targets

__all__ = [
    "InputError",
    "InternalError",
    "Interrupted",
    "Kernel",
    "PackResult",
    "PassResult",
    "Region",
    "RegionResult",
    "Result",
    "Session",
    "__version__",
    "algorithms",
    "pack",
    "passes",
    "plot",
    "read",
    "scan",
    "schedule",
    "targets",
]

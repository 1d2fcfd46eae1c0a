"""Schedule a corpus on a cluster of Ray.

    >>> import lowtide.ray                                                       # doctest: +SKIP
    >>> rows = lowtide.ray.schedule("corpus/", "results/", nodes=5000)           # doctest: +SKIP
    >>> rows.filter(expr="waves < waves_bound").count()                          # doctest: +SKIP

``python -m lowtide.ray CORPUS -o RESULTS`` does the same as a command.
"""

from __future__ import annotations

try:
    import pyarrow  # noqa: F401
    import ray  # noqa: F401
except ImportError as error:
    raise ImportError("lowtide.ray needs Ray and pyarrow: pip install 'lowtide[ray]'") from error

from .driver import Options, Summary, run, schedule
from .schema import KERNELS, RESULTS, lines_of, schedule_line

__all__ = ["KERNELS", "RESULTS", "Options", "Summary", "lines_of", "run", "schedule", "schedule_line"]

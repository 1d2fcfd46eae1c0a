"""Measure the parts of a run on Ray, and predict a run of 10 million regions on 1,000 cores.

Usage: python throughput.py CORPUS [--nodes N] [--workers N] [--regions N] [--cores N]

1. Parts: one process reads, schedules and writes the corpus, part by part, in seconds of processor time.
2. Ray: a local cluster runs the corpus; the driver's own time for each bundle is measured.
3. Model: the time of the large run from these parts, by a formula.
4. Simulation: the plan of the large run, with kernels drawn from the measured ones, event by event. It checks the formula.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import tempfile
import time

import ray

import lowtide.ray
from lowtide import Kernel, Session, _lowtide
from lowtide.ray.driver import Driver, Folder, Options, expand
from lowtide.ray import plan
from lowtide.ray.plan import Item, bundles, estimate
from lowtide.ray.schema import Rows
from lowtide.ray.work import write


#: The least work of a bundle and the bundles for each worker, as runs have them.
LEAST, BUNDLES = plan.LEAST, plan.BUNDLES


def clock() -> float:
    """Return the processor time of this process."""
    return time.process_time()


class Parts:
    """The measured parts, in seconds of processor time."""

    def __init__(self, corpus: str, options: Options) -> None:
        self.regions = 0
        #: For each kernel: its regions, its estimated work, its key, and the time to parse, schedule and note it.
        self.kernels: list[tuple[int, float, str, float]] = []
        lines, _ = expand(corpus)
        start = clock()
        entries = [entry for file in lines for entry in _lowtide.split(file)]
        self.read = clock() - start
        session, rows = Session(), Rows()
        chosen = {"target": options.target, "goal": options.goal, "budget": options.budget, "nodes": options.nodes}
        for name, _, line, text, sizes, key, error in entries:
            if error is not None:
                continue
            start = clock()
            [kernel] = Kernel.from_lines(text, name=name)
            rows.add("", line, session.schedule(kernel, interruptible=False, **chosen))  # type: ignore[arg-type]
            self.kernels.append((len(sizes), estimate(sizes), key, clock() - start))
            self.regions += len(sizes)
        self.work = sum(seconds for _, _, _, seconds in self.kernels)
        with tempfile.TemporaryDirectory() as folder:
            start = clock()
            write(rows.table(), f"file://{folder}/part.parquet")
            self.write = clock() - start


def on_ray(corpus: str, options: Options, workers: int, least: float) -> dict[str, float]:
    """Run the corpus on a local cluster in bundles of at least this work, and return the times of the driver and of the workers."""
    plan.LEAST, plan.BUNDLES = least, BUNDLES if least == LEAST else 400
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(options, Folder(folder, options), None, workers, False)
        start = time.perf_counter()
        driver.read(corpus)
        read = time.perf_counter()
        own = clock()
        driver.work()
        summary = driver.summary
        spent = (clock() - own) / max(summary.bundles, 1)
        return {"plan": read - start, "wall": time.perf_counter() - start, "cpu": summary.cpu, "bundles": summary.bundles, "driver": spent}


def simulate(parts: Parts, regions: int, cores: int, dispatch: float) -> tuple[float, float, int]:
    """Return the time of the workers, the time of a bundle at most, and the number of bundles of a large run."""
    own = random.Random(1)
    copies = max(1, round(regions / parts.regions))
    items, seconds = [], []
    for copy in range(copies):
        for row, (_, work, key, _) in enumerate(parts.kernels):
            # Each copy has graphs of its own, as the kernels of another code base have.
            items.append(Item(copy, row, work, f"{copy}.{key}"))
        # Times vary from machine to machine.
        seconds.append([kernel[3] * own.uniform(0.8, 1.25) for kernel in parts.kernels])
    planned = bundles(items, cores)
    free = [0.0] * cores
    heapq.heapify(free)
    now = longest = 0.0
    for bundle in planned:
        # The driver hands out one bundle after the other.
        now = max(now + dispatch, heapq.heappop(free))
        service = sum(seconds[item.block][item.row] for item in bundle.items)
        longest = max(longest, service)
        heapq.heappush(free, now + service)
    return max(free), longest, len(planned)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--regions", type=int, default=10_000_000)
    parser.add_argument("--cores", type=int, default=1000)
    chosen = parser.parse_args()
    options = Options(nodes=chosen.nodes)
    parts = Parts(chosen.corpus, options)
    per = 1e6 / parts.regions
    print(f"{parts.regions:,} regions, {len(parts.kernels):,} kernels, {chosen.nodes} nodes; microseconds of processor time for each region:")
    print(f"read and split {parts.read * per:.1f}, parse and schedule {parts.work * per:.1f}, write {parts.write * per:.1f}")
    slow = sorted((seconds for _, _, _, seconds in parts.kernels), reverse=True)
    print(f"skew: the slowest kernel takes {slow[0]:.2f} s, the slowest 1 % have {sum(slow[: len(slow) // 100]) / parts.work:.0%} of the time")
    ray.init(num_cpus=max(chosen.workers), log_to_driver=False, logging_level="warning")
    for workers in chosen.workers:
        figures = on_ray(chosen.corpus, options, workers, LEAST)
        print(f"Ray, {workers} workers: " + json.dumps({name: round(value, 4) for name, value in figures.items()}))
    # Many small bundles, so that the start of the workers does not count.
    figures = on_ray(chosen.corpus, options, max(chosen.workers), 0.002)
    dispatch = figures["driver"]
    plan.LEAST, plan.BUNDLES = LEAST, BUNDLES
    print(f"driver: {1e3 * dispatch:.2f} ms for each of {figures['bundles']:.0f} bundles")
    scale = chosen.regions / parts.regions
    work, longest, count = simulate(parts, chosen.regions, chosen.cores, dispatch)
    even = scale * parts.work / chosen.cores
    print(f"{chosen.regions:,} regions on {chosen.cores:,} cores, {count:,} bundles:")
    print(f"  read on all cores {scale * parts.read / chosen.cores:.1f} s, write {scale * parts.write / chosen.cores:.1f} s, driver {count * dispatch:.1f} s")
    model = max(even, count * dispatch) + longest
    print(f"  model: max(work / cores, driver) + slowest bundle = max({even:.1f}, {count * dispatch:.1f}) + {longest:.1f} = {model:.1f} s; simulation {work:.1f} s")


if __name__ == "__main__":
    main()

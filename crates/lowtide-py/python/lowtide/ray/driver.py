"""The driver of a run: it plans, hands out bundles, and survives the death of workers and machines.

1. Ray Data reads the corpus into tables of kernels, in parallel. They stay in Ray's object store.
2. The driver learns the facts of each kernel, leaves out what earlier runs have done, and plans the bundles (``plan``).
3. One worker for each core schedules bundle after bundle, and writes each as one Parquet file. The file appears whole or not at all.
4. A worker that dies is replaced, and its bundle is repeated. If a bundle kills its worker twice, it is split; a kernel alone becomes a row with an error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional, Union

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import ray
import ray.data
import ray.exceptions

from .._errors import InputError
from .plan import Bundle, Item, bundles, halves
from .schema import RESULTS, Rows
from .work import Worker, facts_of, read_lines, read_rows, write

Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]

#: A bundle that has killed so many workers is split.
MOST_DEATHS = 2

#: If so many workers in a row cannot start, the run ends with the reason.
MOST_FAILURES = 20

REMOTE_FACTS: Any = ray.remote(num_cpus=0)(facts_of)
#: The driver itself replaces workers that die: so it knows which bundle to repeat, and which one kills them.
REMOTE_WORKER: Any = ray.remote(max_restarts=0, max_task_retries=0)(Worker)

#: The share of a core that a worker asks for, beside a GPU if it has one.
WORKER = 0.95

#: The share of a core that a reader asks for. Workers leave it free: if a machine goes away with blocks of kernels, Ray must be able to read them again while every worker waits for them.
READER = 0.05

#: The file with the options of a run.
OPTIONS = "_options.json"


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of the scheduler, as :func:`lowtide.schedule` has them. Without a target, each kernel has its own."""

    target: Optional[str] = None
    goal: str = "occupancy"
    budget: Optional[str] = None
    algorithm: str = "auto"
    nodes: Optional[int] = None
    latencies: str = "target"


@dataclasses.dataclass
class Summary:
    """The figures of a run. Times are sums over all workers, in seconds."""

    kernels: int = 0
    regions: int = 0
    instructions: int = 0
    errors: int = 0
    proven: int = 0
    waves: int = 0
    waves_bound: int = 0
    #: Kernels that an earlier run has done.
    kept: int = 0
    #: Workers that have died.
    deaths: int = 0
    bundles: int = 0
    workers: int = 0
    wall: float = 0.0
    plan: float = 0.0
    read: float = 0.0
    work: float = 0.0
    write: float = 0.0
    cpu: float = 0.0

    def add(self, totals: dict[str, float]) -> None:
        """Add the figures of a bundle."""
        self.bundles += 1
        for name in ("kernels", "regions", "instructions", "errors", "proven", "waves", "waves_bound"):
            setattr(self, name, getattr(self, name) + int(totals[name]))
        for name in ("read", "work", "write", "cpu"):
            setattr(self, name, getattr(self, name) + totals[name])

    def in_words(self) -> str:
        """Return the summary as text."""
        lines = [
            f"{self.kernels:,} kernels, {self.regions:,} regions, {self.instructions:,} instructions",
            f"waves {self.waves:,} (at most {self.waves_bound:,}); proven: {self.proven:,} of {self.regions:,} regions",
            f"{self.wall:.1f} s with {self.workers} workers; {self.cpu:.1f} s of processor time, {self.bundles} bundles",
        ]
        if self.kept:
            lines.append(f"{self.kept:,} kernels were done already")
        if self.errors:
            lines.append(f"{self.errors:,} kernels have an error: column error")
        if self.deaths:
            lines.append(f"{self.deaths} workers died; their bundles were repeated")
        return "\n".join(lines)


def schedule(
    corpus: Union[Paths, ray.data.Dataset],
    out: Optional[Union[str, "os.PathLike[str]"]] = None,
    *,
    target: Optional[str] = None,
    goal: str = "occupancy",
    budget: Optional[str] = None,
    algorithm: str = "auto",
    nodes: Optional[int] = None,
    latencies: str = "target",
    store: Optional[str] = None,
    workers: Optional[int] = None,
    gpus: Optional[int] = None,
    progress: bool = False,
) -> ray.data.Dataset:
    """Schedule all kernels of a corpus on the cluster, and return one row for each region (``RESULTS``).

    ``corpus`` is a file, a folder or a list of them (region files, plain or gzip, and Parquet), or a dataset of kernels. ``out`` is a folder that all machines reach, or an
    address that pyarrow understands. A run that ended in the middle continues with the missing kernels if it is started again with the same folder. Without ``out``, the results
    stay in the memory of the cluster. ``store`` is a store of answers that all machines reach (docs/store.md). ``workers`` is the number of processes (default: one for each core). ``gpus`` is for the
    algorithm ``colony``: so many processes, each with a GPU of the cluster to itself, run the colonies of each bundle in one batch. The results are those of the processor.
    """
    options = Options(target, goal, budget, algorithm, nodes, latencies)
    dataset, _ = run(corpus, out, options, store=store, workers=workers, gpus=gpus, progress=progress)
    return dataset


def run(
    corpus: Union[Paths, ray.data.Dataset],
    out: Optional[Union[str, "os.PathLike[str]"]],
    options: Options,
    *,
    store: Optional[str] = None,
    workers: Optional[int] = None,
    gpus: Optional[int] = None,
    progress: bool = False,
) -> tuple[ray.data.Dataset, Summary]:
    """Run as :func:`schedule` does, and return the summary as well."""
    start = time.perf_counter()
    if gpus is not None and (gpus < 1 or workers is not None or options.algorithm != "colony"):
        raise InputError('gpus: a number from 1, with algorithm="colony" and without workers: each GPU has one process')
    folder = None if out is None else Folder(out, options)
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    there = int(ray.cluster_resources().get("GPU", 0))
    if gpus is not None and gpus > there:
        raise InputError(f"gpus: {gpus} are asked for, and the cluster has {there}")
    driver = Driver(options, folder, store, workers, progress, gpus)
    driver.read(corpus)
    tables = driver.work()
    driver.summary.wall = time.perf_counter() - start
    if folder is not None:
        return ray.data.read_parquet(folder.uri, file_extensions=["parquet"]), driver.summary
    return ray.data.from_arrow_refs(tables or [ray.put(Rows().table())]), driver.summary


class Folder:
    """The folder of results: one Parquet file for each bundle, and the options of the run with the columns of its files."""

    def __init__(self, out: Union[str, "os.PathLike[str]"], options: Options) -> None:
        text = os.fspath(out)
        self.uri = text if "://" in text else "file://" + os.path.abspath(text)
        self._system, self._path = pyarrow.fs.FileSystem.from_uri(self.uri)
        self._system.create_dir(self._path, recursive=True)
        wanted = {**dataclasses.asdict(options), "columns": [f"{column.name}: {column.type}" for column in RESULTS]}
        try:
            with self._system.open_input_stream(f"{self._path}/{OPTIONS}") as file:
                found = json.loads(file.read())
        except FileNotFoundError:
            with self._system.open_output_stream(f"{self._path}/{OPTIONS}") as file:
                file.write(json.dumps(wanted).encode())
        else:
            if found.pop("columns", None) != wanted.pop("columns"):
                raise InputError(f"{text} has results with the columns of another version of Lowtide. Choose another folder")
            if found != wanted:
                raise InputError(f"{text} has results with other options: {found}, not {wanted}. Choose another folder")
        self.parts = [info.path for info in self._files() if info.base_name.startswith("part-")]
        numbers = [int(os.path.basename(path).split("-")[1]) for path in self.parts]
        self._run = max(numbers, default=-1) + 1
        self._count = 0

    def _files(self) -> list[pyarrow.fs.FileInfo]:
        found: list[pyarrow.fs.FileInfo] = self._system.get_file_info(pyarrow.fs.FileSelector(self._path))
        return found

    def done(self) -> set[tuple[str, int]]:
        """Return the kernels that earlier runs have done: each file has whole kernels."""
        done: set[tuple[str, int]] = set()
        for part in self.parts:
            table = pyarrow.parquet.read_table(part, columns=["file", "line"], filesystem=self._system)
            done.update(zip(table.column("file").to_pylist(), table.column("line").to_pylist()))
        return done

    def next_part(self) -> str:
        """Return the address of the next file."""
        self._count += 1
        return f"{self.uri}/part-{self._run:03}-{self._count:07}.parquet"

    def remove_all_but(self, accepted: Iterable[str]) -> None:
        """Remove files of this run that belong to no accepted bundle, and drafts of workers that have died."""
        names = {os.path.basename(part) for part in accepted}
        own = f"part-{self._run:03}-"
        for info in self._files():
            stray = info.base_name.startswith(own) and info.base_name not in names
            if stray or info.base_name.startswith("_part-"):
                self._system.delete_file(info.path)


def expand(paths: Paths) -> tuple[list[str], list[str]]:
    """Return the region files and the Parquet files of a corpus."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    lines, tables = [], []
    for path in [os.fspath(one) for one in given]:
        inside = [path]
        if os.path.isdir(path):
            inside = [entry.path for entry in sorted(os.scandir(path), key=lambda entry: entry.name) if entry.is_file()]
            inside = [name for name in inside if name.endswith((".jsonl", ".jsonl.gz", ".parquet"))]
            if not inside:
                raise InputError(f"{path}: no region files (*.jsonl, *.jsonl.gz, *.parquet) in this folder")
        elif not os.path.exists(path):
            raise FileNotFoundError(f"{path}: cannot be read: no such file")
        tables += [name for name in inside if name.endswith(".parquet")]
        lines += [name for name in inside if not name.endswith(".parquet")]
    return lines, tables


class Driver:
    """The state of a run."""

    def __init__(self, options: Options, folder: Optional[Folder], store: Optional[str], workers: Optional[int], progress: bool, gpus: Optional[int] = None) -> None:
        self.summary = Summary()
        self._options = options
        self._store = store
        self._folder = folder
        self._workers = workers
        self._gpus = gpus
        self._progress = Progress(progress)
        #: The blocks of kernels in the object store.
        self._blocks: list[Any] = []
        self._items: list[Item] = []

    def read(self, corpus: Union[Paths, ray.data.Dataset]) -> None:
        """Read the corpus into blocks of kernels."""
        start = time.perf_counter()
        with _quiet():
            self._read(corpus)
        self.summary.plan = time.perf_counter() - start

    def _read(self, corpus: Union[Paths, ray.data.Dataset]) -> None:
        datasets = []
        if isinstance(corpus, ray.data.Dataset):
            datasets.append(_as_kernels(corpus))
        else:
            lines, tables = expand(corpus)
            if lines:
                files = ray.data.from_items([{"path": path} for path in lines], override_num_blocks=len(lines))
                readers = min(len(lines), max(1, int(ray.cluster_resources().get("CPU", 1))))
                datasets.append(files.map_batches(read_lines, batch_size=1, batch_format="numpy", num_cpus=READER, compute=ray.data.TaskPoolStrategy(size=readers)))
            if tables:
                datasets.append(_as_kernels(ray.data.read_parquet(tables, include_paths=True, num_cpus=READER)))
        for dataset in datasets:
            for bundle in dataset.materialize().iter_internal_ref_bundles():
                self._blocks += bundle.block_refs
        self._learn()

    def _learn(self) -> None:
        """Learn the facts of all kernels, and leave out those that are done."""
        done = self._folder.done() if self._folder is not None else set()
        for block, facts in enumerate(ray.get([REMOTE_FACTS.remote(block) for block in self._blocks])):
            for row, (file, line, work, key) in enumerate(facts):
                if (file, line) in done:
                    self.summary.kept += 1
                else:
                    self._items.append(Item(block, row, work, key))

    def work(self) -> list[Any]:
        """Hand out all bundles, and return the tables of their results if there is no folder."""
        wanted = self._gpus or self._workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = bundles(self._items, wanted)[::-1]
        self.summary.workers = min(wanted, len(waiting))
        self._progress.start(sum(bundle.work for bundle in waiting))
        deaths: dict[Bundle, int] = {}
        # A worker gets a bundle only once its process runs: where a machine has gone away, there may be no core for another one.
        starting: dict[Any, Any] = {}
        failures = 0
        idle: list[Any] = []
        running: dict[Any, tuple[Any, Bundle, Optional[str]]] = {}
        accepted: list[str] = []
        tables: list[Any] = []
        try:
            while waiting or running:
                while len(starting) + len(idle) + len(running) < min(wanted, len(waiting) + len(running)):
                    device = "cuda" if self._gpus else "cpu"
                    worker = REMOTE_WORKER.options(**self._needs()).remote(dataclasses.asdict(self._options), self._store, device)
                    starting[worker.start.remote()] = worker
                while waiting and idle:
                    worker, bundle = idle.pop(), waiting.pop()
                    part = self._folder.next_part() if self._folder is not None else None
                    running[worker.run.remote(self._pieces(bundle), part)] = (worker, bundle, part)
                ready, _ = ray.wait([*running, *starting], timeout=1.0)
                for reference in ready:
                    if reference in starting:
                        worker = starting.pop(reference)
                        try:
                            ray.get(reference)
                            idle.append(worker)
                            failures = 0
                        except ray.exceptions.RayError as error:
                            failures += 1
                            ray.kill(worker)
                            cause = getattr(error, "cause", None)
                            if isinstance(cause, ValueError):
                                raise InputError(f"a worker cannot start: {cause}") from None
                            if failures > MOST_FAILURES or not _is_death(error):
                                raise
                        continue
                    worker, bundle, part = running.pop(reference)
                    try:
                        totals, table = ray.get(reference)
                    except ray.exceptions.RayError as error:
                        if not _is_death(error):
                            raise
                        self.summary.deaths += 1
                        ray.kill(worker)
                        deaths[bundle] = deaths.get(bundle, 0) + 1
                        if deaths[bundle] < MOST_DEATHS:
                            waiting.append(bundle)
                        elif len(bundle.items) > 1:
                            waiting += halves(bundle)
                        else:
                            self._give_up(bundle, accepted, tables)
                        continue
                    idle.append(worker)
                    self._accept(totals, part, table, accepted, tables)
                    self._progress.add(bundle.work, self.summary)
        finally:
            # Also after an error, whose traceback refers to the workers: they would keep their cores and GPUs.
            for worker in [*idle, *starting.values(), *(worker for worker, _, _ in running.values())]:
                ray.kill(worker)
        if self._folder is not None:
            self._folder.remove_all_but(accepted)
        self._progress.end()
        return tables

    def _needs(self) -> dict[str, float]:
        """Return the resources that a worker asks Ray for."""
        return {"num_cpus": WORKER, "num_gpus": 1} if self._gpus else {"num_cpus": WORKER}

    def _accept(self, totals: dict[str, float], part: Optional[str], table: Any, accepted: list[str], tables: list[Any]) -> None:
        self.summary.add(totals)
        if part is not None:
            accepted.append(part)
        else:
            # The machine of the worker may go away. The driver's does not.
            tables.append(ray.put(table))

    def _give_up(self, bundle: Bundle, accepted: list[str], tables: list[Any]) -> None:
        """Write a row for a kernel that kills every worker."""
        [item] = bundle.items
        block: pa.Table = ray.get(self._blocks[item.block])
        [row] = block.slice(item.row, 1).select(["file", "line", "kernel", "origin"]).to_pylist()
        rows = Rows()
        rows.add_error(row["file"], row["line"], row["kernel"], row["origin"], f"the worker died {MOST_DEATHS} times")
        names = ("kernels", "errors", "regions", "instructions", "proven", "waves", "waves_bound", "read", "work", "write", "cpu")
        totals = {**dict.fromkeys(names, 0.0), "kernels": 1.0, "errors": 1.0}
        part = self._folder.next_part() if self._folder is not None else None
        if part is not None:
            write(rows.table(), part)
        self._accept(totals, part, rows.table(), accepted, tables)

    def _pieces(self, bundle: Bundle) -> list[tuple[Any, list[int]]]:
        pieces: dict[int, list[int]] = {}
        for item in bundle.items:
            pieces.setdefault(item.block, []).append(item.row)
        return [(self._blocks[block], rows) for block, rows in sorted(pieces.items())]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Ray Data from printing its plans and progress: the driver prints its own."""
    context, logger = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    before = context.enable_progress_bars, logger.level
    context.enable_progress_bars = False
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        context.enable_progress_bars = before[0]
        logger.setLevel(before[1])


def _as_kernels(dataset: ray.data.Dataset) -> ray.data.Dataset:
    """Return a dataset of kernels in the form of this module."""
    names = dataset.schema().names
    if "text" in names and "key" in names:
        return dataset
    if "regions" not in names:
        raise InputError(f"the dataset has no kernels: columns {', '.join(names)}, without regions")
    return dataset.map_batches(read_rows, batch_format="pyarrow", batch_size=256, num_cpus=READER)


def _is_death(error: ray.exceptions.RayError) -> bool:
    """Return whether a bundle failed because a process, a machine or its data went away."""
    lost = (
        ray.exceptions.ActorDiedError,
        ray.exceptions.ActorUnavailableError,
        ray.exceptions.NodeDiedError,
        ray.exceptions.ObjectLostError,
        ray.exceptions.OutOfMemoryError,
        ray.exceptions.RayActorError,
        ray.exceptions.WorkerCrashedError,
    )
    cause = getattr(error, "cause", None)
    return isinstance(error, lost) or isinstance(cause, lost)


class Progress:
    """A line on the terminal."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._total = self._done = 0.0
        self._start = time.perf_counter()

    def start(self, total: float) -> None:
        """Start the clock."""
        self._total, self._start = total, time.perf_counter()

    def add(self, work: float, summary: Summary) -> None:
        """Show that some of the estimated work is done."""
        self._done += work
        if not self._enabled:
            return
        share = min(1.0, self._done / max(self._total, 1e-9))
        elapsed = time.perf_counter() - self._start
        bar = ("█" * round(30 * share)).ljust(30, "░")
        left = elapsed / max(share, 1e-9) - elapsed
        print(f"\r{bar} {share:4.0%}, {summary.kernels:,} kernels, {elapsed:.0f} s, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line."""
        if self._enabled:
            print(file=sys.stderr)

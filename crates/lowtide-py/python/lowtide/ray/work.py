"""The parts of a run that work on other machines: readers of kernels, and the workers that schedule them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

import pyarrow as pa
import ray

from .. import Kernel, Session, _lowtide
from .plan import estimate
from .schema import KERNELS, Rows, kernel_table, lines_of

#: Bytes of text in a block of kernels: blocks travel between machines, and hold up nobody.
BLOCK = 4 << 20

#: A worker forgets its answers when it takes this much memory.
MEMORY = 2 << 30


def read_lines(batch: Mapping[str, Sequence[str]]) -> Iterator[pa.Table]:
    """Read region files, and return tables of kernels. A kernel that cannot be parsed has an error instead of facts."""
    for file in batch["path"]:
        rows: list[tuple[Any, ...]] = []
        size = 0
        try:
            for name, origin, line, text, sizes, key, error in _lowtide.split(str(file)):
                rows.append((str(file), line, name, origin, text, sizes, key, error))
                size += len(text)
                if size >= BLOCK:
                    yield kernel_table(iter(rows))
                    rows, size = [], 0
        except (OSError, ValueError) as error:
            # The rest of the file cannot be read: a torn archive, for example.
            rows.append((str(file), -1, "", "", b"", [], "", str(error)))
        yield kernel_table(iter(rows))


def read_rows(table: pa.Table) -> pa.Table:
    """Return kernels of a Parquet corpus as a table of kernels."""
    paths = table.column("path").to_pylist() if "path" in table.column_names else [""] * table.num_rows
    rows: list[tuple[Any, ...]] = []
    for file, row in zip(paths, table.to_pylist()):
        name, origin = row.get("kernel") or "", row.get("origin") or ""
        try:
            text = lines_of(row)
            [kernel] = Kernel.from_lines(text, file=file or "<row>")
            regions = kernel.regions
            sizes = [len(region) for region in regions]
            key = max(regions, key=len).key
            rows.append((file, row.get("line", 0), name, origin, text, sizes, key, None))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            rows.append((file, row.get("line", 0), name, origin, b"", [], "", f"{file}: kernel {name!r}: {error}"))
    return kernel_table(iter(rows))


def facts_of(block: pa.Table) -> list[tuple[str, int, float, str]]:
    """Return file, line, estimated work and key of each kernel of a block. A kernel with an error has no key."""
    columns = [block.column(name).to_pylist() for name in ("file", "line", "sizes", "key")]
    return [(file, line, estimate(sizes), key) for file, line, sizes, key in zip(*columns)]


class Worker:
    """A process with a warm session."""

    def __init__(self, options: Mapping[str, Any], store: Optional[str], device: str = "cpu") -> None:
        self._options = dict(options)
        self._store, self._device = store, device
        self._session: Optional[Session] = None

    def start(self) -> int:
        """Open the session, and return the number of the process. An actor that fails while it is made only dies; a call tells the reason."""
        self._session = Session(self._store, device=self._device)
        return os.getpid()

    def run(self, pieces: Sequence[tuple[Any, Sequence[int]]], part: Optional[str]) -> tuple[dict[str, float], Optional[pa.Table]]:
        """Schedule rows of blocks. Write them to ``part`` if it is given, and return the figures of the summary."""
        start, cpu = time.perf_counter(), time.process_time()
        assert self._session is not None, "a worker starts before it works"
        rows = Rows()
        totals = {"kernels": 0.0, "regions": 0.0, "errors": 0.0, "proven": 0.0, "instructions": 0.0, "seconds": 0.0}
        totals.update(waves_before=0.0, waves=0.0, waves_bound=0.0)
        blocks = ray.get([reference for reference, _ in pieces])
        read = time.perf_counter()
        chosen: list[dict[str, Any]] = []
        for block, (_, numbers) in zip(blocks, pieces):
            chosen += block.select(["file", "line", "kernel", "origin", "text", "error"]).take(pa.array(numbers, pa.int64())).to_pylist()
        if self._device != "cpu":
            self._ask_gpu(chosen)
        for row in chosen:
            self._add(self._session, rows, row, totals)
        scheduled = time.perf_counter()
        totals["regions"] = len(rows) - totals["errors"]
        table = rows.table()
        if part is not None:
            write(table, part)
            table = None
        end = time.perf_counter()
        totals.update(read=read - start, work=scheduled - read, write=end - scheduled, cpu=time.process_time() - cpu)
        if _memory() > MEMORY:
            # Frees the memory of the old one first.
            self._session = None
            self.start()
        return totals, table

    def _ask_gpu(self, chosen: Sequence[Mapping[str, Any]]) -> None:
        """Run the colony for all kernels of the bundle in one batch."""
        assert self._session is not None
        options = {name: value for name, value in self._options.items() if name != "algorithm"}
        # A kernel with a mistake refuses the batch. The kernels are then asked for one by one, so that the row of this one tells its mistake.
        with contextlib.suppress(ValueError):
            kernels = [kernel for row in chosen if row["error"] is None for kernel in _parse(row)]
            self._session.ask_gpu(kernels, **options)

    def _add(self, session: Session, rows: Rows, row: Mapping[str, Any], totals: dict[str, float]) -> None:
        totals["kernels"] += 1
        error = row["error"]
        if error is None:
            try:
                [kernel] = _parse(row)
                result = session.schedule(kernel, interruptible=False, **self._options)
                rows.add(row["file"], row["line"], result)
                totals["seconds"] += result.seconds
                totals["waves"] += result.waves
                totals["waves_bound"] += result.waves_bound
                totals["proven"] += result._native.proven_count
                totals["instructions"] += kernel.size
                return
            except (ValueError, RuntimeError) as failure:
                error = str(failure)
        totals["errors"] += 1
        rows.add_error(row["file"], row["line"], row["kernel"], row["origin"], error)


def _parse(row: Mapping[str, Any]) -> list[Kernel]:
    return Kernel.from_lines(row["text"], file=row["file"] or "<row>", name=row["kernel"])


def write(table: pa.Table, part: str) -> None:
    """Write a table as a Parquet file that appears whole or not at all."""
    import pyarrow.fs
    import pyarrow.parquet

    system, path = pyarrow.fs.FileSystem.from_uri(part)
    folder, name = os.path.split(path)
    # A name that readers of the folder skip.
    draft = f"{folder}/_{name}.{os.getpid()}"
    pyarrow.parquet.write_table(table, draft, filesystem=system, compression="zstd")
    system.move(draft, path)


def _memory() -> int:
    """Return the bytes of memory that this process takes, or 0 where they are unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0

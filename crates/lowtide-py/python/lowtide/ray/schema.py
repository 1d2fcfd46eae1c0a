"""The tables of a run: kernels to schedule, and one row for each scheduled region.

Columns of results have the names, types and meanings of ``lowtide schedule --format parquet`` (``lowtide_io::RESULT_SCHEMA``; a test compares them). Four columns come in addition: ``file``, ``line`` and ``position`` find the region
in the corpus, and ``error`` has the text of a kernel that could not be scheduled. ``classes.by`` has the whole reason of a bound as JSON. :func:`schedule_line` makes the line
of a schedule file from a row, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Optional, Union

import pyarrow as pa

from .. import Result, _lowtide

#: A kernel on its way to a worker: its lines as in the file, and the facts that the plan needs.
KERNELS = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("kernel", pa.string()),
        ("origin", pa.string()),
        ("text", pa.binary()),
        ("sizes", pa.list_(pa.uint32())),
        ("key", pa.string()),
        ("error", pa.string()),
    ]
)

_CLASS = pa.struct(
    [
        ("class", pa.string()),
        ("peak", pa.int32()),
        ("peak_at", pa.int32()),
        ("peak_bound", pa.int32()),
        ("reason", pa.string()),
        ("by", pa.string()),
    ]
)

#: The result of a region.
RESULTS = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("position", pa.int32()),
        ("kernel", pa.string()),
        ("origin", pa.string()),
        ("target", pa.string()),
        ("latencies", pa.string()),
        ("baseline", pa.string()),
        ("region", pa.string()),
        ("instructions", pa.int32()),
        ("waves_before", pa.int32()),
        ("waves", pa.int32()),
        ("waves_bound", pa.int32()),
        ("length_before", pa.int32()),
        ("length", pa.int32()),
        ("length_bound", pa.int32()),
        ("proven_waves", pa.bool_()),
        ("proven_length", pa.bool_()),
        ("proven", pa.bool_()),
        ("filtered", pa.bool_()),
        ("spilled", pa.int32()),
        ("kernel_seconds", pa.float64()),
        ("classes", pa.list_(_CLASS)),
        ("order", pa.list_(pa.int32())),
        ("cycles", pa.list_(pa.int32())),
        ("error", pa.string()),
    ]
)


#: The order of the columns in the native rows.
_NATIVE = (
    *("file", "kernel", "origin", "target", "latencies", "baseline", "region", "error", "line", "position"),
    *("instructions", "waves_before", "waves", "waves_bound", "length_before", "length", "length_bound", "spilled"),
    *("proven_waves", "proven_length", "proven", "filtered", "kernel_seconds", "classes", "order", "cycles"),
)

#: Columns that every row has.
_ALWAYS = {"file", "line", "position", "kernel", "origin"}


class Rows:
    """Rows of results under construction."""

    def __init__(self) -> None:
        self._native = _lowtide.Rows()

    def __len__(self) -> int:
        return len(self._native)

    def add(self, file: str, line: int, result: Result) -> None:
        """Add a row for each region of a result."""
        self._native.add(file, line, result._native)

    def add_error(self, file: str, line: int, kernel: str, origin: str, error: str) -> None:
        """Add a row for a kernel that could not be scheduled."""
        self._native.add_error(file, line, kernel, origin, error)

    def table(self) -> pa.Table:
        """Return the rows as a table, which takes up the memory of the native rows, and start again without rows."""
        count = len(self._native)
        results, errors, columns = self._native.take()
        made = {}
        for name, buffers in zip(_NATIVE, columns):
            bits = None if name in _ALWAYS else errors if name == "error" else results
            made[name] = _array(RESULTS.field(name).type, count, bits, [pa.py_buffer(data) for data in buffers])
        return pa.Table.from_arrays([made[name] for name in RESULTS.names], schema=RESULTS)


def _array(kind: pa.DataType, count: int, bits: Optional[Union[bytes, pa.Buffer]], buffers: list[pa.Buffer]) -> pa.Array:
    valid = None if bits is None else pa.py_buffer(bits)
    if not pa.types.is_list(kind):
        return pa.Array.from_buffers(kind, count, [valid, *buffers])
    offsets, values = buffers[0], buffers[1:]
    inner = kind.value_type
    if pa.types.is_struct(inner):
        length = values[2].size // 4
        fields = [values[:2], [values[2]], [values[3]], [values[4]], values[5:7], values[7:9]]
        known = {"reason": values[9]}
        children = [_array(field.type, length, known.get(field.name), parts) for field, parts in zip(inner, fields)]
        child = pa.StructArray.from_arrays(children, fields=list(inner))
    else:
        child = _array(inner, values[0].size // 4, None, values)
    return pa.Array.from_buffers(kind, count, [valid, offsets], children=[child])


def schedule_line(row: Mapping[str, Any]) -> str:
    """Return the line of a schedule file for a row, as ``lowtide schedule -o`` writes it."""
    if row["error"] is not None:
        raise ValueError(f"kernel {row['kernel']!r} has no schedule: {row['error']}")
    latencies = "" if row["latencies"] == "recorded" else row["latencies"]
    line: dict[str, Any] = {"lowtide-schedule": 3 if latencies else 2 if row["classes"] else 1, "kernel": row["kernel"]}
    if row["origin"]:
        line["origin"] = row["origin"]
    line.update(region=row["region"], order=list(map(int, row["order"])), cycles=list(map(int, row["cycles"])))
    if latencies:
        line["latencies"] = latencies
    if len(row["classes"]):
        line["peak_bounds"] = {one["class"]: {"value": int(one["peak_bound"]), "by": json.loads(one["by"])} for one in row["classes"]}
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False)


def lines_of(row: Mapping[str, Any]) -> bytes:
    """Return the lines of a region file for a kernel of a Parquet corpus, as ``lowtide convert -o corpus.parquet`` writes it."""
    head = {"lowtide": 1, "kernel": row["kernel"], "origin": row["origin"] or "", "entry": row["entry"]}
    for name in ("target", "max_occupancy"):
        if row[name] is not None:
            head[name] = row[name]
    return b"".join(json.dumps({**head, **region}).encode() + b"\n" for region in map(_region, row["regions"]))


def _region(row: Mapping[str, Any]) -> dict[str, Any]:
    names = [register["name"] for register in row["registers"]]
    classes = list(row["classes"])

    def operand(part: Mapping[str, Any]) -> list[Any]:
        flags = [part["flags"]] if part.get("flags") else []
        return [names[part["register"]], part["lanes"], *flags]

    def peaks(rows: Optional[list[Mapping[str, int]]]) -> dict[str, Any]:
        return {name: {"between": peak["between"], "at": peak["at"]} for name, peak in zip(classes, rows or [])}

    def instruction(item: Mapping[str, Any]) -> dict[str, Any]:
        made = {name: item[name] for name in ("op", "latency", "micro_ops", "flags")}
        if item["address_space"] is not None:
            made["address_space"] = item["address_space"]
        made["units"] = {need["unit"]: need["cycles"] for need in item["units"]}
        made.update(defs=[operand(part) for part in item["defs"]], uses=[operand(part) for part in item["uses"]])
        return made

    region: dict[str, Any] = {
        "region": row["region"],
        "loop_depth": row["loop_depth"],
        "boundary": row["boundary"],
        "classes": classes,
        "registers": list(row["registers"]),
        "live_in": [operand(part) for part in row["live_in"]],
        "live_out": [operand(part) for part in row["live_out"]],
        "through": {name: weight for name, weight in zip(classes, row["through"]) if weight},
        "instructions": [instruction(item) for item in row["instructions"]],
        "deps": [[dep["from"], dep["to"], dep["kind"], dep["latency"]] for dep in row["deps"]],
        "hints": [[hint["from"], hint["to"], hint["kind"], hint["latency"]] for hint in row["hints"]],
    }
    if row["frequency"] is not None:
        region["frequency"] = row["frequency"]
    if row["source_peaks"] is not None:
        region["source_peaks"] = peaks(row["source_peaks"])
    if row["production"] is not None:
        production = row["production"]
        region["production"] = {"by": production["by"], "order": list(production["order"])}
        if production["peaks"] is not None:
            region["production"]["peaks"] = peaks(production["peaks"])
    return region


def kernel_table(rows: Iterator[tuple[Any, ...]]) -> pa.Table:
    """Return kernels as a table."""
    columns: list[tuple[Any, ...]] = list(zip(*rows)) or [()] * len(KERNELS)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, KERNELS)]
    return pa.Table.from_arrays(arrays, schema=KERNELS)

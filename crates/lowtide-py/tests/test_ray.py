"""Ray itself: a cluster of two nodes in processes, with a worker that is killed and a node that goes away."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import CORPUS, skip

try:
    import pyarrow
    import pyarrow.parquet
    import ray
    import ray.experimental
    from ray.cluster_utils import Cluster
except ImportError as error:
    skip("python: Ray", f"{error} (pip install 'lowtide[ray]')")

import lowtide
import lowtide.ray
from lowtide.ray import Options, Summary
from lowtide.ray.driver import Driver, Folder
from lowtide.ray.plan import Bundle, Item, bundles, estimate, halves
from lowtide.ray.schema import kernel_table
from lowtide.ray.work import Worker

NODES = 200


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head and another node, of one core each: a worker process takes seconds to start."""
    os.environ["RAY_DEDUP_LOGS"] = "0"
    # A node that goes away refuses connections at once. By default, Ray waits for five of them in 15 seconds.
    health = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000, "health_check_failure_threshold": 2}
    head = {"num_cpus": 1, "object_store_memory": 200 << 20, "include_dashboard": False, "_system_config": health}
    made = Cluster(initialize_head=True, head_node_args=head)
    made.add_node(num_cpus=1, object_store_memory=200 << 20)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def expected(program: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, list[str]]:
    """A corpus of some dozen kernels, and its schedules by the program."""
    folder = tmp_path_factory.mktemp("corpus")
    for name in ("rocprim", "hashcat"):
        kernels = [kernel for kernel in lowtide.scan(CORPUS / f"{name}.jsonl.gz") if kernel.size < 1500][:30]
        text = "".join(kernel.to_lines() for kernel in kernels)
        if name == "rocprim":
            (folder / f"{name}.jsonl").write_text(text)
        else:
            (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    output = folder / "schedules.out"
    program("schedule", folder, "--nodes", NODES, "-o", output)
    return folder, output.read_text().splitlines()


def lines_of(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a schedule file, in the order of the corpus."""
    rows = sorted(rows, key=lambda row: (os.path.basename(row["file"]), row["line"], row["position"]))
    return [lowtide.ray.schedule_line(row) for row in rows]


def test_results_equal_those_of_the_program(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    folder, lines = expected
    rows = lowtide.ray.schedule(folder, tmp_path / "out", nodes=NODES).take_all()
    assert lines_of(rows) == lines
    kept = lowtide.ray.schedule([folder / "rocprim.jsonl", folder / "hashcat.jsonl.gz"], nodes=NODES).take_all()
    assert lines_of(kept) == lines


def test_parquet_and_datasets_are_read(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    folder, lines = expected
    rows = []
    kernels = list(lowtide.scan(folder / "rocprim.jsonl"))[:8]
    for kernel in kernels:
        made = [region.to_dict() for region in kernel.regions]
        rows.append({**made[0], "regions": [columnar(region) for region in made]})
    keys = ("kernel", "origin", "target", "entry", "max_occupancy", "regions")
    defaults = {"origin": "", "entry": True}
    table = pyarrow.Table.from_pylist([{key: row.get(key, defaults.get(key)) for key in keys} for row in rows], schema=CORPUS_SCHEMA)
    pyarrow.parquet.write_table(table, tmp_path / "corpus.parquet")
    assert [kernel.to_lines() for kernel in lowtide.read(tmp_path / "corpus.parquet")] == [kernel.to_lines() for kernel in kernels]
    own = [line for line in lines if json.loads(line)["kernel"] in {kernel.name for kernel in kernels} and "rocprim" in line]
    found = lowtide.ray.schedule(tmp_path / "corpus.parquet", nodes=NODES).take_all()
    assert sorted(lowtide.ray.schedule_line(row) for row in found) == sorted(own)
    dataset = ray.data.read_parquet(str(tmp_path / "corpus.parquet"))
    assert lowtide.ray.schedule(dataset, nodes=NODES).count() == len(own)


def lists(**fields: Any) -> Any:
    return pyarrow.list_(pyarrow.struct(list(fields.items())))


TEXT, NUMBER, LANES, BOOL = pyarrow.string(), pyarrow.int32(), pyarrow.uint64(), pyarrow.bool_()
OPERANDS, PEAKS = lists(register=NUMBER, lanes=LANES), lists(between=NUMBER, at=NUMBER)
LINKS = pyarrow.list_(pyarrow.struct([("from", NUMBER), ("to", NUMBER), ("kind", TEXT), ("latency", NUMBER)]))
INSTRUCTIONS = lists(
    op=TEXT,
    latency=NUMBER,
    micro_ops=NUMBER,
    flags=TEXT,
    address_space=NUMBER,
    units=lists(unit=TEXT, cycles=NUMBER),
    defs=lists(register=NUMBER, lanes=LANES, flags=TEXT),
    uses=OPERANDS,
)
REGIONS = lists(
    region=TEXT,
    loop_depth=NUMBER,
    frequency=NUMBER,
    boundary=TEXT,
    classes=pyarrow.list_(TEXT),
    through=pyarrow.list_(NUMBER),
    registers=lists(**{"name": TEXT, "class": TEXT, "lanes": NUMBER, "weight": NUMBER}),
    live_in=OPERANDS,
    live_out=OPERANDS,
    instructions=INSTRUCTIONS,
    deps=LINKS,
    hints=LINKS,
    source_peaks=PEAKS,
    production=pyarrow.struct([("by", TEXT), ("order", pyarrow.list_(NUMBER)), ("peaks", PEAKS)]),
)
#: The columns of docs/region-format.md, nullable and with signs, as other programs write them.
CORPUS_SCHEMA = pyarrow.schema([("kernel", TEXT), ("origin", TEXT), ("target", TEXT), ("entry", BOOL), ("max_occupancy", NUMBER), ("regions", REGIONS)])


def columnar(region: dict[str, Any]) -> dict[str, Any]:
    """Return a region of a region file in the form of a Parquet corpus."""
    names = [register["name"] for register in region["registers"]]
    lanes = {register["name"]: (1 << register.get("lanes", 1)) - 1 for register in region["registers"]}

    def operand(part: Any) -> dict[str, Any]:
        name, mask, flags = part if isinstance(part, list) and len(part) == 3 else (*part, "") if isinstance(part, list) else (part, lanes[part], "")
        return {"register": names.index(name), "lanes": mask, "flags": flags}

    def peaks(found: Any) -> Any:
        return None if found is None else [found[name] for name in region["classes"]]

    production = region.get("production")
    return {
        "region": region["region"],
        "loop_depth": region.get("loop_depth", 0),
        "frequency": region.get("frequency"),
        "boundary": region.get("boundary", ""),
        "classes": region["classes"],
        "through": [region.get("through", {}).get(name, 0) for name in region["classes"]],
        "registers": [{"lanes": 1, "weight": 1, **register} for register in region["registers"]],
        "live_in": [operand(part) for part in region.get("live_in", [])],
        "live_out": [operand(part) for part in region.get("live_out", [])],
        "instructions": [
            {
                "op": item["op"],
                "latency": item["latency"],
                "micro_ops": item.get("micro_ops", 1),
                "flags": item.get("flags", ""),
                "address_space": item.get("address_space"),
                "units": [{"unit": unit, "cycles": cycles} for unit, cycles in item.get("units", {}).items()],
                "defs": [operand(part) for part in item.get("defs", [])],
                "uses": [operand(part) for part in item.get("uses", [])],
            }
            for item in region["instructions"]
        ],
        "deps": [dict(zip(("from", "to", "kind", "latency"), dep)) for dep in region.get("deps", [])],
        "hints": [dict(zip(("from", "to", "kind", "latency"), hint)) for hint in region.get("hints", [])],
        "source_peaks": peaks(region.get("source_peaks")),
        "production": production and {"by": production["by"], "order": production["order"], "peaks": peaks(production.get("peaks"))},
    }


def test_a_poisoned_region_is_a_row_with_its_error(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    folder, lines = expected
    good = (folder / "rocprim.jsonl").read_text().splitlines(keepends=True)
    wrong_class = '{"lowtide":1,"kernel":"class","target":"gfx906","region":"r","classes":["quux"],"registers":[],"instructions":[{"op":"a","latency":1}]}\n'
    wrong_target = wrong_class.replace('"class"', '"target"', 1).replace("gfx906", "gfx000")
    cyclic = wrong_class.replace('"class"', '"cycle"', 1).replace("}]}", '}],"deps":[[0,0,"data",1]]}')
    # Between kernels: the first line of another kernel.
    names = [json.loads(line)["kernel"] for line in good]
    middle = next(number for number in range(len(good) // 2, len(good)) if names[number] != names[number - 1])
    text = good[:middle] + ["{torn\n", wrong_class, wrong_target, cyclic] + good[middle:]
    (tmp_path / "rocprim.jsonl").write_text("".join(text))
    _, summary = lowtide.ray.run(tmp_path / "rocprim.jsonl", tmp_path / "out", Options(nodes=NODES))
    rows = read(tmp_path / "out")
    errors = [row for row in rows if row["error"] is not None]
    assert summary.errors == len(errors) == 4
    texts = {row["kernel"]: row["error"] for row in errors}
    file = tmp_path / "rocprim.jsonl"
    assert texts[f"unnamed.{middle + 1}"].startswith(f"{file}:{middle + 1}: "), texts
    assert 'kernel "class": ' in texts["class"] and "quux" in texts["class"]
    assert 'kernel "target" was made for "gfx000", which is not a known target' in texts["target"]
    assert texts["cycle"].startswith(f"{file}:{middle + 4}: ") and "cycle" in texts["cycle"]
    assert lines_of([row for row in rows if row["error"] is None]) == [line for line in lines if "rocprim" in line]


def read(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Read the results of a run as another program would: all Parquet files of the folder."""
    found: list[dict[str, Any]] = []
    for part in sorted(folder.glob("part-*.parquet")):
        found += pyarrow.parquet.read_table(part).to_pylist()
    assert not list(folder.glob("_part-*")), "drafts are left behind"
    return found


def nothing_lost_and_nothing_twice(folder: pathlib.Path, lines: list[str]) -> None:
    rows = read(folder)
    twice = [key for key, count in Counter((row["file"], row["line"], row["position"]) for row in rows).items() if count > 1]
    assert not twice
    assert lines_of(rows) == lines


def workers_of_this_run() -> list[int]:
    """Return the processes of the workers that schedule at this moment."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "ray::Worker" in line]


def disturbed(corpus: pathlib.Path, out: pathlib.Path, disturb: Callable[[], None]) -> Summary:
    """Run, and call a function when the first results are there."""

    def wait() -> None:
        deadline = time.monotonic() + 120
        while not list(out.glob("part-*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.02)
        disturb()

    watcher = threading.Thread(target=wait)
    watcher.start()
    _, summary = lowtide.ray.run(corpus, out, Options(nodes=NODES))
    watcher.join()
    return summary


def test_killed_workers_lose_nothing(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small bundles, so that the run is in the middle.
    monkeypatch.setattr("lowtide.ray.plan.LEAST", 0.001)
    monkeypatch.setattr("lowtide.ray.plan.BUNDLES", 30)
    folder, lines = expected
    killed: list[int] = []

    def kill() -> None:
        for number in workers_of_this_run()[:2]:
            os.kill(number, signal.SIGKILL)
            killed.append(number)

    summary = disturbed(folder, tmp_path / "out", kill)
    assert len(killed) >= 1 and summary.deaths >= 1, (killed, summary)
    nothing_lost_and_nothing_twice(tmp_path / "out", lines)


def test_a_kernel_that_kills_every_worker_is_a_row(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, lines = expected
    # Two kernels in one bundle, which is split: each death takes the start of a process.
    file = tmp_path / "rocprim.jsonl"
    kernels = list(lowtide.scan(folder / "rocprim.jsonl"))[:2]
    file.write_text("".join(kernel.to_lines() for kernel in kernels))
    good, deadly = (kernel.name for kernel in kernels)

    class Mortal(Worker):
        """A worker that dies of one kernel, as of one that takes all memory."""

        def _add(self, session: Any, rows: Any, row: Any, totals: Any) -> None:
            if row["kernel"] == deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            super()._add(session, rows, row, totals)

    monkeypatch.setattr("lowtide.ray.driver.REMOTE_WORKER", ray.remote(max_restarts=0)(Mortal))
    _, summary = lowtide.ray.run(file, tmp_path / "out", Options(nodes=NODES))
    rows = read(tmp_path / "out")
    [dead] = [row for row in rows if row["error"] is not None]
    assert dead["kernel"] == deadly and dead["error"] == "the worker died 2 times"
    assert summary.deaths >= 4 and summary.errors == 1, "twice together, and twice alone"
    expected_lines = [line for line in lines if "rocprim" in line and json.loads(line)["kernel"] == good]
    assert lines_of([row for row in rows if row["error"] is None]) == expected_lines


def test_a_node_that_goes_away_loses_nothing(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowtide.ray.plan.LEAST", 0.001)
    monkeypatch.setattr("lowtide.ray.plan.BUNDLES", 30)
    folder, lines = expected
    node = cluster.add_node(num_cpus=1, object_store_memory=200 << 20)
    cluster.wait_for_nodes()
    disturbed(folder, tmp_path / "out", lambda: cluster.remove_node(node, allow_graceful=False))
    nothing_lost_and_nothing_twice(tmp_path / "out", lines)


def test_kernels_on_a_node_that_goes_away_are_read_again(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    """Every worker waits for blocks that are lost: reading them again must not need the cores of the workers."""
    folder, lines = expected
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    # Large blocks: Ray keeps small ones with the driver.
    text = gzip.decompress((folder / "hashcat.jsonl.gz").read_bytes())
    assert len(text) > 200_000
    copies = 8
    for number in range(copies):
        (corpus / f"{number}.jsonl").write_bytes(text)
    node = cluster.add_node(num_cpus=1, object_store_memory=200 << 20)
    cluster.wait_for_nodes()
    options = Options(nodes=NODES)
    driver = Driver(options, Folder(tmp_path / "out", options), None, None, False)
    driver.read(corpus)
    places = ray.experimental.get_object_locations(driver._blocks)
    there = [block for block in driver._blocks if places[block]["node_ids"] == [node.node_id]]
    assert there, "no block is on the node alone"
    cluster.remove_node(node, allow_graceful=False)
    driver.work()
    nothing_lost_and_nothing_twice(tmp_path / "out", [line for line in lines if "hashcat" in line] * copies)


def test_a_run_continues_with_what_is_missing(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowtide.ray.plan.LEAST", 0.001)
    monkeypatch.setattr("lowtide.ray.plan.BUNDLES", 10)
    folder, lines = expected
    out = tmp_path / "out"
    _, first = lowtide.ray.run(folder, out, Options(nodes=NODES))
    parts = sorted(out.glob("part-*.parquet"))
    gone = parts[::2]
    missing = sum(len({(row["file"], row["line"]) for row in pyarrow.parquet.read_table(part).to_pylist()}) for part in gone)
    for part in gone:
        part.unlink()
    before = {part: part.stat().st_mtime_ns for part in parts[1::2]}
    _, second = lowtide.ray.run(folder, out, Options(nodes=NODES))
    assert second.kernels == missing > 0 and second.kept == first.kernels - missing
    assert before == {part: part.stat().st_mtime_ns for part in before}, "what is done stays"
    nothing_lost_and_nothing_twice(out, lines)
    _, third = lowtide.ray.run(folder, out, Options(nodes=NODES))
    assert (third.kernels, third.kept) == (0, first.kernels)
    with pytest.raises(ValueError, match="has results with other options"):
        lowtide.ray.run(folder, out, Options(nodes=NODES + 1))
    kept = json.loads((out / "_options.json").read_text())
    (out / "_options.json").write_text(json.dumps({**kept, "columns": kept["columns"][1:]}))
    with pytest.raises(ValueError, match="the columns of another version"):
        lowtide.ray.run(folder, out, Options(nodes=NODES))


def test_the_command(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path) -> None:
    folder, lines = expected
    command = [sys.executable, "-m", "lowtide.ray", str(folder), "-o", str(tmp_path / "out"), "--address", cluster.address, "--nodes", str(NODES)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["regions"] == len(lines)
    nothing_lost_and_nothing_twice(tmp_path / "out", lines)
    failed = subprocess.run([*command[:3], str(tmp_path / "nothing"), *command[4:]], capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "error: " in failed.stderr and "nothing" in failed.stderr


def test_gpus_are_asked_for(cluster: Cluster, expected: tuple[pathlib.Path, list[str]], tmp_path: pathlib.Path, program: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray counts GPUs that a node claims to have. So the resources can be tested without one."""
    file = tmp_path / "rocprim.jsonl"
    file.write_text("".join(kernel.to_lines() for kernel in list(lowtide.scan(expected[0] / "rocprim.jsonl"))[:4]))
    with pytest.raises(lowtide.InputError, match='gpus: a number from 1, with algorithm="colony"'):
        lowtide.ray.schedule(file, nodes=NODES, gpus=1)
    with pytest.raises(lowtide.InputError, match="gpus: 1 are asked for, and the cluster has 0"):
        lowtide.ray.schedule(file, nodes=NODES, algorithm="colony", gpus=1)

    node = cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=200 << 20)
    cluster.wait_for_nodes()
    try:
        try:
            lowtide.Session(device="cuda")
        except lowtide.InputError as reason:
            with pytest.raises(lowtide.InputError, match="a worker cannot start: ") as refused:
                lowtide.ray.schedule(file, nodes=NODES, algorithm="colony", gpus=1)
            assert str(reason) in str(refused.value)

        class Observed(Worker):
            """A worker that notes its resources, and needs no driver."""

            def start(self) -> int:
                (tmp_path / "resources").write_text(json.dumps([ray.get_gpu_ids(), ray.get_runtime_context().get_assigned_resources(), self._device]))
                self._session = lowtide.Session()
                return os.getpid()

        monkeypatch.setattr("lowtide.ray.driver.REMOTE_WORKER", ray.remote(max_restarts=0)(Observed))
        _, summary = lowtide.ray.run(file, tmp_path / "out", Options(nodes=NODES, algorithm="colony"), gpus=1)
        ids, resources, device = json.loads((tmp_path / "resources").read_text())
        assert len(ids) == 1 and resources["GPU"] == 1 and device == "cuda" and summary.workers == 1
        program("schedule", file, "--nodes", NODES, "--algorithm", "colony", "--device", "cpu", "-o", tmp_path / "schedules")
        nothing_lost_and_nothing_twice(tmp_path / "out", (tmp_path / "schedules").read_text().splitlines())
    finally:
        cluster.remove_node(node)


def test_columns_are_those_of_the_program() -> None:
    """The schema of the program's Parquet files: `REQUIRED INT32 waves;`, and lists as groups."""
    kinds = {"BYTE_ARRAY": pyarrow.string(), "INT32": pyarrow.int32(), "INT64": pyarrow.int64(), "DOUBLE": pyarrow.float64(), "BOOLEAN": pyarrow.bool_()}
    theirs: dict[str, Any] = {}
    prefix = ""
    for line in lowtide._lowtide.result_schema().splitlines():
        if found := re.match(r" *REQUIRED group (\w+) \(LIST\) .*REQUIRED (\w+) element", line):
            name, kind = found.groups()
            if kind == "group":
                prefix = f"{name}."
            else:
                theirs[name] = pyarrow.list_(kinds[kind])
        elif found := re.match(r" *(?:REQUIRED|OPTIONAL) (\w+) (\w+)", line):
            theirs[prefix + found[2]] = kinds[found[1]]
        elif line.strip().startswith("} } }"):
            prefix = ""
    ours: dict[str, Any] = {field.name: field.type for field in lowtide.ray.RESULTS}
    ours.update((f"classes.{field.name}", field.type) for field in ours.pop("classes").value_type)
    shared = [name for name in theirs if name in ours]
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
    assert set(ours) - set(theirs) == {"file", "line", "position", "error", "classes.by"}
    # The figures that only the program collects.
    assert set(theirs) - set(ours) == {"readable_name", "peak_before", "peak", "peak_bound", "pairs", "broken_pairs", "nodes", "search_seconds"}
    assert [name for name in ours if name in shared] == [name for name in shared if not name.startswith("classes.")] + [name for name in shared if name.startswith("classes.")]


def test_plans() -> None:
    """Equal graphs are together, large kernels alone, and nothing is left out."""
    items = [Item(number // 50, number % 50, estimate([10 + number % 7]), f"key{number % 40}") for number in range(500)]
    items.append(Item(10, 0, estimate([5000]), "large"))
    plan = bundles(items, 4)
    assert sorted(item for bundle in plan for item in bundle.items) == sorted(items)
    assert plan[0].items == (items[-1],), "the kernel of 5,000 instructions is alone, and first"
    places: dict[str, set[int]] = {}
    for number, bundle in enumerate(plan):
        for item in bundle.items:
            places.setdefault(item.key, set()).add(number)
    assert all(len(where) == 1 for where in places.values())
    assert bundles([], 4) == []
    parts = halves(Bundle(tuple(items[:5]), 1.0))
    assert [item for part in parts for item in part.items] == items[:5]
    assert kernel_table(iter([])).num_rows == 0

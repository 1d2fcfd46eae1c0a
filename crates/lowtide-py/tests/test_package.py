"""The package without anything else: regions, schedules, errors, threads, signals."""

from __future__ import annotations

import pathlib
import pickle
import random
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import lowtide
from lowtide import Kernel, Region


def wide(pairs: int = 40) -> Region:
    """Loads, each with an addition, and a sum of all: many orders."""
    instructions = [("load", 80)] * pairs + [("add", 4)] * pairs
    values = [{"class": "vgpr", "def": i, "uses": [pairs + i]} for i in range(pairs)]
    values += [{"class": "vgpr", "def": pairs + i, "live_out": True} for i in range(pairs)]
    return Region("wide", instructions, values)


def hard(size: int = 300) -> Region:
    """A graph whose optimum takes minutes or more."""
    own = random.Random(1)
    values = []
    for i in range(size):
        uses = {i + 1 + own.randrange(min(200, size - i - 1)) for _ in range(2)} if i + 1 < size else set()
        values.append({"class": "vgpr", "def": i, "uses": sorted(uses), "weight": 1 + own.randrange(5), "live_out": not uses})
    return Region("hard", ["op"] * size, values)


def test_a_region_has_what_it_was_built_from() -> None:
    region = Region(
        "r",
        [{"op": "load", "latency": 80, "units": {"HWVMEM": 1}, "flags": "l", "address_space": 1}, ("add", 4)],
        [{"name": "x", "class": "vgpr", "weight": 2, "def": 0, "uses": [1]}, {"name": "y", "class": "sgpr", "uses": [1]}],
        [(0, 1, "memory", 7)],
        through={"vgpr": 3},
        loop_depth=2,
        frequency=9,
    )
    assert (region.loop_depth, region.frequency, region.classes) == (2, 9, ["vgpr", "sgpr"])
    assert region.operations() == ["load", "add"]
    assert sorted(region.dependences()) == [(0, 1, "data", 80), (0, 1, "memory", 7)]
    assert region.values()[1] == {"name": "x", "class": "vgpr", "weight": 2, "def": 0, "uses": [1], "live_out": False}
    assert region.peaks() == {"vgpr": 5, "sgpr": 1}
    assert {name: row.tolist() for name, row in region.pressure().items()} == {"vgpr": [3, 5, 3], "sgpr": [1, 1, 0]}
    again = Region.from_dict(region.to_dict())
    assert again.to_dict() == region.to_dict() and again.key == region.key


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((["a"], [{"class": "v", "def": 1}]), "value 0: its definition is instruction 1, but there are 1 instructions"),
        ((["a"], [{"class": "v", "uses": [4]}]), "value 0: a use is instruction 4"),
        ((["a"], [{"def": 0}]), "value 0: 'class' is missing"),
        ((["a"], [{"class": "v", "size": 0}]), "value 0: unknown key 'size': known are class, def, live_out, name, uses, weight"),
        (([("a", 1, 2)],), "is not a name, a pair of name and latency, or a mapping"),
        (([{"latency": 4}],), "instruction 0: 'op' is missing"),
        ((["a", "b"], [], [(0, 1, "hope")]), '"hope" is not a kind of dependence: known are data, anti, output, memory, barrier'),
        ((["a", "b"], [], [(0,)]), "dependence 0: (0,) is not (from, to)"),
        ((["a", "b"], [], [(0, 7)]), "names instruction #7, but there are only 2"),
        ((["a"], [{"class": "v", "weight": 2**40}]), "out of range"),
        ((["a"], [{"class": "v", "weight": -1}]), ""),
        ((["a"], [{"class": "v", "weight": 0, "def": 0}]), "weight"),
        (([],), "no instruction"),
    ],
)
def test_a_wrong_region_is_a_value_error_that_says_why(arguments: tuple, text: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError) as error:
        Region("r", *arguments)
    assert text in str(error.value)


def test_arrays_are_not_copies() -> None:
    region = lowtide.schedule(wide(), nodes=500).regions[0]
    order = region.order
    assert isinstance(order, numpy.ndarray) and order.dtype == numpy.uint32
    assert order.base is not None and not order.flags.owndata and not order.flags.writeable
    assert sorted(order.tolist()) == list(range(80)) and len(region.cycles) == 80


def test_without_numpy_arrays_are_memoryviews() -> None:
    script = """
import sys
sys.modules["numpy"] = None
import lowtide
region = lowtide.schedule(lowtide.Region("r", ["a", "b"]), nodes=10).regions[0]
assert isinstance(region.order, memoryview) and region.order.tolist() == [0, 1], region.order
region._repr_html_()
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_core_needs_only_the_standard_library() -> None:
    script = """
import sys
import lowtide
lowtide.schedule(lowtide.Region("r", ["a", "b"]), nodes=10).to_dict()
others = {"numpy", "pyarrow", "ray", "matplotlib", "networkx"} & set(sys.modules)
assert not others, others
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_results_have_figures_bounds_reasons_and_proofs() -> None:
    result = lowtide.schedule(wide(), nodes=2000, certificate=True)
    [region] = result.regions
    assert result.waves == result.waves_bound == 6 and result.proven == region.proven
    assert region.peaks["vgpr"] >= region.peak_bounds["vgpr"] == 40 and "cut" in region.reasons["vgpr"]
    assert region.length >= region.length_bound and region.waves == 6 and region.spilled == 0
    before = region.before()
    assert before["peaks"]["vgpr"] == 40 and before["length"] >= region.length_bound
    result.check()
    assert result.certificate and "lowtide-certificates" in result.certificate[0]
    assert result.to_dict()["regions"][0]["order"] == region.order.tolist()


def test_goals_and_options() -> None:
    fewest = lowtide.schedule(wide(8), goal="minreg", nodes=2000).regions[0]
    shortest = lowtide.schedule(wide(8), goal="length", nodes=2000).regions[0]
    assert fewest.peaks["vgpr"] <= shortest.peaks["vgpr"] and shortest.length <= fewest.length
    named = lowtide.schedule(wide(8), algorithm="source").regions[0]
    assert named.order.tolist() == list(range(16))
    recorded = lowtide.schedule(Kernel("k", [wide(8)], target="gfx90a"), target=None, latencies="recorded", nodes=10)
    assert (recorded.target, recorded.latencies) == ("gfx90a", "recorded")
    for wrong, text in [
        ({"goal": "best"}, "unknown goal"),
        ({"algorithm": "magic"}, "unknown algorithm"),
        ({"budget": "5"}, "budget: a unit is missing"),
        ({"latencies": "half"}, "latencies: "),
        ({"threads": 9}, "threads: 9"),
        ({"store": "ftp://x"}, "store: .* is no address of a store"),
        ({"goal": "throughput", "certificate": True}, "a certificate needs"),
    ]:
        with pytest.raises(ValueError, match=text):
            lowtide.schedule(wide(2), **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Kernel or a Region is needed, not str"):
        lowtide.schedule("kernel")  # type: ignore[arg-type]


def test_a_store_has_the_answers_of_an_earlier_session(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "store"
    first, second = (lowtide.schedule(wide(9), nodes=1000, store=place) for _ in range(2))
    assert list(place.glob("v1/*/*")), "nothing is kept"
    without = lowtide.schedule(wide(9), nodes=1000)
    for other in (first, second):
        assert [one.order.tolist() for one in other.regions] == [one.order.tolist() for one in without.regions]
        assert (other.waves, other.waves_bound) == (without.waves, without.waves_bound)


def test_devices(corpus: pathlib.Path) -> None:
    """A GPU gives the schedules of the processor. Where none can be used, the error tells why, and `auto` takes the processor."""
    with pytest.raises(lowtide.InputError, match='unknown device "tpu": known are cpu, cuda, auto'):
        lowtide.Session(device="tpu")
    kernels = lowtide.read(corpus)[:5]
    options = {"nodes": 100, "algorithm": "colony"}
    expected = [lowtide.Session().schedule(kernel, **options).to_lines() for kernel in kernels]  # type: ignore[arg-type]
    session = lowtide.Session(device="auto")
    session.ask_gpu(kernels, nodes=100)
    assert [session.schedule(kernel, **options).to_lines() for kernel in kernels] == expected  # type: ignore[arg-type]
    if not session._native.has_gpu:
        with pytest.raises(lowtide.InputError, match='^device "cuda": '):
            lowtide.Session(device="cuda")


def test_kernels_and_regions_can_be_pickled() -> None:
    kernel = Kernel("k", [wide(3), Region("other", ["x"])], origin="o", target="gfx906", max_occupancy=7)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.to_lines() == kernel.to_lines()
    assert pickle.loads(pickle.dumps(kernel.regions[1])).to_dict()["region"] == "other"
    with pytest.raises(ValueError, match='region "wide" of kernel "k" appears twice'):
        Kernel("k", [wide(2), wide(3)])
    with pytest.raises(ValueError, match="max_occupancy must be at least 1"):
        Kernel("k", [], max_occupancy=0)


def test_equal_graphs_have_equal_keys(corpus: pathlib.Path) -> None:
    keys = [region.key for kernel in lowtide.read(corpus) for region in kernel.regions]
    assert len(set(keys)) < len(keys) and all(len(key) == 32 for key in keys)


def test_a_hundred_threads_at_once(corpus: pathlib.Path) -> None:
    kernels = [kernel for kernel in lowtide.read(corpus) if kernel.size < 400][:20]
    alone = [lowtide.schedule(kernel, target=None, nodes=300).to_lines() for kernel in kernels]
    session = lowtide.Session()
    found: dict[int, list[str]] = {}
    start = threading.Barrier(100)

    def work(number: int) -> None:
        kernel = kernels[number % len(kernels)]
        start.wait()
        use = session if number % 2 else lowtide.Session()
        found[number] = use.schedule(kernel, target=None, nodes=300).to_lines()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] for number in range(100)] == [alone[number % len(kernels)] for number in range(100)]


def test_other_threads_run_during_a_search() -> None:
    ticks = []
    searching = threading.Event()
    searching.set()

    def tick() -> None:
        while searching.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.monotonic()
    lowtide.schedule(hard(), goal="minreg", target="generic", budget="5ms")
    end = time.monotonic()
    searching.clear()
    ticker.join()
    inside = [moment for moment in ticks if start <= moment <= end]
    assert end - start > 0.2, "the search is too easy for this test"
    assert len(inside) > 5 * (end - start), (len(inside), end - start)


INTERRUPTED = """
import signal, sys, threading, time, os
sys.path.insert(0, {tests!r})
import lowtide
from test_package import hard
region = hard()
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    lowtide.schedule(region, goal="minreg", target="generic", nodes=10**15)
except KeyboardInterrupt as error:
    seconds = time.monotonic() - start
    assert isinstance(error, lowtide.Interrupted), error
    assert 0.9 < seconds < 20, seconds
    best = error.result.regions[0]
    error.result.check()
    assert best.peaks["vgpr"] <= region.peaks()["vgpr"]
    assert best.peak_bounds["vgpr"] <= best.peaks["vgpr"]
    print("interrupted after", seconds)
else:
    sys.exit("no exception")
"""


def test_ctrl_c_ends_a_search_with_the_best_so_far() -> None:
    tests = str(pathlib.Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", INTERRUPTED.format(tests=tests)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout.startswith("interrupted after"), done.stderr


def test_other_signals_raise_their_own_exception() -> None:
    def expire(number: int, frame: object) -> None:
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(TimeoutError, match="enough"):
            lowtide.schedule(hard(), goal="minreg", target="generic", nodes=10**15)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_pictures_need_no_network_and_no_script(corpus: pathlib.Path) -> None:
    kernel = max(lowtide.read(corpus), key=lambda kernel: kernel.size)
    result = lowtide.schedule(kernel, target=None, nodes=100)
    largest = max(result.regions, key=lambda region: len(region.region))
    for html in (result._repr_html_(), largest._repr_html_(), largest.region._repr_html_()):
        assert "<svg" in html and "<script" not in html and "src=" not in html and "href" not in html
        assert len(html) < 200_000
    peak = largest.peaks["vgpr"]
    assert f"lowtide {peak}" in largest._repr_html_() and "waves" in largest._repr_html_()
    evil = Region("<script>alert(1)</script>", ["a"], [{"class": "<b>", "def": 0, "live_out": True}])
    assert "<script>" not in evil._repr_html_()


def test_plots() -> None:
    import matplotlib

    matplotlib.use("Agg")
    result = lowtide.schedule(wide(), nodes=500)
    axes = lowtide.plot(result)
    labels = [line.get_label() for line in axes.get_lines()]
    assert axes.get_ylabel() == "pressure of vgpr"
    assert "source order: 40" in labels and f"every order: at least {result.regions[0].peak_bounds['vgpr']}" in labels
    with pytest.raises(ValueError, match="no class 'agpr'"):
        lowtide.plot(result, "agpr")


def test_graphs() -> None:
    import networkx

    graph = networkx.DiGraph([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    networkx.set_node_attributes(graph, {"a": 4, "b": 1, "c": 3, "d": 2}, "bytes")
    # b and c are both live before d. With the inputs of a job, a and both are live while the last of them runs.
    for inputs_stay, least in [(False, 5), (True, 8)]:
        region = Region.from_graph(graph, inputs_stay=inputs_stay)
        best = lowtide.schedule(region, target="generic", goal="minreg", nodes=10_000).regions[0]
        assert best.peaks == best.peak_bounds == {"memory": least}
    listed = Region.from_graph(({"a": 4, "b": 1, "c": 3, "d": 2}, list(graph.edges())))
    assert listed.to_dict() == Region.from_graph(graph).to_dict()
    assert Region.from_graph(({"free": 0, "end": 0}, [("free", "end")])).peaks() == {"memory": 0}
    for wrong, text in [
        (networkx.Graph(graph), "not directed"),
        (({"a": 1}, [("a", "x")]), "'x' is not a node"),
        (({"a": 1, "b": 1}, [("a", "b"), ("b", "a")]), "has a cycle"),
        (({"a": 1.5}, []), "must be a whole number"),
        ("graph", "a directed graph of NetworkX is needed"),
    ]:
        with pytest.raises(ValueError, match=text):
            Region.from_graph(wrong)


def test_random_graphs_have_the_optimum_of_brute_force() -> None:
    import itertools

    own = random.Random(5)
    for _ in range(20):
        nodes = {number: own.randint(1, 9) for number in range(6)}
        edges = [(a, b) for a, b in itertools.combinations(range(6), 2) if own.random() < 0.4]
        region = Region.from_graph((nodes, edges))
        legal = [p for p in itertools.permutations(range(6)) if all(p.index(a) < p.index(b) for a, b in edges)]
        names = [int(name) for name in region.operations()]
        least = min(region.peaks([names.index(node) for node in order])["memory"] for order in legal)
        best = lowtide.schedule(region, target="generic", goal="minreg", nodes=100_000).regions[0]
        assert best.peaks["memory"] == best.peak_bounds["memory"] == least


def test_pack_and_passes(tmp_path: pathlib.Path) -> None:
    shader = tmp_path / "shade.wgsl"
    shader.write_text("@fragment fn shade(@location(0) n: vec3f) -> @location(0) vec4f { return vec4f(normalize(n), 1.0); }")
    [kernel] = lowtide.read(shader)
    parted = lowtide.passes(kernel, target="ps20", nodes=20_000)
    assert parted.proven and parted.cost == sum(region["cost"] for region in parted.regions) > 0
    packed = lowtide.pack(Region("r", ["v_add_f32"] * 4), target="gfx1100", nodes=1000)
    assert packed.length >= 2 and packed.proven and len(packed.regions[0]["issues"]) >= 4
    with pytest.raises(ValueError, match="has no section"):
        lowtide.passes(kernel, target="gfx906")


def test_names_and_lists() -> None:
    assert lowtide.targets()["gfx906"] and "auto" in lowtide.algorithms()
    assert lowtide.__version__.count(".") == 2
    assert set(lowtide.__all__) <= set(dir(lowtide))

"""What the tests of the report share: the program, a browser, and a page of the corpus."""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402

LOWTIDE = sys.argv.pop(1) if len(sys.argv) > 1 else "target/debug/lowtide"
AXE = os.path.join(os.path.dirname(__file__), "..", "node_modules", "axe-core", "axe.min.js")
TABS = ["pressure", "timeline", "ranges", "graph", "bounds", "search", "listing"]
# As many nodes everywhere: the same schedules in all runs.
NODES = ["--nodes", "2000"]
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def lowtide(*args):
    return subprocess.run([LOWTIDE, *args], check=True, capture_output=True, text=True).stdout


def grouped(number):
    return f"{number:,}"


def change(before, after):
    return grouped(after) if before == after else f"{grouped(before)} → {grouped(after)}"


def with_bound(before, after, relation, bound):
    return change(before, after) + ("" if after == bound else f" ({relation} {grouped(bound)})")


def large_region(size):
    """A region file with one region of this size: loads, and sums of what came shortly before."""
    draw = random.Random(7)
    registers, instructions, deps = [], [], []
    for i in range(size):
        is_load = i % 12 == 0
        sources = [] if is_load else sorted({max(0, i - 1 - int(draw.expovariate(1 / 25))) for _ in range(4)})
        registers.append({"name": str(i), "class": "vgpr"})
        instructions.append({"op": "load" if is_load else "mad", "latency": 80 if is_load else 4,
                             "units": {"HWVMEM" if is_load else "HWVALU": 1}, "defs": [str(i)], "uses": [str(s) for s in sources]})
        deps += [[source, i, "data", 80 if source % 12 == 0 else 1] for source in sources]
    return {"lowtide": 1, "kernel": "large", "target": "gfx906", "region": "all", "classes": ["vgpr"], "registers": registers,
            "live_out": [str(size - 1)], "instructions": instructions, "deps": deps}


class Pages(unittest.TestCase):
    """One browser for all tests of a class, and a page of the corpus; each test ends without a complaint of the browser."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.corpus = cls.path("corpus.html")
        lowtide("view", "corpus/", *NODES, "-o", cls.corpus)
        cls.json = json.loads(lowtide("schedule", "corpus/", *NODES, "--json"))
        cls.browser = Browser()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.browser.__exit__)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def setUp(self):
        self.browser.errors.clear()
        self.browser.prefer("light")

    def tearDown(self):
        self.assertEqual(self.browser.errors, [], "the browser complains")

    def run_js(self, script):
        return self.browser.run(script)

    def open_corpus(self, address=""):
        return self.browser.open(self.corpus, address)

    def rows(self, table):
        """The texts of a table, row by row, all of it."""
        self.run_js(f"(() => {{ const more = document.querySelector('#{table}').closest('.table').querySelector('.more');"
                    " while (!more.hidden) more.click(); })()")
        return self.run_js(f"[...document.querySelectorAll('#{table} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")

    def zoom_of(self, chart):
        return self.run_js(f"document.querySelector('#{chart}').chart.getOption().dataZoom.map(({{start, end}}) => end - start)")

    def tiles(self, part="firstChild"):
        """The figures of the tiles by their names, or their remarks (part `lastChild`)."""
        return dict(self.run_js("[...document.querySelectorAll('.tile')].map((tile) => [tile.querySelector('dt').textContent,"
                                f" tile.querySelector('dd').{part}.textContent])"))

    def choose(self, name, value, panel="[role=tabpanel]:not([hidden])"):
        """Takes an option of a choice on the tab that is open."""
        self.run_js(f"(() => {{ const field = document.querySelector('{panel} select[name={name}]'); field.value = '{value}';"
                    " field.dispatchEvent(new Event('change')); })()")

    def largest(self):
        """Kernel and region numbers of the largest region."""
        sizes = ((region["n"], k, r) for k, kernel in enumerate(self.json["kernels"]) for r, region in enumerate(kernel["regions"]))
        return max(sizes)[1:]

    def check_rules(self, what):
        """Applies the rules of axe-core to the page that is open."""
        if not os.path.exists(AXE):
            print("!! There is no axe-core (npm): the accessibility rules are NOT CHECKED.")
            return
        with open(AXE, encoding="utf-8") as file:
            axe = file.read()
        self.run_js(f"{axe}; true")
        found, passed = self.run_js(
            "axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => [violations.map(({ id, nodes }) =>"
            " `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')}`), passes.length])")
        self.assertEqual(found, [], what)
        self.assertGreater(passed, 10)

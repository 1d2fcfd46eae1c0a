"""The experiment book in a browser: what it shows is what `--json` says. Usage: test_book.py LOWTIDE, from the root of the repository.

`SCREENSHOTS` is a folder for pictures of every chapter in both themes.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402

LOWTIDE = sys.argv.pop(1) if len(sys.argv) > 1 else "target/debug/lowtide"
AXE = os.path.join(os.path.dirname(__file__), "..", "node_modules", "axe-core", "axe.min.js")
CHAPTERS = ["minreg", "occupancy", "pack_generated", "pack", "colony", "colony_sweep", "passes"]

# The cells of a table by their row and column; what a row is about stands in its first column.
TABLE = """(chapter, title) => {
  const panel = document.querySelector(`[data-panel="${chapter}"]`);
  const section = [...panel.querySelectorAll('section')].find((one) => one.querySelector('h3').textContent.startsWith(title));
  const table = section.querySelector('table');
  const heads = [...table.querySelectorAll('thead tr > *')].map((cell) => cell.textContent);
  return Object.fromEntries([...table.querySelectorAll('tbody tr')].map((row) => {
    const cells = [...row.children].map((cell) => cell.textContent);
    return [cells[0], Object.fromEntries(cells.map((text, place) => [heads[place], text]))];
  }));
}"""

# The series of a chart: names with points or values.
CHART = """(chapter, title) => {
  const panel = document.querySelector(`[data-panel="${chapter}"]`);
  const section = [...panel.querySelectorAll('section')].find((one) => one.querySelector('h3').textContent.startsWith(title));
  const { series } = section.querySelector('.chart').chart.getOption();
  return Object.fromEntries(series.map(({ name, data }) => [name, data]));
}"""


def grouped(number):
    return f"{number:,}"


def ratio(peak, bound):
    return 1.0 if peak == bound else peak / max(bound, 1)


def without_former_names(figures):
    """Figures by algorithm. Those of `few-registers` are in the JSON under its former name, too."""
    figures = dict(figures)
    assert figures.pop("default") == figures["few-registers"]
    return figures


class Book(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="lowtide-book-")
        cls.page = Path(cls.folder.name) / "book.html"
        command = [LOWTIDE, "bench", "all", "corpus/", "corpus/pack/", "examples/shaders/"]
        command += ["--nodes", "2000", "--html", str(cls.page), "--json"]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        cls.json = json.loads(result.stdout)
        cls.browser = Browser()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        self.browser.errors.clear()
        self.browser.prefer("light")
        self.browser.open(self.page)

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def select(self, chapter):
        self.browser.run(f"document.querySelector('[data-tab={chapter}]').click()")

    def table(self, chapter, title):
        return self.browser.run(f"({TABLE})({json.dumps(chapter)}, {json.dumps(title)})")

    def chart(self, chapter, title):
        return self.browser.run(f"({CHART})({json.dumps(chapter)}, {json.dumps(title)})")

    def test_it_is_small_and_opens_at_once(self):
        self.assertLess(self.page.stat().st_size, 10e6)
        self.assertLess(self.browser.least(lambda: self.browser.open(self.page), 3), 3)
        self.assertEqual(self.browser.run("document.title"), "Lowtide: the experiment book")

    def test_every_chapter_has_its_command_and_draws_its_charts(self):
        for chapter in CHAPTERS:
            self.select(chapter)
            panel = f"document.querySelector('[data-panel={chapter}]')"
            command = self.browser.run(f"{panel}.querySelector('code.command').textContent")
            self.assertRegex(command, r"^lowtide bench .*--nodes \d+$")
            charts, drawn = self.browser.run(
                f"[{panel}.querySelectorAll('.chart').length, {panel}.querySelectorAll('.chart canvas').length]")
            self.assertGreaterEqual(charts, 1, chapter)
            self.assertEqual(charts, drawn, chapter)
        self.assertEqual(self.browser.run("location.hash"), f"#{CHAPTERS[-1]}")

    def test_chapters_change_by_keyboard_and_address(self):
        self.browser.run("document.querySelector('[role=tab][aria-selected=true]').focus()")
        self.browser.key("ArrowRight")
        selected = "document.querySelector('[role=tab][aria-selected=true]').dataset.tab"
        self.assertEqual(self.browser.run(selected), CHAPTERS[1])
        self.browser.key("End")
        self.assertEqual(self.browser.run(selected), CHAPTERS[-1])
        self.browser.open(self.page, "#colony")
        self.assertEqual(self.browser.run(selected), "colony")

    def test_registers_are_those_of_the_json(self):
        document = self.json["minreg"]
        rows = self.table("minreg", "Peaks against")
        algorithms = without_former_names(document["algorithms"])
        self.assertEqual(set(rows), set(algorithms))
        for name, totals in algorithms.items():
            self.assertEqual(rows[name]["mean ratio"], f"{totals['mean_ratio']:.4f}")
            self.assertEqual(rows[name]["seconds"], f"{totals['seconds']:.3f}")
        self.assertEqual(rows["su-cluster"]["mean ratio, paper"], "1.171")
        proved = [each for each in document["each"] if each["proof"] != "timeout"]
        self.assertEqual(len(proved), document["proved"])
        for name, points in self.chart("minreg", "Peak against the optimum").items():
            ratios = sorted(ratio(each["peaks"][name], each["bound"]) for each in proved if name in each["peaks"])
            self.assertEqual(len(points), len(ratios))
            for (_, drawn), expected in zip(points, ratios):
                self.assertAlmostEqual(drawn, expected, delta=1e-4)
        sizes = self.chart("minreg", "Sizes of the distinct graphs")
        self.assertEqual(sum(sum(values) for values in sizes.values()), document["regions"])

    def test_waves_and_lengths_are_those_of_the_json(self):
        self.select("occupancy")
        document = self.json["occupancy"]
        rows = self.table("occupancy", "All algorithms")
        for name in without_former_names(document["occupancy"]):
            self.assertEqual(rows[name]["waves"], grouped(document["occupancy"][name]))
            self.assertEqual(rows[name]["length"], grouped(document["length"][name]))
        self.assertEqual(rows["bound"]["length"], grouped(document["length_bound"]))
        passes = self.table("occupancy", "What the two passes search")
        self.assertEqual(passes["searched"]["pass 1, paper"], "541 (3.3 %)")
        self.assertTrue(passes["searched"]["pass 2"].startswith(f"{document['pass2']['searched']:,} ("))
        gaps = self.chart("occupancy", "How far lengths")
        met = [each for each in document["each"] if each["length"]["twopass"] == each["length_bound"]]
        self.assertEqual(gaps["twopass"][0], len(met))

    def test_packings_are_those_of_the_json(self):
        for chapter in ("pack_generated", "pack"):
            self.select(chapter)
            document = self.json[chapter]
            rows = self.table(chapter, "List schedule")
            for group in document["groups"]:
                self.assertEqual(rows["cycles, list"][group["name"]], grouped(group["list_cycles"]))
                self.assertEqual(rows["cycles, best"][group["name"]], grouped(group["best_cycles"]))
            self.assertEqual("hand, paper" in rows["blocks"], chapter == "pack_generated")

    def test_ants_and_passes_are_those_of_the_json(self):
        self.select("colony")
        document = self.json["colony"]
        rows = self.table("colony", "The input")
        asked = [each for each in document["each"] if each["pass"] == 2]
        self.assertEqual(rows["pass 2: regions"], {"": "pass 2: regions", "paper": "12,192", "here": grouped(len(asked))})
        speed_ups = self.chart("colony", "Speed-ups in pass 2")
        self.assertEqual(sum(sum(values) for values in speed_ups.values()), len(asked))
        self.select("passes")
        document = self.json["passes"]
        rows = self.table("passes", "Cost and passes")
        for name, cost in document["cost"].items():
            self.assertEqual(rows[name]["cost"], grouped(cost))
        widths = self.chart("passes", "Width of the search")["states"]
        self.assertEqual([width for _, width in widths], document["figure_2"]["widths"])

    def test_axes_have_names_and_say_where_they_are_logarithmic(self):
        logarithmic = 0
        for chapter in CHAPTERS:
            self.select(chapter)
            axes = self.browser.run(
                f"[...document.querySelectorAll('[data-panel={chapter}] .chart')].flatMap(({{ chart }}) => {{ const {{ xAxis, yAxis }} = chart.getOption();"
                " return [...xAxis, ...yAxis].map(({ name, type }) => ({ name, type })); })")
            self.assertGreaterEqual(len(axes), 2, chapter)
            for axis in axes:
                self.assertTrue(axis["name"], chapter)
                self.assertEqual(axis["type"] == "log", "(log scale)" in axis["name"], axis)
                logarithmic += axis["type"] == "log"
        self.assertGreater(logarithmic, 0)

    def test_curves_that_lie_on_each_other_can_be_told_apart(self):
        """No two curves of a chart have the same dashes and marks, and none has its marks where another has."""
        charts = self.browser.run(
            "[...document.querySelectorAll('.chart')].map(({ chart }) => chart.getOption().series.filter(({ type }) => type === 'line').map((one) => ({"
            " look: JSON.stringify([one.lineStyle.type, one.symbol]), color: one.lineStyle.color, width: one.lineStyle.width, z: one.z,"
            " marks: one.data.map((_, dataIndex) => dataIndex).filter((dataIndex) => one.symbolSize(null, { dataIndex }) > 0) })))"
            ".filter((curves) => curves.length > 1)")
        self.assertGreater(len(charts), 0)
        for curves in charts:
            self.assertEqual(len({curve["look"] for curve in curves}), len(curves))
            self.assertTrue(all(curve["marks"] for curve in curves))
            for number, one in enumerate(curves):
                for other in curves[number + 1:]:
                    self.assertFalse(set(one["marks"]) & set(other["marks"]))
                    # What is above is thinner.
                    self.assertTrue(one["z"] < other["z"] and one["width"] > other["width"])

    def test_nothing_is_wider_than_a_phone(self):
        self.browser.resize(420, 900)
        self.browser.open(self.page)
        for chapter in CHAPTERS:
            self.select(chapter)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 420, chapter)
        self.browser.resize(1400, 1000)

    def test_accessibility_rules_hold(self):
        if not os.path.exists(AXE):
            print("!! There is no axe-core (npm): the accessibility rules are NOT CHECKED.")
            return
        with open(AXE, encoding="utf-8") as file:
            self.browser.run(f"{file.read()}; true")
        for chapter in CHAPTERS:
            self.select(chapter)
            found = self.browser.run(
                "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) =>"
                " `${id}: ${nodes[0].html}`))")
            self.assertEqual(found, [], chapter)

    def test_both_themes_can_be_read(self):
        seen = set()
        for theme in ("light", "dark"):
            self.browser.prefer(theme)
            self.browser.open(self.page)
            ink, paper, muted, panel = self.browser.run(
                """(() => {
                  const style = (element, name) => getComputedStyle(element)[name].match(/[\\d.]+/g).slice(0, 3).map(Number);
                  const cell = document.querySelector('td.paper');
                  return [style(document.body, 'color'), style(document.body, 'backgroundColor'), style(cell, 'color'),
                    style(cell, 'backgroundColor')];
                })()""")
            self.assertGreater(contrast(ink, paper), 7, theme)
            self.assertGreater(contrast(muted, panel), 4.5, theme)
            seen.add(tuple(paper))
            for chapter in CHAPTERS:
                self.select(chapter)
                if "SCREENSHOTS" in os.environ:
                    self.browser.screenshot(Path(os.environ["SCREENSHOTS"]) / f"book-{chapter}-{theme}.png")
        self.assertEqual(len(seen), 2)


def contrast(one, other):
    """The ratio that the accessibility guidelines (WCAG 2) ask for."""
    def luminance(colour):
        parts = [part / 255 for part in colour]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


if __name__ == "__main__":
    unittest.main(verbosity=2)

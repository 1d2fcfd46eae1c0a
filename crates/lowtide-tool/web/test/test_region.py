"""The page of a region: one selection in all tabs, the search box, the graph, the orders side by side, links.

Usage: test_region.py LOWTIDE, from the root of the repository. `SCREENSHOTS` is a folder for pictures of every tab, in both
themes and widths.
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from pages import FRAMES, NODES, TABS, Pages, change, grouped, lowtide  # noqa: E402

WIDTHS = {"wide": 1280, "narrow": 420}
# What each tab draws for the selected instruction; the search has no instructions.
MARKED = {
    "pressure": "document.querySelector('#pressure-vgpr').chart.getOption().series.find(({ id }) => id === 'selected').data.length === 3",
    "timeline": "document.querySelector('#timeline').chart.getOption().series.filter(({ id, data }) => id?.startsWith('outline') && data.length === 1).length === 2",
    "ranges": "document.querySelector('#ranges').chart.getOption().series[0].markLine.data.length === 2",
    "graph": "document.querySelectorAll('#graph g.selected').length === 1",
    "listing": "document.querySelectorAll('#side-by-side td[aria-current]').length === 3",
}


class Region(Pages):
    """The corpus has recorded orders, so that there are three of each region."""

    def tearDown(self):
        self.browser.resize(1400, 1000)
        super().tearDown()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser.open(cls.corpus)
        # By kernel and region, whether its production order is recorded.
        cls.recorded = cls.browser.run("lowtide.readPart(0).then(({ kernels }) => kernels.map(({ regions }) => regions.map(({ production }) => production !== null)))")

    def middle_region(self):
        """Kernel and region numbers of a region with three orders that can be seen at once, with its JSON."""
        return next((k, r, region) for k, kernel in enumerate(self.json["kernels"]) for r, region in enumerate(kernel["regions"])
                    if 30 <= region["n"] <= 48 and self.recorded[k][r])

    def selected(self):
        return self.run_js("document.querySelector('#selected b')?.textContent ?? null")

    def open_tab(self, tab):
        self.run_js(f"document.querySelector('[data-tab={tab}]').click()")

    def center(self, element):
        """The place of an element in the window, scrolled to."""
        return self.run_js(f"(() => {{ const element = {element}; element.scrollIntoView({{ block: 'center' }});"
                           " const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()")

    # Selection

    def test_an_instruction_is_marked_in_all_tabs(self):
        k, r = self.largest()
        self.open_corpus(f"#k{k}r{r}/listing")
        self.run_js("document.querySelector('#side-by-side td[data-instr=\"7\"] button').click()")
        for tab, marked in MARKED.items():
            self.open_tab(tab)
            self.assertTrue(self.run_js(marked), tab)
        # All tabs are drawn now, and follow another selection and none.
        self.run_js("document.querySelector('#selected [data-instr]').click()")
        other = self.selected()
        self.assertFalse(other.startswith("#7 "))
        for tab, marked in MARKED.items():
            self.open_tab(tab)
            self.assertTrue(self.run_js(marked), tab)
        self.run_js("document.querySelector('#clear').click()")
        self.assertIsNone(self.selected())
        for tab, marked in MARKED.items():
            self.open_tab(tab)
            self.assertFalse(self.run_js(marked), tab)

    def test_a_click_selects_in_every_tab(self):
        k, r, region = self.middle_region()
        self.open_corpus(f"#k{k}r{r}/graph")
        self.browser.click(*self.center("document.querySelector('#graph g[data-instr=\"3\"]')"))
        self.assertTrue(self.selected().startswith("#3 "))
        for chart, tab in (("timeline", "timeline"), ("pressure-vgpr", "pressure")):
            self.open_tab(tab)
            # The tenth instruction of Lowtide's order, in the middle of its cycle or right after its issue.
            instr = region["order"][9]
            where = {
                "timeline": "const lanes = chart.getOption().yAxis[1].data; const bar = chart.getOption().series[1].data.find((one) => one.instr === %d).value;"
                            "const [x, y] = chart.convertToPixel({ xAxisIndex: 1, yAxisIndex: 1 }, [bar[1] + 0.5, bar[0]]);" % instr,
                "pressure": "const { data } = chart.getOption().series.find(({ name }) => name === 'Lowtide');"
                            "const [x, y] = chart.convertToPixel({ gridIndex: 0 }, [10.5, data[10][1]]);",
            }[tab]
            self.center(f"document.querySelector('#{chart}')")
            x, y = self.run_js(f"(() => {{ const chart = document.querySelector('#{chart}').chart; {where}"
                               f" const box = document.querySelector('#{chart}').getBoundingClientRect(); return [box.x + x, box.y + y]; }})()")
            self.run_js("document.querySelector('#clear')?.click()")
            self.browser.click(x, y)
            self.browser.wait(f"document.querySelector('#selected b')?.textContent.startsWith('#{instr} ')")
        self.open_tab("ranges")
        self.run_js("document.querySelector('#clear').click()")
        self.center("document.querySelector('#ranges')")
        x, y, writer = self.run_js(
            "(() => { const { chart } = document.querySelector('#ranges'); const { data } = chart.getOption().series[0]; const one = data.find(({ value }) => value[0] > 0);"
            " const [x, y] = chart.convertToPixel({ gridIndex: 0 }, [(one.value[0] + one.value[1]) / 2, one.value[2] + 0.5]);"
            " const box = document.querySelector('#ranges').getBoundingClientRect(); return [box.x + x, box.y + y, one.value[0]]; })()")
        self.browser.click(x, y)
        # The value is live from the boundary after its writer.
        self.browser.wait(f"document.querySelector('#selected b')?.textContent.startsWith('#{region['order'][writer - 1]} ')")

    def test_rows_of_bounds_select_the_writer(self):
        k, r = self.largest()
        self.open_corpus(f"#k{k}r{r}/bounds")
        self.run_js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        text = self.run_js("(() => { const row = [...document.querySelectorAll('#cut-vgpr tbody tr')].find((one) => one.cells[2].textContent.startsWith('#'));"
                           " row.click(); return row.cells[2].textContent; })()")
        self.assertEqual(self.selected(), text)
        self.assertGreaterEqual(self.run_js("document.querySelectorAll('#cut-vgpr tr[aria-current]').length"), 1)

    def test_instructions_are_found_by_number_opcode_and_value(self):
        k, r = self.largest()
        self.open_corpus(f"#k{k}r{r}")
        find = lambda text: self.run_js(  # noqa: E731
            f"(() => {{ const field = document.querySelector('input[name=find]'); field.value = {json.dumps(text)}; field.dispatchEvent(new Event('input'));"
            " return [...document.querySelectorAll('#matches button')].map((one) => one.textContent); })()")
        self.assertTrue(find("#100")[0].startswith("#100 "))
        opcode = find("100")[0].split()[1]
        matches = find(opcode.lower())
        self.assertGreater(len(matches), 0)
        self.assertTrue(all(opcode in match for match in matches), matches)
        # The values that it writes and reads lead to it.
        find("#100")
        self.run_js("document.querySelector('form[role=search]').requestSubmit()")
        self.assertTrue(self.selected().startswith("#100 "))
        self.assertEqual(self.run_js("document.querySelectorAll('#matches li').length"), 0)
        text = self.run_js("document.querySelector('#selected').textContent")
        value = text.split("Writes ")[1].split()[0]
        self.assertIn("#100", [match.split()[0] for match in find(value)])
        self.assertEqual(find("no such thing"), [])
        self.assertIn("0 matches", self.run_js("document.querySelector('form[role=search]').textContent"))

    def test_addresses_lead_to_region_tab_and_instruction(self):
        k, r, _ = self.middle_region()
        for tab in MARKED:
            self.open_corpus(f"#k{k}r{r}/{tab}/i4")
            self.assertFalse(self.run_js(f"document.querySelector('[data-panel={tab}]').hidden"), tab)
            self.assertTrue(self.selected().startswith("#4 "))
            self.assertTrue(self.run_js(MARKED[tab]), tab)
        self.run_js("document.querySelector('#selected [data-instr]').click()")
        number = self.selected().split()[0][1:]
        self.assertEqual(self.run_js("location.hash"), f"#k{k}r{r}/{list(MARKED)[-1]}/i{number}")
        self.run_js("document.querySelector('#clear').click()")
        self.assertEqual(self.run_js("location.hash"), f"#k{k}r{r}/{list(MARKED)[-1]}")
        # An instruction that does not exist is none.
        self.open_corpus(f"#k{k}r{r}/graph/i99999")
        self.assertIsNone(self.selected())
        # A link on the page works as an address does.
        self.run_js(f"location.hash = '#k{k}r{r}/timeline/i2'")
        self.browser.wait("document.querySelector('#selected b')?.textContent.startsWith('#2 ')")

    # The graph

    def boxes(self):
        return self.run_js("[...document.querySelectorAll('#graph g[data-instr]')].map((one) => { const { x, y, width, height } ="
                           " one.querySelector('rect').getBoundingClientRect(); const text = one.querySelector('text').getBoundingClientRect();"
                           " return { instr: Number(one.dataset.instr), x, y, width, height, inside: text.x >= x && text.right <= x + width }; })")

    def test_boxes_of_the_graph_do_not_overlap_and_all_are_in_view(self):
        for width in WIDTHS.values():
            self.browser.resize(width, 1000)
            k, r = self.largest()
            middle = self.middle_region()
            for address in (f"#k{k}r{r}/graph", f"#k{k}r{r}/graph/i500", f"#k{middle[0]}r{middle[1]}/graph"):
                self.open_corpus(address)
                boxes = self.boxes()
                self.assertGreaterEqual(len(boxes), 4)
                frame = self.run_js("(() => { const { x, y, width, height } = document.querySelector('#graph-box').getBoundingClientRect(); return { x, y, width, height }; })()")
                for one in boxes:
                    self.assertTrue(one["inside"], one)
                    self.assertGreaterEqual(one["x"], frame["x"])
                    self.assertLessEqual(one["x"] + one["width"], frame["x"] + frame["width"] + 1)
                    self.assertLessEqual(one["y"] + one["height"], frame["y"] + frame["height"] + 1)
                    for other in boxes:
                        if one["instr"] < other["instr"]:
                            apart = (one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
                                     or one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"])
                            self.assertTrue(apart, (width, address, one, other))
                # Texts can be read.
                self.assertGreater(min(box["height"] for box in boxes), 26 * 0.6)

    def test_edges_of_the_graph_lead_down_and_hidden_ones_are_counted(self):
        k, r = self.largest()
        self.open_corpus(f"#k{k}r{r}/graph/i500")
        lowest = {box["instr"]: box["y"] for box in self.boxes()}
        detail = self.run_js(f"lowtide.readPart(0).then(({{ kernels }}) => kernels[{k}].regions[{r}]).then(({{ part, entry }}) => lowtide.readPart(part).then((all) => all[entry].edges))")
        edges = list(zip(detail["from"], detail["to"]))
        shown = [(one, other) for one, other in edges if one in lowest and other in lowest]
        self.assertEqual(self.run_js("document.querySelectorAll('#graph > path').length"), len(shown))
        for one, other in shown:
            self.assertLess(lowest[one], lowest[other])
        for instr in lowest:
            text = self.run_js(f"document.querySelector('#graph g[data-instr=\"{instr}\"] text').textContent")
            for arrow, count in (("↑", sum(other == instr and one not in lowest for one, other in edges)),
                                 ("↓", sum(one == instr and other not in lowest for one, other in edges))):
                self.assertEqual(f"{arrow}{count}" in text.split(), count > 0, text)

    def test_the_graph_zooms_and_goes_by_keyboard(self):
        k, r, _ = self.middle_region()
        self.open_corpus(f"#k{k}r{r}/graph")
        width = lambda: self.run_js("document.querySelector('#graph').getBoundingClientRect().width")  # noqa: E731
        first = width()
        self.run_js("document.querySelector('#graph g[tabindex=\"0\"]').focus()")
        self.browser.key("+")
        self.assertGreater(width(), first * 1.3)
        self.browser.key("0")
        self.assertAlmostEqual(width(), first, delta=2)
        self.browser.wheel(*self.center("document.querySelector('#graph-box')"), -120)
        self.browser.wait(f"document.querySelector('#graph').getBoundingClientRect().width > {first} + 5")
        # Down an edge and back, then Enter.
        start = self.run_js("document.activeElement.dataset.instr")
        self.browser.key("ArrowDown")
        below = self.run_js("document.activeElement.dataset.instr")
        self.assertNotEqual(start, below)
        self.browser.key("Enter")
        self.assertTrue(self.selected().startswith(f"#{below} "))

    def test_more_of_a_large_graph_can_be_shown(self):
        k, r = self.largest()
        self.open_corpus(f"#k{k}r{r}/graph/i500")
        self.choose("size", "100")
        self.assertEqual(len(self.boxes()), 100)
        self.assertIn("100 of ", self.run_js("document.querySelector('#graph-scope').textContent"))
        k, r, region = self.middle_region()
        self.open_corpus(f"#k{k}r{r}/graph")
        self.choose("size", "50")
        self.assertEqual(len(self.boxes()), region["n"])

    # The orders

    def test_orders_stand_side_by_side(self):
        k, r = self.largest()
        region = self.json["kernels"][k]["regions"][r]
        self.open_corpus(f"#k{k}r{r}/listing")
        heads = self.run_js("[...document.querySelectorAll('#side-by-side th.order')].map((one) => one.textContent)")
        self.assertEqual([head.split(":")[0] for head in heads], ["Source", "Production", "Lowtide"])
        rows = self.rows("side-by-side")
        number = lambda text: int(text.split()[0][1:])  # noqa: E731
        orders = [[number(row[column]) for row in rows] for column in (1, 4, 7)]
        self.assertEqual(orders[0], list(range(region["n"])))
        self.assertEqual(orders[2], region["order"])
        self.assertEqual([int(row[8].replace(",", "")) for row in rows], [region["cycles"][instr] for instr in orders[2]])
        # Without those that are marked, both orders are the same, and a mark has the place in the other one.
        for column, before, order in ((4, orders[0], orders[1]), (7, orders[1], orders[2])):
            moved = {number(row[column]): row[column] for row in rows if " from " in row[column]}
            self.assertEqual([instr for instr in before if instr not in moved], [instr for instr in order if instr not in moved])
            self.assertGreater(len(moved), 0)
            for instr, text in moved.items():
                self.assertEqual(int(text.split(" from ")[1].replace(",", "")), before.index(instr) + 1)
                self.assertIn("↑" if before.index(instr) > order.index(instr) else "↓", text)
        # Exactly one peak in each order, with its figure.
        peaks = [[row[column] for row in rows if row[column].startswith("peak ")] for column in (3, 6, 9)]
        self.assertEqual([len(found) for found in peaks], [1, 1, 1])
        self.assertEqual(peaks[2], [f"peak {grouped(region['peak']['vgpr'])}"])

    def test_a_selected_instruction_is_scrolled_to(self):
        k, r = self.largest()
        self.open_corpus(f"#k{k}r{r}/listing/i800")
        y, height = self.run_js("(() => { const { y } = [...document.querySelectorAll('td[aria-current]')].at(-1).getBoundingClientRect(); return [y, innerHeight]; })()")
        self.assertTrue(0 <= y <= height, y)

    # The timeline

    def test_the_timeline_draws_the_dependences_of_the_selected_instruction(self):
        k, r, _ = self.middle_region()
        detail = f"lowtide.readPart(0).then(({{ kernels }}) => kernels[{k}].regions[{r}]).then(({{ part, entry }}) => lowtide.readPart(part).then((all) => all[entry].edges))"
        self.open_corpus(f"#k{k}r{r}/timeline")
        edges = self.run_js(detail)
        instr = next(instr for instr in edges["to"] if instr in edges["from"])
        self.open_corpus(f"#k{k}r{r}/timeline/i{instr}")
        series = {one["id"]: one["data"] for one in self.run_js("document.querySelector('#timeline').chart.getOption().series.filter(({ id }) => /^(reads|writes)/.test(id))"
                                                                ".map(({ id, data }) => ({ id, data }))")}
        for position in (0, 1):
            self.assertEqual(len(series[f"reads-{position}"]), edges["to"].count(instr))
            self.assertEqual(len(series[f"writes-{position}"]), edges["from"].count(instr))

    def test_axes_and_bars_of_the_timeline_have_names(self):
        k, r, region = self.middle_region()
        self.open_corpus(f"#k{k}r{r}/timeline")
        option = "document.querySelector('#timeline').chart.getOption()"
        self.assertEqual(self.run_js(f"{option}.yAxis.map(({{ name }}) => name)")[0].split(":")[0], "Production")
        self.assertEqual(self.run_js(f"{option}.xAxis.at(-1).name"), "cycle")
        self.run_js("document.querySelector('#timeline').focus()")
        for _ in range(2):
            self.browser.key("+")
        texts = self.run_js("document.querySelector('#timeline').chart.getZr().storage.getDisplayList(true).map(({ style }) => style.text).filter((text) => text?.startsWith('#'))")
        self.assertGreater(len(texts), 4)
        # With room, the whole name; with less, the number.
        self.assertTrue(any("_" in text for text in texts), texts)

    # The baseline

    def test_tiles_and_tables_name_their_baseline(self):
        k, r = self.largest()
        expected = json.loads(lowtide("schedule", "corpus/", *NODES, "--json"))
        totals = expected["totals"]
        for baseline, other in (("production", "; source "), ("source", "")):
            page = self.path(f"{baseline}.html")
            lowtide("view", "corpus/", *NODES, "--baseline", baseline, "-o", page)
            kernels = [kernel[baseline] for kernel in expected["kernels"]]
            self.browser.open(page)
            self.assertIn(f"the {baseline} order", self.run_js("document.querySelector('#baseline').textContent"))
            self.assertEqual(self.tiles()["Waves"], change(sum(one["occupancy"] for one in kernels), totals["after"]["occupancy"]))
            self.assertEqual(self.tiles()["Cycles"], change(sum(one["length"] for one in kernels), totals["after"]["length"]))
            self.assertEqual(self.tiles()["Cycles with loops"], change(sum(one["weighted_length"] for one in kernels), totals["weighted_length"]))
            for address in ("", f"#k{k}", f"#k{k}r{r}"):
                self.browser.open(page, address)
                remarks = self.tiles("lastChild")
                for name in ("Waves", "Cycles"):
                    self.assertIn(f"against {baseline}", remarks[name], address)
                    self.assertEqual("source " in remarks[name].replace("against source", ""), bool(other and address), remarks[name])
            self.browser.open(page, f"#k{k}r{r}/listing")
            self.assertIn(f"moved from {baseline}", self.run_js("[...document.querySelectorAll('#side-by-side th.order')].at(-1).textContent"))
            self.browser.open(page, f"#k{k}r{r}/timeline")
            self.assertEqual(self.run_js("document.querySelector('select[name=before]').value"), baseline)

    # The width of a phone

    def test_nothing_is_wider_than_a_phone(self):
        self.browser.resize(WIDTHS["narrow"], 900)
        k, r = self.largest()
        for address in ("", f"#k{k}", *(f"#k{k}r{r}/{tab}/i5" for tab in TABS)):
            self.open_corpus(address)
            self.run_js("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
            self.run_js(FRAMES)
            self.assertLessEqual(self.run_js("document.documentElement.scrollWidth"), WIDTHS["narrow"], address)
            # What is wider scrolls on its own, and says so.
            for wide, hint in self.run_js("[...document.querySelectorAll('.scrollbox')].filter((box) => box.checkVisibility()).map((box) => [box.querySelector('.scroll').scrollWidth >"
                                          " box.querySelector('.scroll').clientWidth + 1, !box.querySelector('.scroll-hint').hidden])"):
                self.assertEqual(wide, hint, address)
        self.open_corpus("")
        self.assertFalse(self.run_js("document.querySelector('.scroll-hint').hidden"))
        self.browser.resize(WIDTHS["wide"], 900)
        self.browser.wait("document.querySelector('.scroll-hint').hidden")

    def test_legends_do_not_cover_charts(self):
        k, r = self.largest()
        for width in WIDTHS.values():
            self.browser.resize(width, 900)
            self.open_corpus(f"#k{k}r{r}/pressure")
            legend, grid = self.run_js("(() => { const { chart } = document.querySelector('#pressure-vgpr'); const model = chart.getModel();"
                                       " const box = chart.getViewOfComponentModel(model.getComponent('legend')).group.getBoundingRect();"
                                       " return [box.y + box.height, model.getComponent('grid').coordinateSystem.getRect().y]; })()")
            self.assertLessEqual(legend, grid, width)

    def test_the_focus_ring_is_not_around_the_page(self):
        self.open_corpus()
        self.run_js("document.querySelector('#kernels .open').focus()")
        self.browser.key("Enter")
        self.browser.wait("document.querySelector('#regions') !== null")
        self.assertEqual(self.run_js("document.activeElement.id"), "main")
        self.assertEqual(self.run_js("getComputedStyle(document.activeElement).outlineStyle"), "none")
        # What is used by keyboard still has one.
        self.browser.key("Tab")
        self.assertEqual(self.run_js("getComputedStyle(document.activeElement).outlineStyle"), "solid")

    def test_pictures_of_every_tab(self):
        """Everything draws without a complaint in both themes and widths."""
        k, r = self.largest()
        for theme in ("light", "dark"):
            self.browser.prefer(theme)
            for name, width in WIDTHS.items():
                self.browser.resize(width, 1400)
                for address in ("", f"#k{k}", *(f"#k{k}r{r}/{tab}/i500" for tab in TABS)):
                    self.open_corpus(address)
                    self.assertEqual(self.run_js("document.documentElement.dataset.theme"), theme)
                    if "SCREENSHOTS" in os.environ:
                        place = address.rsplit("/", 2)[-2] if "/" in address else address[1:2] or "all"
                        self.browser.screenshot(os.path.join(os.environ["SCREENSHOTS"], f"report-{place}-{theme}-{name}.png"), whole=False)


if __name__ == "__main__":
    unittest.main(verbosity=2)

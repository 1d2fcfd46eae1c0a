"""The report of `lowtide view` in a real browser. Usage: test_report.py LOWTIDE, from the root of the repository."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from pages import FRAMES, NODES, TABS, Pages, change, grouped, large_region, lowtide, with_bound  # noqa: E402


class Report(Pages):
    """The figures, and how the pages are used."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.production = json.loads(lowtide("schedule", "corpus/", "--algorithm", "production", "--json"))

    # The figures

    def test_kernels_have_the_figures_of_json(self):
        self.open_corpus()
        primary = "vgpr"
        expected = []
        for kernel, before in zip(self.json["kernels"], self.production["kernels"]):
            regions, befores = kernel["regions"], before["regions"]
            expected.append([
                kernel["readable_name"], grouped(len(regions)), grouped(sum(r["n"] for r in regions)),
                with_bound(before["occupancy"], kernel["occupancy"], "≤", kernel["occupancy_bound"]),
                with_bound(max(r["peak"][primary] for r in befores), max(r["peak"][primary] for r in regions), "≥",
                           max(r["peak_bound"][primary] for r in regions)),
                with_bound(sum(r["length"] for r in befores), sum(r["length"] for r in regions), "≥",
                           sum(r["length_bound"] for r in regions)),
                f"{sum(r['optimal'] for r in regions)}/{len(regions)}",
            ])
        self.assertEqual([row[:-1] for row in self.rows("kernels")], expected)

    def test_regions_have_the_figures_of_json(self):
        self.open_corpus()
        self.run_js("document.querySelector('[data-tab=regions]').click()")
        expected = []
        for kernel, before in zip(self.json["kernels"], self.production["kernels"]):
            for region, order in zip(kernel["regions"], before["regions"]):
                expected.append([
                    f"{kernel['readable_name']} {region['name']}", grouped(region["n"]),
                    with_bound(order["peak"]["vgpr"], region["peak"]["vgpr"], "≥", region["peak_bound"]["vgpr"]),
                    with_bound(order["length"], region["length"], "≥", region["length_bound"]),
                    "yes" if region["optimal"] else "no",
                ])
        found = [[row[0], row[1], row[3], row[4], row[6]] for row in self.rows("regions")]
        self.assertEqual(sorted(found), sorted(expected))

    def test_a_region_has_the_figures_of_json(self):
        k, r = self.largest()
        region = self.json["kernels"][k]["regions"][r]
        before = self.production["kernels"][k]["regions"][r]
        self.open_corpus(f"#k{k}r{r}")
        tiles = self.tiles()
        self.assertEqual(tiles["Size"], grouped(region["n"]))
        self.assertEqual(tiles["Cycles"], change(before["length"], region["length"]))
        self.assertEqual(tiles["Proven"], "yes" if region["optimal"] else "no")
        for name, peak in region["peak"].items():
            self.assertEqual(tiles[f"Peak of {name}"], change(before["peak"][name], peak))
            drawn = self.run_js(f"document.querySelector('#pressure-{name}').chart.getOption().series.find((one) => one.name === 'Lowtide')"
                                ".data.reduce((most, [, pressure]) => Math.max(most, pressure), 0)")
            self.assertEqual(drawn, peak)
        self.run_js("document.querySelector('[data-tab=listing]').click()")
        self.choose("order", "lowtide")
        listed = self.rows("listing")
        order = [int(row[2].split()[0][1:]) for row in listed]
        self.assertEqual(order, region["order"])
        self.assertEqual([int(row[1].replace(",", "")) for row in listed], [region["cycles"][instr] for instr in order])

    def test_the_front_has_the_figures_of_json(self):
        file, page = "corpus/colony/rocprim.jsonl.gz", self.path("front.html")
        for goal in ("occupancy", "throughput"):
            options = ["--goal", goal, "--front", *NODES]
            lowtide("view", file, *options, "-o", page)
            kernels = json.loads(lowtide("schedule", file, *options, "--json"))["kernels"]
            for k, kernel in enumerate(kernels):
                self.browser.open(page, f"#k{k}")
                series = {one["name"]: one["data"] for one in self.run_js(
                    "document.querySelector('#front').chart.getOption().series.map(({ name, data }) => ({ name, data }))")}
                total = lambda point, key: sum(region[key] for region in point["regions"])  # noqa: E731
                for name, figure in (
                    ("length", lambda point: total(point, "length")), ("bound on the length", lambda point: total(point, "length_bound")),
                    ("cycles per wave", lambda point: point["cycles_per_wave"]), ("bound on the cycles", lambda point: point["cycles_per_wave_bound"]),
                ):
                    self.assertEqual(series[name], [[str(point["waves"]), figure(point)] for point in kernel["front"]], name)
                self.assertEqual(series["Lowtide"], [[str(kernel["occupancy"]), sum(region["length"] for region in kernel["regions"])]])
                # No order is below the front.
                [[waves, length]] = series["Production"]
                point = next(point for point in kernel["front"] if point["waves"] == int(waves))
                self.assertGreaterEqual(length, total(point, "length"))
                tiles = self.tiles()
                self.assertEqual(tiles["Cycles per wave"], f"{kernel['cycles_per_wave']:,.1f}")
        self.run_js("document.querySelector('#front').chart.dispatchAction({ type: 'showTip', seriesIndex: 0, dataIndex: 0 })")
        self.browser.wait("document.querySelector('#front').textContent.includes('cycles per wave ')")
        self.check_rules(f"#k{k}")

    def test_there_is_no_front_unless_asked_for(self):
        self.open_corpus("#k0")
        self.assertIsNone(self.run_js("document.querySelector('#front')"))

    def test_a_kernel_of_one_region_opens_with_its_front(self):
        with open(self.path("one.jsonl"), "w", encoding="utf-8") as file:
            json.dump(large_region(50), file)
        lowtide("view", self.path("one.jsonl"), "--front", *NODES, "-o", self.path("one.html"))
        self.browser.open(self.path("one.html"))
        self.assertEqual(self.run_js("location.hash"), "#k0")
        self.assertTrue(self.run_js("document.querySelector('#front canvas') !== null"))
        # Without a recorded order, there is no such mark.
        names = self.run_js("document.querySelector('#front').chart.getOption().series.map(({ name }) => name)")
        self.assertNotIn("Production", names)

    def test_what_is_drawn_is_what_was_scheduled(self):
        """Orders, cycles, pressures, live values and cuts of all regions, counted anew from what the page holds."""
        self.open_corpus()
        # The script has led back from regions to kernels, which JSON cannot.
        overview = json.loads(self.run_js("lowtide.readPart(0).then((all) => JSON.stringify(all, (key, value) => (key === 'kernel' ? undefined : value)))"))
        count = sum(len(kernel["regions"]) for kernel in overview["kernels"])
        parts = max(region["part"] for kernel in overview["kernels"] for region in kernel["regions"])
        self.assertLess(parts, count)
        details = self.run_js(f"Promise.all(Array.from({{ length: {parts} }}, (_, part) => lowtide.readPart(part + 1)))")
        for kernel, shown in zip(self.json["kernels"], overview["kernels"]):
            for region, entry in zip(kernel["regions"], shown["regions"]):
                detail = details[entry["part"] - 1][entry["entry"]]
                after = next(s for s in detail["schedules"] if s["name"] == "lowtide")
                self.assertEqual((after["order"], after["cycles"]), (region["order"], region["cycles"]))
                values = list(zip(*(detail["values"][key] for key in ("class", "weight", "def", "live_out", "uses"))))
                for number, name in enumerate(entry["classes"]):
                    own = [value for value in values if value[0] == number]
                    for schedule in detail["schedules"]:
                        self.assertEqual(self.pressure(own, detail["through"][number], schedule["order"]), schedule["pressure"][number])
                    self.assertEqual(max(after["pressure"][number]), region["peak"][name])
                    if cut := detail["cuts"][number]:
                        self.check_cut(own, detail, number, cut, region["peak_bound"][name])

    @staticmethod
    def pressure(values, through, order):
        place = {instr: position for position, instr in enumerate(order)}
        steps = [0] * (len(order) + 2)
        for _, weight, definition, live_out, uses in values:
            first = 0 if definition is None else place[definition] + 1
            last = len(order) if live_out else max(place[use] for use in uses)
            steps[first] += weight
            steps[last + 1] -= weight
        pressure, now = [], through
        for step in steps[:-1]:
            now += step
            pressure.append(now)
        return pressure

    def check_cut(self, values, detail, number, cut, bound):
        issued = set(cut["issued"])
        edges = zip(detail["edges"]["from"], detail["edges"]["to"])
        self.assertTrue(all(start in issued for start, end in edges if end in issued), "what is issued needs what is not")
        live = sum(weight for _, weight, definition, live_out, uses in values
                   if (definition is None or definition in issued) and (live_out or any(use not in issued for use in uses)))
        self.assertEqual(live + detail["through"][number], cut["pressure"])
        self.assertGreaterEqual(cut["pressure"], bound)

    # How it is used

    def test_every_tab_draws_in_both_themes(self):
        k, r = self.largest()
        pictures = {}
        for theme in ("light", "dark"):
            self.browser.prefer(theme)
            for tab in TABS:
                self.open_corpus(f"#k{k}r{r}/{tab}")
                panel = f"document.querySelector('[data-panel={tab}]')"
                self.assertFalse(self.run_js(f"{panel}.hidden"), tab)
                self.assertEqual(self.run_js("[...document.querySelectorAll('[role=tabpanel]')].filter((one) => !one.hidden).length"), 1)
                if tab not in ("bounds", "listing", "graph"):
                    # Something is drawn: the canvas is not of one colour.
                    colours = self.run_js(
                        f"(() => {{ const canvas = {panel}.querySelector('canvas'); const {{ data }} = canvas.getContext('2d')"
                        ".getImageData(0, 0, canvas.width, canvas.height); const seen = new Set(); for (let i = 0; i < data.length; i += 4)"
                        " seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]); return seen.size; })()")
                    self.assertGreater(colours, 8, f"{tab} is empty")
                pictures[theme, tab] = self.run_js("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(len({pictures[theme, tab] for tab in TABS}), 1)
        self.assertNotEqual(pictures["light", "graph"], pictures["dark", "graph"])

    def test_the_theme_can_be_switched_and_is_readable(self):
        self.open_corpus("#k0r0")
        for theme in ("dark", "light"):
            self.run_js(f"(() => {{ const field = document.querySelector('#theme'); field.value = '{theme}';"
                        " field.dispatchEvent(new Event('change')); })()")
            self.assertEqual(self.run_js("document.documentElement.dataset.theme"), theme)
            colours = self.run_js("Object.fromEntries(['surface', 'panel', 'ink', 'muted', 'accent', 'source', 'production', 'after', 'bound', 'peak',"
                                  " 'step', 'stall'].map((name) => [name, lowtide.colour(name)]))")
            for ground in ("surface", "panel"):
                for text in ("ink", "muted", "accent"):
                    self.assertGreater(contrast(colours[text], colours[ground]), 4.5, f"{theme}: {text} on {ground}")
            for text in ("source", "production", "after", "bound", "peak"):
                self.assertGreater(contrast(colours[text], colours["surface"]), 4.5, f"{theme}: {text}")
            self.assertGreater(contrast(colours["step"], colours["surface"]), 3, theme)
        self.run_js("(() => { const field = document.querySelector('#theme'); field.value = 'auto'; field.dispatchEvent(new Event('change')); })()")

    def test_tables_sort(self):
        self.open_corpus()
        sizes = lambda: [int(row[2].replace(",", "")) for row in self.rows("kernels")]  # noqa: E731
        head = "document.querySelectorAll('#kernels thead th')[2]"
        self.assertNotEqual(sizes(), sorted(sizes(), reverse=True))
        self.run_js(f"{head}.querySelector('button').click()")
        self.assertEqual(sizes(), sorted(sizes(), reverse=True))
        self.assertEqual(self.run_js(f"{head}.getAttribute('aria-sort')"), "descending")
        self.run_js(f"{head}.querySelector('button').click()")
        self.assertEqual(sizes(), sorted(sizes()))
        self.assertEqual(self.run_js(f"{head}.getAttribute('aria-sort')"), "ascending")
        self.run_js("(() => { const field = document.querySelector('input[type=search]'); field.value = 'M00';"
                    " field.dispatchEvent(new Event('input')); })()")
        names = [row[0] for row in self.rows("kernels")]
        self.assertEqual(sorted(names), sorted(k["name"] for k in self.json["kernels"] if "m00" in k["name"].lower()))

    def test_everything_works_by_keyboard(self):
        self.open_corpus()
        press = self.browser.key
        focused = lambda: self.run_js("document.activeElement.textContent")  # noqa: E731
        self.run_js("document.querySelector('#kernels thead button').focus()")
        press("Enter")
        self.assertEqual(self.run_js("document.querySelector('#kernels thead th').getAttribute('aria-sort')"), "ascending")
        for _ in range(8):
            press("Tab")
        rows = self.rows("kernels")
        self.assertEqual(focused(), rows[0][0])
        press("ArrowDown")
        self.assertEqual(focused(), rows[1][0])
        press("End")
        self.assertEqual(focused(), rows[-1][0])
        press("Enter")
        self.browser.wait("document.querySelector('#regions') !== null && document.querySelector('h2') !== null")
        self.assertEqual(self.run_js("document.querySelector('h2').textContent"), rows[-1][0])
        self.run_js("document.querySelector('#regions .open').focus()")
        press("Enter")
        self.browser.wait("document.querySelector('[data-panel=pressure] canvas') !== null")
        self.run_js("document.querySelector('[data-tab=pressure]').focus()")
        for tab in TABS[1:] + TABS[:1]:
            press("ArrowRight")
            self.assertEqual(self.run_js("document.activeElement.dataset.tab"), tab)
            self.assertFalse(self.run_js(f"document.querySelector('[data-panel={tab}]').hidden"))
        # Back, as everywhere in a browser.
        self.run_js("history.back()")
        self.browser.wait("document.querySelector('#regions') !== null")

    def test_charts_zoom(self):
        k, r = self.largest()
        for tab, chart in (("pressure", "pressure-vgpr"), ("timeline", "timeline"), ("ranges", "ranges")):
            self.open_corpus(f"#k{k}r{r}/{tab}")
            self.assertEqual(self.zoom_of(chart)[0], 100)
            self.run_js(f"document.querySelector('#{chart}').focus()")
            self.browser.key("+")
            self.browser.key("+")
            self.assertAlmostEqual(self.zoom_of(chart)[0], 25, delta=0.5, msg=chart)
            self.browser.key("ArrowRight")
            start = self.run_js(f"document.querySelector('#{chart}').chart.getOption().dataZoom[0].start")
            self.assertAlmostEqual(start, 37.5 + 25 / 4, delta=0.5, msg=chart)
            self.run_js(f"document.querySelector('#{chart}').closest('figure').querySelector('[data-zoom=\"-\"]').click()")
            self.assertAlmostEqual(self.zoom_of(chart)[0], 50, delta=0.5, msg=chart)
            self.browser.key("0")
            self.assertEqual(self.zoom_of(chart)[0], 100)

    def test_the_wheel_zooms_charts_that_have_the_focus(self):
        """With Ctrl it zooms any chart; otherwise it scrolls the page."""
        k, r = self.largest()
        for tab, chart in (("pressure", "pressure-vgpr"), ("timeline", "timeline"), ("ranges", "ranges")):
            box = f"document.querySelector('#{chart}')"
            zoomed = f"{box}.chart.getOption().dataZoom.some(({{start, end}}) => end - start < 99)"
            for prepare, modifiers, zooms in (("document.activeElement.blur()", 0, False), (f"{box}.focus()", 0, True), ("document.activeElement.blur()", 2, True)):
                self.open_corpus(f"#k{k}r{r}/{tab}")
                self.run_js(prepare)
                self.run_js(f"{box}.scrollIntoView({{ block: 'center' }})")
                x, y, top = self.run_js(f"(() => {{ const box = {box}.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 5, scrollY]; }})()")
                self.browser.wheel(x, y, -120, modifiers)
                self.browser.wait(zoomed if zooms else f"scrollY < {top}")
                self.assertEqual(self.run_js(zoomed), zooms, chart)

    def test_charts_tell_what_is_under_the_pointer(self):
        k, r = self.largest()
        for tab, chart, series, expected in (
            ("pressure", "pressure-vgpr", 0, "Lowtide: "), ("timeline", "timeline", 1, "Lowtide: cycle "), ("ranges", "ranges", 0, ", weight "),
            ("search", "search-0", 0, "best: "),
        ):
            self.open_corpus(f"#k{k}r{r}/{tab}")
            self.run_js(f"document.querySelector('#{chart}').chart.dispatchAction({{ type: 'showTip', seriesIndex: {series}, dataIndex: 1 }})")
            self.browser.wait(f"document.querySelector('#{chart}').textContent.includes('{expected}')")

    def test_the_graph_marks_peaks_and_cuts(self):
        k, r = self.largest()
        region = self.json["kernels"][k]["regions"][r]
        self.open_corpus(f"#k{k}r{r}/graph")
        text = "document.querySelector('#graph-mark').textContent"
        self.assertIn(f"Peak of {region['peak']['vgpr']} vgpr", self.run_js(text))
        self.run_js("document.querySelector('[data-tab=bounds]').click()")
        self.run_js("document.querySelector('[data-cut=vgpr]').click()")
        self.assertFalse(self.run_js("document.querySelector('[data-panel=graph]').hidden"))
        self.assertIn(f"No order needs fewer than {region['peak_bound']['vgpr']} vgpr", self.run_js(text))
        self.assertGreater(self.run_js("document.querySelectorAll('#graph g.hot').length"), 0)
        self.assertGreater(self.run_js("document.querySelectorAll('#graph g.moment').length"), 0)

    def test_it_is_accessible(self):
        # One that is quickly looked through; the rules do not care for its size.
        k, r = next((k, r) for k, kernel in enumerate(self.json["kernels"]) for r, region in enumerate(kernel["regions"])
                    if 20 <= region["n"] <= 60 and region["searches"])
        for address in ["", f"#k{k}", *(f"#k{k}r{r}/{tab}/i5" for tab in TABS)]:
            # The same elements in other colours: of each kind of page one is enough.
            for theme in ("light", "dark") if address in ("", f"#k{k}r{r}/bounds/i5", f"#k{k}r{r}/graph/i5") else ("light",):
                self.browser.prefer(theme)
                self.open_corpus(address)
                self.check_rules(f"{address} {theme}")

    # What must not happen

    def test_names_are_text(self):
        region = large_region(5)
        region["kernel"] = "</script><img src=x onerror=alert(1)><!--"
        region["instructions"][1]["op"] = "<b>mad</b>"
        with open(self.path("names.jsonl"), "w", encoding="utf-8") as file:
            json.dump(region, file)
        lowtide("view", self.path("names.jsonl"), "-o", self.path("names.html"))
        self.browser.open(self.path("names.html"), "#k0")
        self.assertEqual(self.run_js("document.querySelector('h2').textContent"), region["kernel"])
        self.assertEqual(self.run_js("document.querySelectorAll('img').length"), 0)
        for tab, element in (("listing", "side-by-side"), ("graph", "graph")):
            self.browser.open(self.path("names.html"), f"#k0r0/{tab}/i1")
            self.assertIn("<b>mad</b>", self.run_js(f"document.querySelector('#{element}').textContent"))
            self.assertIn("<b>mad</b>", self.run_js("document.querySelector('#selected').textContent"))

    def test_large_regions_open_at_once(self):
        with open(self.path("large.jsonl"), "w", encoding="utf-8") as file:
            json.dump(large_region(6000), file)
        page = self.path("large.html")
        lowtide("view", self.path("large.jsonl"), *NODES, "-o", page)
        self.assertLess(os.path.getsize(page), 10_000_000)
        seconds = self.browser.least(lambda: self.browser.open(page), 3)
        self.assertEqual(self.run_js("document.querySelector('.tile dd').firstChild.textContent"), "6,000")
        self.assertLess(seconds, 3)
        for tab in TABS[1:]:
            def of_tab():
                self.browser.open(page)
                return self.run_js(f"(async () => {{ const start = performance.now(); document.querySelector('[data-tab={tab}]').click();"
                                   f" await {FRAMES}; return performance.now() - start; }})()") / 1000
            self.assertLess(self.browser.least(of_tab, 6), 6, tab)
        print(f"\na region of 6,000 instructions: {os.path.getsize(page) / 1e6:.1f} MB, drawn in {seconds:.1f} s")


def contrast(one, other):
    """The contrast of two colours by the rules of WCAG, from 1 to 21."""
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""A picture of the largest region of a report. Usage: picture.py PAGE PNG."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402

with Browser(width=1200, height=1040) as browser:
    browser.prefer("light")
    browser.open(sys.argv[1], "#k0")
    # Regions are sorted by size.
    browser.run("document.querySelector('#regions .open').click()")
    browser.wait("document.querySelector('[data-panel=pressure] canvas') !== null")
    browser.run("new Promise((done) => setTimeout(() => done(true), 300))")
    browser.screenshot(sys.argv[2], whole=False)
    if browser.errors:
        sys.exit("\n".join(browser.errors))

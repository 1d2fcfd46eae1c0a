"""A headless Chromium, driven over a pipe by its own protocol (DevTools): needs nothing but Python and Chromium."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


# Some arithmetic, and the milliseconds that it takes at most on an idle machine of today.
ARITHMETIC = """(() => { const start = performance.now(); let x = 1;
    for (let i = 0; i < 5e7; i++) { x ^= x << 13; x ^= x >>> 17; x ^= x << 5; }
    return x === 0 ? 0 : performance.now() - start; })()"""
MILLISECONDS = 150


class BrowserError(Exception):
    """The browser says no, or does not answer."""


def find_chromium():
    """The first Chromium or Chrome on this machine; none if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    """One page of a headless browser. Collects everything that goes wrong on it in `errors`."""

    def __init__(self, width=1400, height=1000):
        self.profile = tempfile.mkdtemp(prefix="lowtide-browser-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            find_chromium(), "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars",
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
            "--no-sandbox",  # as root, there is no other way; all that is opened are our own pages
            f"--window-size={width},{height}", f"--user-data-dir={self.profile}", "about:blank",
        ]

        def place():
            # The browser reads commands from 3 and writes answers to 4; copies first, since the two may be taken.
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            command, preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = None
        self._events = []
        self.errors = []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._session = None
            self.call("Browser.close")
            self._process.wait(10)
        except (BrowserError, subprocess.TimeoutExpired):
            self._process.kill()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise BrowserError("the browser does not answer")
            part = os.read(self._in, 1 << 20)
            if not part:
                raise BrowserError("the browser has ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self._event(message["method"], message["params"])
        return message

    def _event(self, method, params):
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            # A page from disk asks for itself and for nothing else.
            url = params["request"]["url"]
            if not url.startswith(("file:", "about:", "data:", "blob:")):
                self.errors.append(f"the page asks for {url}")

    def call(self, method, timeout=60, **params):
        """Calls a method of the protocol and gives its result."""
        self._number += 1
        request = {"id": self._number, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._out, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            message = self._receive(deadline)
            if message.get("id") == self._number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']['message']}")
                return message["result"]

    def resize(self, width, height):
        """Gives the page this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, theme):
        """What the system wants: light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, path, address=""):
        """Opens a page from disk and waits until it is ready; gives the seconds that took, drawing included."""
        self.call("Page.navigate", url="about:blank")
        start = time.monotonic()
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}{address}")
        self.wait("document.documentElement?.dataset.ready === 'true'")
        # Two frames: the first one may have begun before all was in its place.
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        return time.monotonic() - start

    def least(self, measure, limit, tries=5):
        """The least seconds that `measure` gives. It is called again while they are over the limit: other work on the machine is
        not the page's fault. On a machine that is slow at arithmetic at the same moment, seconds count less."""
        least = float("inf")
        for _ in range(tries):
            before, seconds, after = self.run(ARITHMETIC), measure(), self.run(ARITHMETIC)
            least = min(least, seconds / max(1, before / MILLISECONDS, after / MILLISECONDS))
            if least < limit:
                break
        return least

    def run(self, script, timeout=60):
        """The value of an expression on the page, also of one that takes its time."""
        result = self.call("Runtime.evaluate", timeout, expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait(self, condition, timeout=30):
        """Waits until a condition holds on the page."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                if self.run(condition):
                    return
            except BrowserError as error:
                # While a page gives way to the next one.
                if "context" not in str(error).lower():
                    raise
            if time.monotonic() > deadline:
                raise BrowserError(f"this did not come true: {condition}")
            time.sleep(0.01)

    def key(self, key, modifiers=0):
        """Presses a key: one character, or a name such as Tab."""
        codes = {"Tab": 9, "Enter": 13, "Home": 36, "End": 35, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        event = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        down = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event, **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def click(self, x, y):
        """Clicks a place of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none", clickCount=1)

    def wheel(self, x, y, down, modifiers=0):
        """Turns the wheel; modifiers: 2 is Ctrl, 8 is Shift."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down, modifiers=modifiers)

    def screenshot(self, path, whole=True):
        """Writes a picture of the page, as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

"""A headless Chromium on a pipe, spoken to in its own protocol: no driver, no port, no package."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "headless_shell")
PROGRAM = os.environ.get("FINGERPRINT_BROWSER", next(filter(None, map(shutil.which, NAMES)), ""))
needs_browser = pytest.mark.skipif(not PROGRAM, reason=f"no browser: none of {', '.join(NAMES)} is on the PATH")
SECONDS = 60


class Browser:
    """One page of it. told: what the page's scripts, its policy and its network had to say."""

    def __init__(self, to: int, from_: int) -> None:
        self._to, self._from = to, from_
        self._rest = b""
        self._number = 0
        self._session: dict[str, str] = {}
        self.told: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, /, **params: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params, **self._session}
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, f"{method}: {answer}"
        return dict(answer["result"])

    def open(self, page: Path, *, width: int, height: int = 800, dark: bool = False) -> None:
        """Waits until it is loaded."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", media="", features=[scheme])
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.told, self.requests, self._loaded = [], [], False
        self("Page.navigate", url=page.as_uri())
        while not self._loaded:
            self._note(self._next())

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """All of the page, as PNG."""
        return b64decode(self("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def pdf(self) -> bytes:
        return b64decode(self("Page.printToPDF", printBackground=False)["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._from, 1 << 16)
            assert more, "the browser ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        self._loaded = self._loaded or method == "Page.loadEventFired"
        if method == "Log.entryAdded":
            self.told.append(params["entry"]["text"])
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening"):
            self.told.append(json.dumps(params))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


@contextmanager
def browser() -> Iterator[Browser]:
    """Started, and ended with all that it has started."""
    theirs_in, to = _pipe()
    from_, theirs_out = _pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = _started(profile, theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            opened = Browser(to, from_)
            yield opened
        finally:
            os.close(to)
            os.close(from_)
            process.kill()
            process.wait(SECONDS)


def _pipe() -> tuple[int, int]:
    """Of descriptors above those that the browser's are moved to."""
    low = os.pipe()
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in low]
    for fd in low:
        os.close(fd)
    return high[0], high[1]


_ON_3_AND_4 = """
import os, sys
commands, answers, *argv = sys.argv[1:]
os.dup2(int(commands), 3)
os.dup2(int(answers), 4)
os.execv(argv[0], argv)
"""


def _started(profile: str, commands: int, answers: int) -> "subprocess.Popen[bytes]":
    """It reads commands from descriptor 3 and answers on 4. It has no sandbox, which root in a container cannot have;
    the only pages that it opens are ours."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             f"--user-data-dir={profile}")  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-Ic", _ON_3_AND_4, str(commands), str(answers), PROGRAM, *flags],
        pass_fds=(commands, answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": profile},
    )  # fmt: skip

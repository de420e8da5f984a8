"""A headless Chromium that tests drive through its DevTools pipe: no port, no network, no driver program."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
ANSWER_S = 60


class Browser:
    """One page. ``problems``: what the page complained about: errors of scripts, and what its policy refused."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._rest, self._number = commands, answers, b"", 0
        self._session = ""
        self.problems: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, path: Path, width: int = 1280, height: int = 800, *, dark: bool = False, anchor: str = "") -> None:
        """Load a file and wait until its scripts ran."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                   mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=f"{path.as_uri()}{anchor}")
        until = time.monotonic() + ANSWER_S
        while self.value("location.protocol + document.readyState") != "file:complete":
            if time.monotonic() > until:
                raise TimeoutError(path)

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is waited for."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as if somebody typed it."""
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def drag(self, x1: float, x2: float, y: float) -> None:
        """The mouse, pressed at one place and released at another."""
        for kind, x in (("mousePressed", x1), ("mouseMoved", (x1 + x2) / 2), ("mouseMoved", x2), ("mouseReleased", x2)):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def pdf(self, path: Path) -> None:
        """The page as it is printed."""
        path.write_bytes(base64.b64decode(self._call("Page.printToPDF", printBackground=False)["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + ANSWER_S
        while True:
            told = self._message(until)
            if told.get("id") == self._number:
                if "error" in told:
                    raise AssertionError(f"{method}: {told['error']}")
                result: dict[str, Any] = told["result"]
                return result
            self._note(told)

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise ConnectionError("the browser ended")
            self._rest += read
        one, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(str(event["params"]["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"):
            self.problems.append(event["params"]["entry"]["text"])
        elif event.get("method") == "Page.javascriptDialogOpening":
            self.problems.append("a dialog opened")


@contextmanager
def browser() -> Iterator[Browser]:
    """A new browser with a profile of its own, which ends with the block."""
    ours, theirs = _pipe(), _pipe()  # commands to the browser, answers from it
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # the browser reads commands from descriptor 3 and writes answers to descriptor 4
        script = f'exec "$0" "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        process = subprocess.Popen(
            ["bash", "-c", script, str(CHROMIUM), *ARGUMENTS, f"--user-data-dir={profile}"],
            pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        try:
            yield Browser(ours[1], theirs[0])
        finally:
            os.close(ours[1])
            os.close(theirs[0])
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _pipe() -> tuple[int, int]:
    """Descriptors above those that the browser reads and writes, so that none of them is overwritten."""
    low = os.pipe()
    read, write = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in low)
    for one in low:
        os.close(one)
    return read, write

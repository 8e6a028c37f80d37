"""Headless Chromium, if it is installed, to measure the layout of pages, report their errors and use them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import shutil
import subprocess
from bisect import bisect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHOSEN = os.environ.get("SYNPARSE_BROWSER")  # path of a browser, or "none"
BROWSER = (None if CHOSEN == "none" else CHOSEN) if CHOSEN else next(filter(None, map(shutil.which, NAMES)), None)


def _has_fonts() -> bool:
    """Whether the preferred fonts of drawings are installed. Others may be wider than the measured ones."""
    if BROWSER is None or not shutil.which("fc-list"):
        return False
    known = subprocess.run(["fc-list", ":", "family"], capture_output=True, text=True, timeout=60).stdout
    return all(name in known for name in ("Noto Sans", "Noto Sans Thai", "Noto Sans CJK SC"))


needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here (Debian: apt-get install chromium)")
needs_fonts = pytest.mark.skipif(not _has_fonts(), reason="needs chromium, fonts-noto-core and fonts-noto-cjk")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000")
TIMEOUT_SECONDS = 100
MEASURE = """
<script>
window.addEventListener('load', () => {
  const result = [];
  for (const svg of document.querySelectorAll('svg')) {
    const box = element => { const b = element.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
    const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getAttribute('class'), box(t)]);
    const lines = [...svg.querySelectorAll('path')].map(p => {
      const points = [], frame = svg.getBoundingClientRect();
      for (let at = 0; at <= p.getTotalLength(); at += 5) {
        const q = p.getPointAtLength(at); points.push([q.x + frame.left, q.y + frame.top]);
      }
      return points;
    });
    result.push({frame: box(svg), texts, lines});
  }
  const out = document.createElement('pre'); out.id = 'measured'; out.textContent = JSON.stringify(result);
  document.body.appendChild(out);
});
</script>
"""


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the browser once."""
    assert BROWSER
    return subprocess.run([BROWSER, *OPTIONS, *arguments], capture_output=True, text=True, timeout=400)


def measured(markup: str, folder: Path) -> list[dict[str, Any]]:
    """Frame, texts with class and box, and points along the lines of each svg element in ``markup``."""
    path = folder / "measured.html"
    path.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{markup}{MEASURE}</body>', encoding="utf-8")
    done = call("--dump-dom", path.as_uri())
    match = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match, done.stderr
    return json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


class Browser:
    """A browser with one page, controlled by the DevTools protocol through pipes.

    ``problems`` are the errors and messages of the console since the page was opened. Downloads go to ``folder``.
    """

    def __init__(self, folder: Path) -> None:
        assert BROWSER
        self.folder, self.problems = folder, list[str]()
        pipes = [*os.pipe(), *os.pipe()]
        inner_read, self._write, self._read, inner_write = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in pipes)
        for end in pipes:
            os.close(end)
        flags = [*OPTIONS[:4], "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "about:blank"]
        script = f'exec "$@" 3<&{inner_read} 4>&{inner_write}'  # the numbers that the browser expects
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", BROWSER, *flags],
            pass_fds=(inner_read, inner_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(inner_read)
        os.close(inner_write)
        self._buffer, self._count, self._session, self._downloads = b"", 0, "", 0
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait(60)
        os.close(self._read)
        os.close(self._write)

    def _message(self) -> dict[str, Any]:
        """The next message of the browser. Problems in the page are stored."""
        while b"\0" not in self._buffer:
            assert select.select([self._read], [], [], TIMEOUT_SECONDS)[0], "the browser does not answer"
            data = os.read(self._read, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.problems.append(json.dumps(message["params"]))
        if message.get("method") == "Browser.downloadProgress":
            self._downloads += message["params"]["state"] == "completed"
        return message

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._until(lambda answer: answer.get("id") == self._count)["result"]

    def _until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while not condition(message := self._message()):
            pass
        return message

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.problems.clear()
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.folder), eventsEnabled=True)
        self.send("Page.navigate", url=path.as_uri())
        self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript. Raises AssertionError if it fails."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, *, code: int = 0, text: str = "") -> None:
        """Press and release a key, such as Tab (9), Enter (13) or a space (32)."""
        event = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text: str) -> None:
        """Type text into the element that has the focus."""
        self.send("Input.insertText", text=text)

    def downloaded(self, name: str) -> str:
        """The content of a file whose download was just started."""
        while not self._downloads:
            self._message()
        self._downloads -= 1
        path = self.folder / name
        text = path.read_bytes().decode("utf-8")
        path.unlink()
        return text


def overlaps(texts: list[Any], slack: float = 0.5) -> list[tuple[str, str]]:
    """The pairs of texts whose boxes overlap by more than ``slack`` pixels. Boxes are cut to the height of letters."""
    boxes = [(text, _inked(box)) for text, _, box in texts]
    boxes.sort(key=lambda item: item[1][0])
    pairs = []
    for index, (text, (_, top, right, bottom)) in enumerate(boxes):
        for other, (start, other_top, _, other_bottom) in boxes[index + 1 :]:
            if start > right - slack:
                break
            if min(bottom, other_bottom) - max(top, other_top) > slack:
                pairs.append((text, other))
    return pairs


def struck(texts: list[Any], lines: list[Any]) -> list[str]:
    """The texts that a line runs through."""
    points = sorted((x, y) for line in lines for x, y in line)
    crossed = []
    for text, _, box in texts:
        left, top, right, bottom = _inked(box)
        nearby = points[bisect(points, (left + 1, 0.0)) : bisect(points, (right - 1, 0.0))]
        if any(top + 1 < y < bottom - 1 for _, y in nearby):
            crossed.append(text)
    return crossed


def outside(texts: list[Any], frame: list[float]) -> list[str]:
    """The texts that are not within the frame."""
    left, top, right, bottom = frame
    return [
        text for text, _, box in texts if box[0] < left or box[2] > right or _inked(box)[1] < top or box[3] > bottom + 1
    ]


def _inked(box: list[float]) -> tuple[float, float, float, float]:
    """The part of a text box that letters fill, without the room for accents above and below."""
    left, top, right, bottom = box
    height = bottom - top
    return left, top + 0.22 * height, right, bottom - 0.2 * height

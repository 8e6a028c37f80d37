"""Headless Chromium, if it is installed, to measure the layout of pages and report their errors."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from bisect import bisect
from pathlib import Path
from typing import Any

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
    result: list[dict[str, Any]] = json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return result


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

"""The pictures of docs/how-to/draw-and-report.md: its commands, run one after another, and their output.

``python -m tests.support.gallery`` runs them and stores the pictures in ``docs/pictures``, with the picture of the page
that ``synparse browse`` writes for the example of docs/how-to/search.md.
"""

from __future__ import annotations

import base64
import contextlib
import io
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from cli.main import run
from tests.support.browser import Browser
from tests.support.pages import examples, fences
from tests.support.reference import ROOT

PAGE = "docs/how-to/draw-and-report.md"
PICTURES = ROOT / "docs" / "pictures"


def make() -> dict[str, str]:
    """Run every command in the current folder: command -> its output. Raises AssertionError if one fails."""
    printed = {}
    for command in "".join(fences(PAGE)).splitlines():
        if command.startswith("printf "):
            subprocess.run(["bash", "-c", command], check=True)
            continue
        program, *arguments = shlex.split(command)
        assert program == "synparse", command
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert run(arguments) == 0, command
        printed[command] = out.getvalue()
    return printed


def picture_names() -> list[str]:
    """The names of the pictures on the page."""
    return re.findall(r"\]\(\.\./pictures/([\w.-]+)\)", (ROOT / PAGE).read_text(encoding="utf-8"))


def terminal() -> str:
    """The terminal output on the page."""
    (text,) = fences(PAGE, "text")
    return text


SEARCH_PAGE, SEARCH_PICTURE, WIDTH = "docs/how-to/search.md", "browse.png", 860
SEARCH = """
element('mode').value = 'pattern';
element('mode').dispatchEvent(new Event('change'));
element('query').value = 'NP < DT';
runSearch();
document.querySelector('.detail button').click();
"""


def search_picture(folder: Path) -> tuple[bytes, str]:
    """PNG picture of the page of the example treebank after a search, and the text on the page."""
    with contextlib.chdir(folder):  # the page shows the path of the input
        for command, _ in examples(SEARCH_PAGE)[:2]:
            subprocess.run(["bash", "-c", command], check=True)
        assert run(["browse", "pets.trees", "-o", "pets.html"]) == 0
    with Browser(folder) as browser:
        browser.open(folder / "pets.html")
        browser.value(SEARCH)
        height = browser.value("document.documentElement.scrollHeight")
        browser.send(
            "Emulation.setDeviceMetricsOverride", width=WIDTH, height=height, deviceScaleFactor=1, mobile=False
        )
        picture = browser.send("Page.captureScreenshot", format="png")
        return base64.b64decode(picture["data"]), str(browser.value("document.body.innerText"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        (PICTURES / SEARCH_PICTURE).write_bytes(search_picture(Path(folder))[0])
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        printed = make()
        for name in picture_names():
            shutil.copy(name, PICTURES / name)
    print(next(text for command, text in printed.items() if "--width" in command))

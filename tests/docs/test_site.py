"""The documentation as a site: every link leads somewhere, and nothing is loaded from outside."""

from __future__ import annotations

import re
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from cli.main import COMMANDS
from induce.registry import MODELS
from tests.support.browser import Browser, needs_browser
from tests.support.reference import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built so that any warning (a link to nowhere, say) is an error."""
    pytest.importorskip("mkdocs", reason="the site needs the extra docs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_nothing_is_loaded_from_outside(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|img|iframe)[^>]* src=.(?:https?:)?//", text), page
        assert not re.search(r"<link[^>]* href=.(?:https?:)?//", text), page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_generated_pages_exist(site: Path) -> None:
    options = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert all(f'id="synparse-{name}"' in options for name in COMMANDS)
    settings = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    assert all(f'id="model-{name}"' in settings for name in MODELS)
    assert "size of the vocabulary" in settings
    functions = (site / "reference" / "api.html").read_text(encoding="utf-8")
    assert "synparse.evaluate(gold: Any" in functions
    assert all(f'id="{name}"' in functions for name in ("tree", "treefrom_spans", "modelparserparse", "modelloss"))
    tour = (site / "tutorials" / "tour.html").read_text(encoding="utf-8")
    assert tour.count("<svg") >= 4
    assert 'href="tour.ipynb"' in tour
    assert "tutorials/tour.html" in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "source" / "induce" / "models" / "language" / "onlstm.py.html").exists()


@needs_browser
def test_color_menu_works(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(site / "index.html")
        for mode in ("dark", "light"):
            browser.value(f"document.querySelector('[data-bs-theme-value={mode}]').click()")
            assert browser.value("document.documentElement.getAttribute('data-bs-theme')") == mode
        assert not [problem for problem in browser.problems if "darkmode" in problem]


@needs_browser
def test_blocks_of_code_have_a_button_to_copy(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(site / "index.html")
        counts = [browser.value(f"document.querySelectorAll('{name}').length") for name in ("pre > code", ".copy")]
        assert counts[0] == counts[1] > 0


@needs_browser
def test_search_accepts_options(site: Path, tmp_path: Path) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, Browser(tmp_path) as browser:
        Thread(target=server.serve_forever, daemon=True).start()
        browser.send("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/index.html?q=--max-minutes")
        script = "[...document.querySelectorAll('#mkdocs-search-results a')].map(link => link.textContent)"
        for _ in range(300):
            if titles := browser.value(script):
                break
            time.sleep(0.1)
        server.shutdown()
    assert "Train a model" in titles
    assert not [problem for problem in browser.problems if "QueryParseError" in problem]


@needs_browser
def test_narrow_menu_opens_and_scrolls(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.send("Emulation.setDeviceMetricsOverride", width=400, height=700, deviceScaleFactor=1, mobile=True)
        browser.open(site / "index.html")
        for selector in (".navbar-toggler", ".navbar .dropdown-toggle", ".navbar .dropdown-submenu > a"):
            browser.value(f"document.querySelectorAll('{selector}').forEach(element => element.click())")
            time.sleep(0.5)
        menu = "document.querySelector('.navbar-collapse.show')"
        assert browser.value(f"getComputedStyle({menu}).overflowY") == "auto"  # a long menu scrolls
        assert browser.value(f"{menu}.getBoundingClientRect().bottom <= innerHeight + 1")
        assert not [problem for problem in browser.problems if "search/main.js" not in problem]  # it needs a server


def test_anchors_begin_with_a_letter(site: Path) -> None:
    """Other anchors stop the scripts of the theme, which read them as selectors."""
    for page in set(site.rglob("*.html")) - {site / "404.html"}:
        assert not re.search(r'<h\d id="\d', page.read_text(encoding="utf-8")), page


@needs_browser
def test_no_page_is_wider_than_a_narrow_window(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.send("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True)
        pages = "index reference/api reference/cli reference/settings results/constituency tutorials/tour"
        for page in pages.split():
            browser.open(site / f"{page}.html")
            assert browser.value("document.documentElement.scrollWidth") == 400, page


def test_every_page_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert f'href="{name}"' in home or name == "index.html", name


def test_every_command_is_in_the_table_of_commands() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert not [name for name in COMMANDS if f"| `{name}" not in page]


def test_pages_name_existing_files() -> None:
    names = re.compile(r"\b(?:bench|tests|induce|treebank|cli)/[\w/.-]+\.(?:py|toml|txt)\b")
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        named = set(names.findall(path.read_text(encoding="utf-8")))
        missing = {name for name in named if not (ROOT / name).exists() and "bigram" not in name}
        assert not missing, path


def test_guarantees_name_existing_tests() -> None:
    page = (ROOT / "docs" / "explanation" / "guarantees.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    defined = {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.MULTILINE)}
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 20
    assert named <= defined


def test_pages_say_that_a_grammar_generated_the_sample() -> None:
    """Every page that trains on the built-in sample or scores on it says so."""
    use = re.compile(r"--gold sample\b|convert sample\b|synparse train$|built-in\s+sample", re.MULTILINE)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    statement = re.compile(r"grammar\W.{0,40}generate|generate.{0,20}\bgrammar", re.DOTALL | re.IGNORECASE)
    wrong = {path.name for path, text in texts.items() if use.search(text) and not statement.search(text)}
    assert not wrong


def test_options_and_intervals_are_not_broken_between_lines(site: Path) -> None:
    tables = (site / "how-to" / "reproduce-papers.html").read_text(encoding="utf-8")
    assert '<code class="whole">@layer=1</code>' in tables
    assert "<pre><code>synparse convert wsj-train --ptb ptb" in tables
    assert '<span class="whole">--setting</span>' in tables
    constituency = (site / "results" / "constituency.html").read_text(encoding="utf-8")
    assert re.search(r'<td>11\.8 <span class="whole">\[9\.3, 14\.8\]</span></td>', constituency)

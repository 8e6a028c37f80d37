"""`synparse browse`: the page is used in a real browser, and its results are compared with those of other commands."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import pytest

import synparse
from cli.main import run
from induce.reporting import corpus_page as page_module
from induce.reporting.corpus_page import corpus_page
from tests.support.browser import Browser, needs_browser, outside, overlaps
from tests.support.calls import Caller
from tests.support.html_page import Page
from treebank.io.read import read_sentences
from treebank.search.pattern import PatternError
from treebank.search.search import Query

TREES = """\
(S (NP-SBJ (DT the) (NN cat)) (VP (VBD saw) (SBAR (-NONE- 0) \
(S (NP (NP (DT a) (NN dog)) (PP (IN of) (NP (DT the) (NN man)))) (VP (VBD ran) (NP (-NONE- *T*-1)))))) (. .))
(S (NP (DT The) (NN cat)) (VP (VBD </script>) (NP (NP-X (JJ "old") (NN cat)))) (. &))
(X (X (W the) (W cat)) (X (W saw) (X (W it) (W -LRB-))))
(FRAG (NP (DT the) (NN cat)) (NP (DT a) (NN dog)) (, ,) (ADVP (RB fast)))
(S (NP (NN Über) (NN ٣)) (VP (VB café) (NN a.b) (NN =A1,) (NN naïve-té)))
(S (NP (NN הילד) (JJ הקטן)) (VP (VB אכל) (NP (NN תפוח))))
"""
HEADS = """\
# newdoc id = first
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_
3\tat\tat\tADP\tIN\t_\t5\tcase\t_\t_
4\tthe\tthe\tDET\tDT\t_\t5\tdet\t_\t_
5\tNew York\tNew York\tPROPN\tNNP\t_\t2\tobl\t_\t_
6\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# newdoc id = second
1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_

1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\t"dogs"\tdog\tNOUN\tNNS\t_\t3\tnsubj\t_\t_
3\tsee\tsee\tVERB\tVBP\t_\t0\troot\t_\t_
4\tmen\tman\tNOUN\tNNS\t_\t3\tobj\t_\t_
5\tbark\tbark\tVERB\tVB\t_\t3\txcomp\t_\t_

"""
TREE_PATTERNS = """
NP ; NP < DT ; NP < DT < NN ; NP < (DT < the) ; NP !< DT ; /^NP/ << i@"THE" ; S << (NP < (PP << of)) ; * < * ; __
NP|VP < NP ; DT . NN ; NN , DT ; NP .. VP ; VP ,, NP ; NP $ VP ; NP $. VP ; VP $, NP ; NP $.. /\\./ ; /\\./ $,, NP
NP <, DT ; DT >, NP ; NP <- NN ; NN >- NP ; VP <: NP ; NP >: VP ; NP >> VP ; NP [< DT | < NN] ; NP ![< DT < NN] . VP
NP < DT & < NN ; NP < (NN|JJ) ; NP < DT | < JJ ; /N/ > (/P$/ < i@/^o/) ; -NONE- ; NP < -NONE- ; "cat" ; DT|NN > NP
/^\\w+$/ > NN|VB ; /^\\W/ ; NN < /\\bé/ ; /é\\b/ ; /\\Bf/ ; /^\\d$/ ; /^\\D+$/ > NN ; /^[\\w-]+$/ > NN
/^a.b$/ ; /^[.]$/ ; W < "(" ; W < -LRB- ; "-LRB-" ; /[(]/ ; i@/^ÜBER/ ; /\\s/ ; /^\\S+é$/
X < (W < the) < (W < cat) ; X !> X ; i@/^THE$/ > DT ; NP ! < PP # with a comment ; ((NP)) ; NP < ((NN) . VP)
"""
HEAD_PATTERNS = """
{} ; {upos=VERB} ; {tag=NNS} <nsubj {} ; {} >obj {} ; {form="dogs"|men} ; {form=i@/^DOG/; direction=right}
{relation!=punct} ; {form=i@dogs} ; {form="New York"} ; {form=i@"new york"|/w Y/}
{distance>1} ; {distance!=1} ; {direction=root} >> {form=the} ; {form=the} << {upos=VERB} ; {} $ {} ; {} $.. {upos=VERB}
{} $,, {} ; {} . {upos=VERB} ; {} , {} ; {upos=DET} .. {upos=VERB} ; {} ,, {form=the} ; {tag=/^V/} >/^n/ {} !> {tag=DT}
{} < ({} >det {}) ; {} [>det {} | >obj {}] ; {tag!=NNS} ; {direction!=left} ; {} >"obj" {} & >nsubj {}
"""
MALFORMED_PATTERNS = 'NP < ; NP < (DT ; NP [< DT ; /a ; "a ; NP <& DT ; ( ; ! NP ; NP ) DT ; i@x ; NP & DT ; NP |'
MALFORMED_HEAD_PATTERNS = "{tag=N ; {size=3} ; {tag} ; {distance=x} ; {direction=up} ; {tag>3} ; {} >obj ; {}{}"


def patterns(text: str) -> list[str]:
    return [pattern.strip() for line in text.splitlines() for pattern in line.split(" ; ") if pattern.strip()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with trees, heads and the pages of both, which tests only read."""
    folder = tmp_path_factory.mktemp("browse")
    (folder / "a.trees").write_text(TREES, encoding="utf-8")
    (folder / "a.conllu").write_text(HEADS, encoding="utf-8")
    for name in ("trees", "conllu"):
        assert run(["browse", str(folder / f"a.{name}"), "-o", str(folder / f"{name}.html")]) == 0
    return folder


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(opened: Browser) -> Iterator[Browser]:
    """The browser, in which nothing may go wrong during a test."""
    yield opened
    assert opened.problems == []


def status(browser: Browser, name: str = "status") -> str:
    return str(browser.value(f"element({json.dumps(name)}).textContent"))


def set_fields(browser: Browser, **fields: str) -> None:
    for name, value in fields.items():
        browser.value(f"void (element({json.dumps(name)}).value = {json.dumps(value)})")


def tab_to(browser: Browser, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(40):
        browser.press("Tab", code=9)
        if browser.value(f"document.activeElement.matches({json.dumps(selector)})"):
            return
    pytest.fail(f"{selector} is not reached with Tab")


def test_page_is_self_contained_and_text_cannot_end_its_script(folder: Path) -> None:
    for name in ("trees", "conllu"):
        text = (folder / f"{name}.html").read_text(encoding="utf-8")
        page = Page(text)
        assert page.names.count("script") == 2
        assert not {"link", "img", "iframe"} & set(page.names)
        assert len(set(page.ids)) == len(page.ids)
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
        assert " src=" not in text


def test_limit_and_sample(call: Caller, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "MAX_SENTENCES", 2)
    output = tmp_path / "a.html"
    assert "--sample 2" in call.refusal("browse", folder / "a.conllu", "-o", output)
    assert not output.exists()
    call.result("browse", folder / "a.conllu", "--sample", 1, "--seed", 3, "-o", output)
    text = output.read_text(encoding="utf-8")
    assert '["' + str(folder / "a.conllu") + '","second"]' in text
    assert '"first"' not in text
    call.result("browse", folder / "a.conllu", "--sample", 1, "--seed", 3, "-o", output)
    assert output.read_text(encoding="utf-8") == text


def test_output_does_not_replace_input_and_needs_sentences(call: Caller, folder: Path, tmp_path: Path) -> None:
    assert "writes html, not brackets" in call.usage("browse", folder / "a.trees", "-o", folder / "a.trees")
    (tmp_path / "empty.trees").write_text("", encoding="utf-8")
    assert "no sentences" in call.refusal("browse", tmp_path / "empty.trees", "-o", tmp_path / "a.html")
    (tmp_path / "a.txt").write_text("the cat saw it\n", encoding="utf-8")
    call.result("browse", tmp_path / "a.txt", "-m", "english", "--title", "<mine>", "-o", tmp_path / "a.html")
    assert "<h1>&lt;mine&gt;</h1>" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_the_same_from_python(folder: Path) -> None:
    page = synparse.browse(str(folder / "a.trees"), title="a.trees")
    assert page + "\n" == (folder / "trees.html").read_text(encoding="utf-8")


def _search(pattern: str) -> str:
    request = {"mode": "pattern", "query": pattern, "label": "", "document": ""}
    return f"(() => {{ const s = new Search({json.dumps(request)}); s.advance(); return s.results }})()"


@needs_browser
@pytest.mark.parametrize(
    ("name", "valid", "malformed"),
    [
        ("trees", patterns(TREE_PATTERNS), patterns(MALFORMED_PATTERNS)),
        ("conllu", patterns(HEAD_PATTERNS), patterns(MALFORMED_HEAD_PATTERNS)),
    ],
)
def test_patterns_are_those_of_search(
    name: str, valid: list[str], malformed: list[str], browser: Browser, folder: Path
) -> None:
    sentences = list(read_sentences(folder / f"a.{name}", trees=True))
    browser.open(folder / f"{name}.html")
    results = browser.value(f"[{','.join(map(_search, valid))}]")
    for pattern, result in zip(valid, results, strict=True):
        matches = [Query(pattern).find(sentence).hits for sentence in sentences]
        expected = [[index, [list(hit[:3]) for hit in hits]] for index, hits in enumerate(matches) if hits]
        assert result == expected, pattern
    for pattern in malformed:
        with pytest.raises(PatternError) as error:
            Query(pattern)
        problem = f"(() => {{ try {{ {_search(pattern)} }} catch (error) {{ return error.position }} }})()"
        assert browser.value(problem) == error.value.position, pattern


@needs_browser
def test_patterns_that_only_search_has_are_refused(browser: Browser, folder: Path) -> None:
    browser.open(folder / "trees.html")
    for pattern in ("NP=n < DT", "NP <2 DT", "@ N NP; @N", "NP << DT; VP", "N()", "NP % VP"):
        assert Query(pattern)
        set_fields(browser, mode="pattern", query=pattern)
        browser.value("runSearch()")
        assert status(browser, "problem").startswith("character "), pattern
        assert status(browser) == "0 of 6 sentences"


@needs_browser
def test_search_picture_and_download_by_keyboard(browser: Browser, folder: Path, call: Caller) -> None:
    browser.open(folder / "trees.html")
    assert status(browser) == "6 sentences"
    tab_to(browser, "#query")
    browser.type("THE cat")
    browser.press("Enter", code=13, text="\r")
    assert status(browser) == "4 of 6 sentences, 4 matches"
    assert (
        browser.value("document.querySelector('.sentence').innerHTML")
        == "<mark>the cat</mark> saw a dog of the man ran ."
    )
    tab_to(browser, ".detail button")
    browser.press(" ", code=32, text=" ")
    assert browser.value("document.activeElement.getAttribute('aria-expanded')") == "true"
    picture = "document.querySelector('.results svg')"
    assert browser.value(f"{picture}.querySelectorAll('text').length") == 10 + 10 + 10  # words, tags, labels
    assert browser.value(f"{picture}.querySelector('desc').textContent") == TREES.splitlines()[0]
    set_fields(browser, mode="pattern", query="NP < (DT < the)", format="brackets")
    browser.value("runSearch(); element('download').focus()")
    browser.press("Enter", code=13, text="\r")
    query = ("search", "NP < (DT < the)", folder / "a.trees")
    assert browser.downloaded("sentences.trees") == call.result(*query, "--no-location")
    for pattern in ("NP < (DT < the)", "NN|NP"):
        set_fields(browser, query=pattern, format="csv")
        browser.value("runSearch(); element('download').focus()")
        browser.press("Enter", code=13, text="\r")
        rows = list(csv.reader(io.StringIO(browser.downloaded("matches.csv").removeprefix("\ufeff"))))
        table = call.result("search", pattern, folder / "a.trees", "--format", "csv", "--context", 999)
        assert rows == list(csv.reader(io.StringIO(table)))


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_can_be_seen_in_both_color_schemes(browser: Browser, folder: Path, scheme: str) -> None:
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(folder / "trees.html")
    browser.value("document.querySelector('.detail button').click()")
    ink, paper = (
        browser.value(f"getComputedStyle(document.querySelector('{name}')).{key}.match(/[0-9]+/g).map(Number)")
        for name, key in ((".results svg text", "fill"), ("body", "backgroundColor"))
    )
    browser.send("Emulation.setEmulatedMedia", features=[])
    assert abs(sum(ink[:3]) - sum(paper[:3])) > 300


@needs_browser
def test_matches_are_marked_in_the_picture(browser: Browser, folder: Path) -> None:
    marks = "[...document.querySelectorAll('.results svg text.shared')].map(text => text.textContent)"
    for name, query, expected in [
        ("trees", "PP", ["PP"]),
        ("trees", "NN > (NP > PP)", ["man"]),
        ("trees", "NP $ ADVP", ["NP", "NP"]),
        ("conllu", "{form=at}", ["at"]),
    ]:
        browser.open(folder / f"{name}.html")
        set_fields(browser, mode="pattern", query=query)
        browser.value("runSearch()")
        browser.value("document.querySelectorAll('.detail button').forEach(button => button.click())")
        assert browser.value(marks) == expected, query


@needs_browser
def test_filters_and_malformed_pattern(browser: Browser, folder: Path) -> None:
    browser.open(folder / "trees.html")
    for fields, expected in [
        ({"label": "NP"}, "5 of 6 sentences, 10 matches"),
        ({"label": "DT"}, "3 of 6 sentences, 6 matches"),
        ({"label": "NP", "longest": "4"}, "1 of 6 sentences, 2 matches"),
        ({"label": "", "longest": "", "shortest": "7"}, "1 of 6 sentences"),
        ({"shortest": "", "mode": "expression", "query": "c.t( .|$)"}, "4 of 6 sentences, 5 matches"),
        ({"mode": "words", "query": "zebra"}, "0 of 6 sentences"),
    ]:
        set_fields(browser, **fields)
        browser.value("runSearch()")
        assert status(browser) == expected, fields
    set_fields(browser, mode="pattern", query="NP < (DT")
    browser.value("runSearch()")
    assert status(browser, "problem") == "character 9: the closing ) is missing"
    assert browser.value("element('query').hasAttribute('aria-invalid') && element('download').disabled")
    browser.value("element('clear').click()")
    assert (status(browser), status(browser, "problem")) == ("6 sentences", "")


@needs_browser
def test_heads_are_downloaded_and_filtered_by_document(browser: Browser, folder: Path, tmp_path: Path) -> None:
    browser.open(folder / "conllu.html")
    set_fields(browser, document="1")
    browser.value("runSearch(); element('download').click()")
    assert status(browser) == "2 of 3 sentences"
    (tmp_path / "b.conllu").write_text(browser.downloaded("sentences.conllu"), encoding="utf-8")
    assert list(read_sentences(tmp_path / "b.conllu")) == list(read_sentences(folder / "a.conllu"))[1:]
    browser.value("document.querySelectorAll('.detail button').forEach(button => button.click())")
    described = browser.value("document.querySelector('.results svg desc').textContent")
    assert described == "Dogs ← bark, bark ← root"


@needs_browser
@pytest.mark.parametrize("name", ["trees", "conllu"])
def test_table_is_that_of_phrases_and_leads_to_its_sentences(
    name: str, browser: Browser, folder: Path, call: Caller
) -> None:
    browser.open(folder / f"{name}.html")
    rows = call.json("phrases", folder / f"a.{name}")["phrases"]
    stored = browser.value("corpus.phrases")
    assert [row[:4] for row in stored] == [[row["words"], row["label"], row["count"], row["documents"]] for row in rows]
    assert rows
    counts = browser.value(
        "corpus.phrases.map(row => (searchPhrase(row), sum(results.map(([, list]) => list.length))))"
    )
    assert counts == [row["count"] for row in rows]
    assert browser.value("document.activeElement.id") == "sentences-h"
    browser.value("showView('phrases'); element('phrase-download').click()")
    table = list(csv.DictReader(io.StringIO(browser.downloaded("phrases.csv").removeprefix("\ufeff"))))
    assert [(row["words"], int(row["count"])) for row in table] == [(row["words"], row["count"]) for row in rows]
    browser.value("document.querySelector('#phrases thead button').click()")
    words = browser.value("[...document.querySelectorAll('#phrase-rows th')].map(cell => cell.textContent)")
    assert words == browser.value("corpus.phrases.map(row => row[0]).sort((a, b) => a.localeCompare(b))")


@needs_browser
def test_controls_have_names_and_page_fits_a_narrow_screen(browser: Browser, folder: Path) -> None:
    browser.send("Emulation.setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=1, mobile=True)
    for name in ("trees", "conllu"):
        browser.open(folder / f"{name}.html")
        browser.value("document.querySelectorAll('.detail button').forEach(button => button.click())")
        for view in ("phrases", "sentences"):
            browser.value(f"showView({json.dumps(view)})")
            assert browser.value("document.documentElement.scrollWidth") == 360
            nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
            names = _names(nodes)
            assert {"button", "combobox", "searchbox", "status"} <= names.keys()
            assert [role for role, texts in names.items() if role != "status" and not all(texts)] == []
    browser.send("Emulation.clearDeviceMetricsOverride")


def _names(nodes: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The names of the controls and regions by their role, as a screen reader announces them."""
    roles = ("button", "combobox", "searchbox", "spinbutton", "checkbox", "image", "region", "search", "status", "list")
    names: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"] and node["role"]["value"] in roles:
            names.setdefault(node["role"]["value"], []).append(node["name"]["value"])
    return names


BOXES = """[...document.querySelectorAll('.results svg')].map(svg => {
  const box = element => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return [left, top, right, bottom];
  };
  return { frame: box(svg), texts: [...svg.querySelectorAll('text')].map(text => [text.textContent, '', box(text)]) };
})"""


@needs_browser
def test_texts_of_pictures_do_not_overlap(browser: Browser, folder: Path) -> None:
    for name in ("trees", "conllu"):
        browser.open(folder / f"{name}.html")
        browser.value("document.querySelectorAll('.detail button').forEach(button => button.click())")
        pictures = browser.value(BOXES)
        assert len(pictures) == browser.value("corpus.sentences.length")
        for picture in pictures:
            assert overlaps(picture["texts"]) == []
            assert outside(picture["texts"], picture["frame"]) == []
    browser.open(folder / "trees.html")
    browser.value("[...document.querySelectorAll('.detail button')].at(-1).click()")
    [hebrew] = browser.value(BOXES)
    lefts = {text: box[0] for text, _, box in hebrew["texts"]}
    assert lefts["הילד"] > lefts["הקטן"] > lefts["אכל"] > lefts["תפוח"]


@needs_browser
def test_20_000_sentences_are_searched_within_3_seconds(browser: Browser, tmp_path: Path) -> None:
    sample = list(synparse.Corpus("sample"))
    page = corpus_page(islice(chain.from_iterable(repeat(sample)), 20_000), title="sample")
    assert len(page) < 10_000_000
    (tmp_path / "large.html").write_text(page, encoding="utf-8")
    browser.send("Performance.enable", timeDomain="threadTicks")
    browser.open(tmp_path / "large.html")
    set_fields(browser, query="the")
    browser.value("runSearch()")
    assert status(browser).startswith(tuple("123456789"))
    assert browser.value("document.querySelectorAll('.results li').length") == 50
    assert 0 < _busy_seconds(browser) < 3
    browser.value("element('more').click()")
    assert browser.value("document.querySelectorAll('.results li').length") == 100
    set_fields(browser, mode="pattern", query="* .. *")
    first = browser.value(
        "runSearch(); [element('status').textContent, document.querySelectorAll('.results li').length]"
    )
    assert (first[0].partition(":")[0], first[1]) == ("Searching", 50)
    assert browser.value("element('status').ariaBusy === 'true' && element('download').disabled")
    set_fields(browser, query="NP < (PP << of)")
    browser.value("runSearch()")
    assert status(browser).startswith(tuple("123456789"))
    assert browser.value("element('status').ariaBusy === 'false' && !element('download').disabled")
    assert _busy_seconds(browser) < 3


def _busy_seconds(browser: Browser) -> float:
    """The processor time of the page and of earlier pages in its process, which does not depend on other programs."""
    metrics = browser.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

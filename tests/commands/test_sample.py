"""`synparse sample`: trees and heads are corrected on the page in a real browser, saved, and scored."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.support.browser import Browser, needs_browser
from tests.support.calls import Caller
from treebank.core.tree import Tree
from treebank.io.bracketed import parse_trees

TEXT = "the teacher saw the old man .\nshe ( Mary ) left </script> .\na\nthe boy gave the girl a book .\n"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    return "text.txt"


def test_sample_is_random_and_the_same_for_a_seed(call: Caller, text: str) -> None:
    pages = [call.result("sample", text, "-m", "english", "--count", "2", "--seed", n, "-o", "-") for n in (1, 1, 2)]
    assert pages[0] == pages[1] != pages[2]
    assert "2 sentences drawn at random (seed 1)" in pages[0]


def test_text_without_sentences_is_refused(call: Caller, text: str) -> None:
    Path("short.txt").write_text("a\nb\n", encoding="utf-8")
    assert "two or more words" in call.refusal("sample", "short.txt", "-m", "english")


def test_default_page_replaces_no_other_file(call: Caller, text: str) -> None:
    Path("check.html").write_text("mine\n", encoding="utf-8")
    assert "--overwrite" in call.refusal("sample", text, "-m", "english")


@needs_browser
def test_corrected_trees_are_saved_and_scored(call: Caller, text: str, tmp_path: Path) -> None:
    call("sample", text, "-m", "english", "-o", "check.html")
    with Browser(tmp_path) as browser:
        browser.open(tmp_path / "check.html")
        phrases = "[...document.querySelectorAll('#list li:first-child .phrase')].map(p => p.textContent)"
        assert "theoldman" in browser.value(phrases)
        for _ in range(3):
            browser.press("ArrowRight")
        browser.press("u", text="u")  # removes the phrase around "the"
        assert "theoldman" not in browser.value(phrases)
        browser.press("z", text="z")
        assert "theoldman" in browser.value(phrases)
        # select "saw the" with the mouse: a phrase that crosses "the old man"
        browser.value(
            "for (const [type, index] of [['pointerdown', 2], ['pointerover', 3]])"
            "document.querySelectorAll('#list li:first-child .word')[index]"
            ".dispatchEvent(new PointerEvent(type, {bubbles: true, buttons: 1}))"
        )
        browser.press("g", text="g")
        assert "sawthe" in browser.value(phrases)
        assert "theoldman" not in browser.value(phrases)
        browser.press("Enter", code=13, text="\r")
        browser.press("Enter", code=13, text="\r")
        assert browser.value("document.getElementById('count').textContent") == "2 of 3 checked"
        browser.value("document.getElementById('save').click()")
        saved = browser.downloaded("checked.ptb")
        assert browser.problems == []
    first, second = saved.splitlines()
    assert "(X (W saw) (W the))" in first
    assert "(W -LRB-) (W Mary) (W -RRB-)" in second.replace("(X ", "").replace(")) ", ") ")
    Path("checked.ptb").write_text(saved, encoding="utf-8")
    assert "on-lstm" in call.result("eval", "--gold", "checked.ptb", "-m", "english")


@needs_browser
def test_corrected_heads_are_saved(call: Caller, text: str, tmp_path: Path) -> None:
    call("sample", text, "-m", "english-heads", "-o", "heads.html")
    with Browser(tmp_path) as browser:
        browser.open(tmp_path / "heads.html")
        browser.value(
            "(select => { select.value = '3'; select.dispatchEvent(new Event('change')); })"
            "(document.querySelector('#list li:first-child select'))"
        )
        browser.value("document.getElementById('check').click()")
        browser.value("document.getElementById('save').click()")
        saved = browser.downloaded("checked.conllu")
        assert browser.problems == []
    assert saved.startswith("# text = the teacher saw the old man .\n1\tthe\t_\t_\t_\t_\t3\tdep\t_\t_\n")


HEADS = """(index, word, head) => {
    const select = document.querySelectorAll(`#list li:nth-child(${index}) select`)[word];
    select.focus();
    select.value = head;
    select.dispatchEvent(new Event('change'));
    return document.activeElement === select;
}"""


@needs_browser
def test_heads_keep_the_focus_and_are_a_tree(call: Caller, text: str, tmp_path: Path) -> None:
    call("sample", text, "-m", "english-heads", "-o", "heads.html")
    with Browser(tmp_path) as browser:
        browser.open(tmp_path / "heads.html")
        count = "document.getElementById('count').textContent"
        before = browser.value("JSON.stringify(data.sentences[1].heads)")
        dependent = browser.value("data.sentences[1].heads.findIndex(head => head)")
        assert browser.value(f"({HEADS})(2, {dependent}, '0')")  # in another sentence than the current one
        assert browser.value("current") == 1
        browser.value("document.getElementById('check').click()")
        assert 'exactly one word has the head "root", not 2' in browser.value(count)
        browser.value("document.getElementById('undo').click()")
        assert browser.value("JSON.stringify(data.sentences[1].heads)") == before
        assert browser.value(f"({HEADS})(1, 0, '2') && ({HEADS})(1, 1, '1')")
        browser.value("document.getElementById('check').click()")
        assert "form a circle" in browser.value(count)
        assert browser.value("document.getElementById('save').disabled")
        assert browser.problems == []


Span = tuple[int, int]
STEPS = """(steps => steps.map(([name, start, end]) => {
    [anchor, cursor] = [start, end - 1];
    actions[name]();
    return [[...data.sentences[0].spans], brackets(data.sentences[0])];
}))"""


def _expected_spans(spans: set[Span], name: str, start: int, end: int) -> set[Span]:
    """Spans after an operation on the words from ``start`` to ``end``."""
    if name == "group" and end - start > 1:
        return {(start, end), *(span for span in spans if not span[0] < start < span[1] < end)} - {
            span for span in spans if start < span[0] < end < span[1]
        }
    around = [span for span in spans if span[0] <= start and end <= span[1] and span != max(spans, key=_length)]
    return spans - {min(around, key=_length)} if name == "ungroup" and around else spans


def _length(span: Span) -> int:
    return span[1] - span[0]


@needs_browser
def test_each_operation_leaves_one_tree(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random operations: brackets do not cross, the full-sentence span stays, only crossed phrases are removed."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("the old man saw the girl with the telescope .\n", encoding="utf-8")
    call("sample", "text.txt", "-m", "english", "-o", "check.html")
    generator = random.Random(1)
    with Browser(tmp_path) as browser:
        browser.open(tmp_path / "check.html")
        first = browser.value("data.sentences[0].spans")
        count = browser.value("data.sentences[0].words.length")
        steps = [
            (generator.choice(("group", "group", "ungroup", "undo")), *sorted(generator.sample(range(count + 1), 2)))
            for _ in range(1000)
        ]
        results = browser.value(f"{STEPS}({json.dumps(steps)})")
        assert browser.problems == []
    states = [{(start, end) for start, end, _ in first}]
    for (name, start, end), (spans, line) in zip(steps, results, strict=True):
        if name == "undo":
            states = states[:-1] or states
        elif (changed := _expected_spans(states[-1], name, start, end)) != states[-1]:
            states.append(changed)
        assert {(start, end) for start, end, _ in spans} == states[-1]
        (tree,) = parse_trees(line)
        assert {*tree.spans} == states[-1] >= {(0, count)}
        assert Tree.from_spans(tree.words, tree.spans).spans == tree.spans  # no spans cross

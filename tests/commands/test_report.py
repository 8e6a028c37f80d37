"""``synparse report``: a self-contained page with the scores of ``synparse eval``."""

from __future__ import annotations

import re
import shlex
import shutil
from html import escape, unescape
from pathlib import Path

import pytest

import synparse
from cli.main import run
from induce.reporting.runs import RunStory
from tests.support.browser import call as browse
from tests.support.browser import needs_browser
from tests.support.calls import Caller, toy_text
from tests.support.html_page import Page
from treebank.corpora.catalog import load_gold

GOLD = (
    "(S (NP (DT the) (JJ old) (NN man)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .))\n"
    "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (JJ old) (NN cat))) (. .))\n"
)
WIDTH = """
<script>
addEventListener('load', () => {
  const f = document.querySelector('iframe').contentDocument;
  const out = document.createElement('pre'); out.id = 'measured';
  out.textContent = f.documentElement.scrollWidth + ' ' + f.querySelectorAll('svg').length;
  document.body.appendChild(out);
});
</script>
"""


@pytest.fixture(scope="module")
def folder(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its copy, a treebank, and the report of all of them, which tests only read."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "gold.mrg").write_text(GOLD, encoding="utf-8")
    for name in ("one", "two"):
        shutil.copytree(trained / "run", folder / name)
    runs = ["-m", str(folder / "one"), "-m", str(folder / "two")]
    target = ["--pictures", "1", "-o", str(folder / "report.html")]
    assert run(["report", *runs, "--gold", str(folder / "gold.mrg"), *target]) == 0
    return folder


@pytest.fixture
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_page_is_self_contained(page: str) -> None:
    parsed_page = Page(page)
    assert not {"script", "link", "img", "iframe"} & set(parsed_page.names)
    assert len(set(parsed_page.ids)) == len(parsed_page.ids)
    assert set(parsed_page.targets) <= {f"#{name}" for name in parsed_page.ids}
    assert {"#learned", "#curves", "#scores", "#agreement", "#best", "#worst", "#agreed"} <= set(parsed_page.targets)
    assert not re.search(r"(?:src|href)=.https?:|@import|url\(", page)
    assert (
        parsed_page.names.count("svg") == 2 + 2 + 2 + 4
    )  # losses, scores and lengths, confidence, a picture of each group
    assert parsed_page.names.count("title") == 1 + parsed_page.names.count("desc") == 1 + parsed_page.names.count("svg")


def test_its_numbers_are_those_of_eval(page: str, call: Caller) -> None:
    line = re.search(r"prints these tables:</p><pre><code>(.*?)</code>", page.replace("\n", ""))
    assert line
    arguments = line[1].split()[1:]
    assert arguments[0] == "eval"
    scores = call.json(*arguments)["scores"]
    assert len(scores) == 2 + 6
    for score in scores:
        assert escape(score["signature"]) in page
        assert re.search(rf">{score['system']}[^<]*</th>.*?>{score['value']:.1f}</td>", page.replace("<wbr>", ""))


def test_a_model_alone_and_with_a_text(call: Caller, model: Path, tmp_path: Path) -> None:
    call.result("report", "-m", model, "-o", tmp_path / "a.html")
    alone = Page((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert alone.targets == ["#main", "#learned", "#curves"]
    (tmp_path / "in.txt").write_text(toy_text(20), encoding="utf-8")
    call.result("report", "-m", model, tmp_path / "in.txt", "-o", tmp_path / "a.html")
    assert Page((tmp_path / "a.html").read_text(encoding="utf-8")).targets[1:3] == ["#sentences", "#frequent"]


def test_baseline_of_the_other_type_is_scored_without_a_comparison(call: Caller, model: Path, folder: Path) -> None:
    arguments = ("-m", model, "--gold", folder / "gold.mrg", "--baseline", "next")
    call.result("report", *arguments, "-o", folder / "next.html")
    page = (folder / "next.html").read_text(encoding="utf-8")
    assert "UUAS" in page
    assert "--baseline next" in page
    assert "--compare" not in page


def test_gold_in_another_encoding(call: Caller, model: Path, tmp_path: Path) -> None:
    gold, report = tmp_path / "gold.mrg", tmp_path / "a.html"
    gold.write_text(GOLD.replace("man", "café"), encoding="latin-1")
    assert "give --encoding" in call.refusal("report", "-m", model, "--gold", gold, "-o", report)
    call.result("report", "-m", model, "--gold", gold, "--encoding", "latin-1", "-o", report)
    page = report.read_text(encoding="utf-8")
    assert "café" in page
    assert page.count("--encoding latin-1") == 2  # in the commands eval and report


def test_long_sentences_of_a_text_and_of_gold_heads_are_left_out(call: Caller, model: Path, tmp_path: Path) -> None:
    text, report = tmp_path / "in.txt", tmp_path / "a.html"
    text.write_text("the old man saw a dog .\na dog saw the old cat and the man .\n", encoding="utf-8")
    call.result("report", "-m", model, text, "--max-length", "6", "-o", report)
    assert (page := report.read_text(encoding="utf-8")).count("<svg") == 2 + 1  # losses, and a sentence
    assert "sentence 1" in page
    assert "sentence 2" not in page
    problem = call.refusal("report", "-m", model, text, "--max-length", "2", "-o", report)
    assert problem == f"{text}: there is no sentence of 1 to 2 words in it"
    (tmp_path / "gold.mrg").write_text(GOLD, encoding="utf-8")
    call.result("convert", tmp_path / "gold.mrg", "--format", "conllu", "-o", tmp_path / "gold.conllu")
    for bound, count in ((6, 2), (5, 0)):
        assert len(load_gold(str(tmp_path / "gold.conllu"), max_length=bound)) == count


@pytest.mark.parametrize("gold", [True, False])
def test_its_command_writes_the_same_page(call: Caller, model: Path, working_folder: Path, gold: bool) -> None:
    Path("in.txt").write_text(toy_text(20), encoding="utf-8")
    Path("gold.mrg").write_text(GOLD, encoding="utf-8")
    data = ["--gold", "gold.mrg", "--baseline", "left"] if gold else ["in.txt", "--tokenizer", "none"]
    options = ["--pictures", "2", "--title", "My page", "--decoder", "biased", "--priors", "none"]
    assert call("report", "-m", model, *data, *options)[2].endswith("report.html: open it in a browser\n")
    first = Path("report.html").read_text(encoding="utf-8")
    [made_by] = re.findall(r"Made by synparse .*?<code>(.*?)</code>", first, re.DOTALL)
    call(*shlex.split(unescape(made_by))[1:], "-o", "again.html")
    assert Path("again.html").read_text(encoding="utf-8") == first


def test_the_same_from_python(model: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.mrg").write_text(GOLD, encoding="utf-8")
    made = synparse.report(model, gold=str(tmp_path / "gold.mrg"), title="<mine>")
    assert "<h1>&lt;mine&gt;</h1>" in made


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        ("--gold sample in.txt", 1, "name one of them"),
        ("--gold sample --baseline rihgt", 2, "no baseline 'rihgt'"),
        ("nothing.txt", 1, "nothing.txt"),
        ("-m nowhere", 1, "there is no such model"),
        ("in.txt --baseline right", 2, "--baseline requires --gold"),
        ("in.txt --convention km", 2, "--convention requires --gold"),
        ("--ptb WSJ", 2, "--ptb requires --gold"),
        ("--max-length 5", 2, "--max-length requires --gold or a TEXT"),
    ],
)
def test_unsuitable_arguments_are_refused(
    arguments: str, code: int, problem: str, call: Caller, model: Path, working_folder: Path
) -> None:
    model_arguments = [] if "-m" in arguments.split() else ["-m", model]
    exit_code, out, err = call("report", *model_arguments, *arguments.split())
    assert (exit_code, out, problem in err.splitlines()[-1]) == (code, "", True)
    assert not Path("report.html").exists()


def test_a_log_with_a_broken_line_and_a_run_that_was_resumed(copy: Path) -> None:
    story = RunStory.read(str(copy))
    log = copy / "log.jsonl"
    again = [line for line in log.read_text(encoding="utf-8").splitlines() if '"check"' in line][-1]
    log.write_text(log.read_text(encoding="utf-8") + again + '\n{"event": "che', encoding="utf-8")
    assert RunStory.read(str(copy)).checks == story.checks
    log.unlink()
    assert [check["step"] for check in RunStory.read(str(copy)).checks] == [check["step"] for check in story.checks]
    assert len(story.checks) == 3


@needs_browser
def test_it_is_readable_at_400_pixels(page: str, tmp_path: Path) -> None:
    frame = f'<iframe style="width:400px;border:0" srcdoc="{escape(page)}"></iframe>'
    (tmp_path / "w.html").write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{frame}{WIDTH}', encoding="utf-8")
    done = browse("--enable-logging=stderr", "--dump-dom", (tmp_path / "w.html").as_uri())
    assert '<pre id="measured">400 10</pre>' in done.stdout
    assert "CONSOLE" not in done.stderr

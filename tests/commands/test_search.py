"""`synparse search` from the outside: inputs, output formats, selection and errors."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from cli.commands.search import _highlight as search_marks
from cli.main import run
from tests.support.calls import Caller, shell
from treebank.search.output import NO_HIGHLIGHT, TERMINAL_HIGHLIGHT

TREES = (
    "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog))))\n"
    "(S (NP (PRP it)) (VP (VBD ran)))\n"
    "(S (NP (DT a) (NN cat)) (VP (VBD <b>) (NP (PRP it))))\n"
)
HEADS = "1\tdogs\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with trees, heads and text."""
    Path("a.trees").write_text(TREES, encoding="utf-8")
    Path("a.conllu").write_text(HEADS, encoding="utf-8")
    Path("a.txt").write_text("the cat saw a dog\nit ran\n", encoding="utf-8")


def test_formats(call: Caller) -> None:
    """Next to those of docs/how-to/search.md."""
    lines = TREES.splitlines()
    assert call.result("search", "NP < DT", "a.trees") == f"a.trees:1\t{lines[0]}\na.trees:3\t{lines[2]}\n"
    [first, _] = map(json.loads, call.result("search", "NP < DT", "a.trees", "--format", "jsonl").splitlines())
    assert first["matches"] == [{"start": 0, "end": 2, "label": "NP"}, {"start": 3, "end": 5, "label": "NP"}]
    assert (first["file"], first["line"]) == ("a.trees", 1)
    counts = call.result("search", "NP < DT", "a.trees", "--format", "count").splitlines()[-1].split()
    assert counts == ["a.trees", "3", "2", "0.6667", "3"]


def test_concordance_fits_into_the_terminal(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    words = " ".join(f"(A word{i})" for i in range(30))
    Path("long.trees").write_text(f"(S {words} (NP (DT the) (NN cat)) {words})\n(S (NP {words}))\n", encoding="utf-8")
    lines = call.result("search", "NP", "long.trees", "--format", "concordance").splitlines()
    assert max(map(len, lines)) > 100
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    with redirect_stdout(terminal):
        assert run(["search", "NP", "long.trees", "--format", "concordance", "--highlight", "none"]) == 0
    narrow = terminal.getvalue().expandtabs().splitlines()
    assert max(map(len, narrow)) <= 60
    assert ["the cat" in narrow[0], narrow[1].endswith("…")] == [True, True]
    assert narrow[0].index("the cat") == narrow[1].index("word0")


def test_concordance_is_sorted(call: Caller) -> None:
    Path("s.trees").write_text(
        "(S (A b) (X x) (A C))\n(S (A a) (X x) (A d))\n(S (A c) (X W) (A B))\n", encoding="utf-8"
    )
    for key, expected in [("left", "axd bxC cWB"), ("right", "cWB bxC axd"), ("match", "cWB bxC axd")]:
        form = ("--format", "concordance", "--no-location", "--sort", key)
        lines = call.result("search", "X", "s.trees", *form).splitlines()
        assert ["".join(line.split()) for line in lines] == expected.split(), key
    assert "--sort orders" in call.refusal("search", "X", "s.trees", "--sort", "left", code=2)


def test_large_context_is_refused(call: Caller) -> None:
    for form in ("text", "concordance"):
        assert "give at most 10,000" in call.refusal(
            "search", "NP", "a.trees", "--format", form, "--context", 10**9, code=2
        )


def test_sentences_around_matches(call: Caller) -> None:
    words = ["no", "a", "b", "yes", "yes", "c", "d", "e", "f", "yes", "g"]
    Path("m.trees").write_text("".join(f"(S (A {word}))\n" for word in words), encoding="utf-8")
    around = ("search", "yes", "m.trees", "--format", "text", "--context")
    lines = call.result(*around, 2).splitlines()
    first = ["m.trees-2\ta", "m.trees-3\tb", "m.trees:4\tyes", "m.trees:5\tyes", "m.trees-6\tc", "m.trees-7\td"]
    last = ["--", "m.trees-8\te", "m.trees-9\tf", "m.trees:10\tyes", "m.trees-11\tg"]
    assert lines == [*first, *last[1:]]
    narrow = call.result(*around, 1, "--limit", 3).splitlines()
    assert narrow == [*first[1:5], "--", *last[2:]]
    assert call("search", "yes", "m.trees", "--format", "jsonl", "--context", 1)[0] == 2


def test_json_lines_of_heads_are_searched_and_converted_again(call: Caller) -> None:
    call.result("search", "{}", "a.conllu", "--format", "jsonl", "-o", "heads.jsonl")
    assert call.result("search", "{tag=NNS} <nsubj {}", "heads.jsonl") == "heads.jsonl:1\tdogs bark\n"
    columns = [call.result("convert", name, "--format", "conllu").splitlines() for name in ("heads.jsonl", "a.conllu")]
    assert [row.split("\t")[6:8] for row in columns[0]] == [row.split("\t")[6:8] for row in columns[1]]


def test_json_lines_keep_names_and_universal_tags(call: Caller) -> None:
    text = "# newdoc id = d1\n# sent_id = k1\n# text = a\n1\ta\t_\tNOUN\tN\t_\t0\troot\t_\t_\n\n"
    Path("named.conllu").write_text(text, encoding="utf-8")
    call.result("search", "{form=a}", "named.conllu", "--format", "jsonl", "-o", "named.jsonl")
    assert call.result("search", "{upos=NOUN}", "named.jsonl") == "named.jsonl:1\ta\n"
    assert call.result("convert", "named.jsonl", "--format", "conllu") == text


def test_json_lines_have_empty_elements(call: Caller) -> None:
    line = "(S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN home) (-NONE- *T*-1))))"
    Path("t.mrg").write_text(line, encoding="utf-8")
    call.result("search", "NP", "t.mrg", "--format", "jsonl", "-o", "found.jsonl")
    value = json.loads(Path("found.jsonl").read_text(encoding="utf-8"))
    assert value["words"] == ["*", "go", "home", "*T*-1"]
    assert json.dumps(value["matches"]) == '[{"start": 2, "end": 4, "label": "NP"}]'
    assert call.result("search", "NP < -NONE-", "found.jsonl", "--no-location") == line + "\n"
    assert call.result("search", '"-NONE-"', "t.mrg", "--no-location", "--format", "text") == "go home\n"


def test_highlighting_in_terminal_and_html(call: Caller) -> None:
    marked = call.result("search", "NP < DT", "a.trees", "--highlight", "terminal", "--no-location")
    assert marked.startswith("(S \x1b[1;31m(NP (DT the) (NN cat))\x1b[0m (VP")
    page = call.result("search", "VP > S", "a.trees", "--highlight", "html", "--format", "text")
    assert "<pre>a.trees:3\ta cat <mark>&lt;b&gt; it</mark></pre>" in page
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")
    Path("private.mrg").write_text("(S (NP (NN a\ue000&b)) (VP (VBD c\ue001)))\n", encoding="utf-8")
    page = call.result("search", "NP", "private.mrg", "--highlight", "html", "--no-location")
    assert "<pre>(S <mark>(NP (NN a\ue000&amp;b))</mark> (VP (VBD c\ue001)))</pre>" in page
    csv = ("search", "NP", "a.trees", "--format", "csv")
    assert "no highlighting" in call.refusal(*csv, "--highlight", "html", code=2)
    assert "with --invert there are none" in call.refusal(*csv, "--invert", code=2)


def test_escape_sequences_in_words_do_not_reach_the_terminal(call: Caller) -> None:
    Path("escape.mrg").write_text("(S (NP \x1b]0;title\x07) (VP (V ran)))\n", encoding="utf-8")
    for form in ("brackets", "text", "concordance"):
        line = call.result("search", "VP", "escape.mrg", "--highlight", "terminal", "--format", form)
        assert "\\x1b]0;title\\x07" in line, form
        assert line.count("\x1b") == 2, form
    assert "\\x1b]0;title\\x07 ran" in call.result("phrases", "escape.mrg", "--min-count", 1)
    assert "\x1b]0;title\x07 ran" in call.result("search", "S", "escape.mrg", "--format", "text")


def test_words_of_a_cell_are_neither_rows_nor_formulas(call: Caller) -> None:
    Path("a.trees").write_text("(S (NP @SUM x\ry) (VP (VBD z)))\n", encoding="utf-8", newline="")
    call.result("search", "NP", "a.trees", "-o", "found.csv")
    text = Path("found.csv").read_bytes().decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["file", "line", "left", "match", "right", "label"],
        ["a.trees", "1", "", "'@SUM x\ry", "z", "NP"],
    ]


def test_color_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert search_marks("auto", "text", None) is TERMINAL_HIGHLIGHT
    monkeypatch.setenv("NO_COLOR", "1")
    assert search_marks("auto", "text", None) is NO_HIGHLIGHT


@pytest.mark.parametrize(
    "arguments",
    [
        *(f"search NP b.trees --format {form}" for form in ("text", "concordance", "csv")),
        'search "{}" b.conllu',
        "phrases b.trees --min-count 1",
        "phrases b.conllu --min-count 1",
        "draw b.trees",
        *(f"draw b.trees -o b.{suffix}" for suffix in ("svg", "html", "tex")),
    ],
)
def test_brackets_are_written_as_such(call: Caller, arguments: str) -> None:
    Path("b.trees").write_text("(S (NP (-LRB- -LRB-) (NN a) (-RRB- -RRB-)) (VP ran))\n", encoding="utf-8")
    rows = ["1\t-LRB-\t_\t_\t_\t_\t2\tx\t_\t_", "2\ta\t_\t_\t_\t_\t0\troot\t_\t_"]
    Path("b.conllu").write_text("\n".join([*rows, "", ""]), encoding="utf-8")
    text = call.result(*shlex.split(arguments))
    if "-o" in arguments:
        text = Path(arguments.split()[-1]).read_text(encoding="utf-8")
    assert ("LRB" in text, "(" in text) == (False, True)


def test_selection(call: Caller) -> None:
    assert call.result("search", "DT", "--invert", "a.trees", "--format", "text") == "a.trees:2\tit ran\n"
    counts = call.result("search", "DT", "--invert", "a.trees", "--format", "count").splitlines()[-1].split()
    assert counts == ["a.trees", "3", "1", "0.3333", "0"]
    assert call.result("search", "NP", "--limit", 1, "a.trees", "--format", "text") == "a.trees:1\tthe cat saw a dog\n"
    Path("many.trees").write_text("".join(f"(S (A w{i}))\n" for i in range(200)), encoding="utf-8")
    sample = ("search", "S", "many.trees", "--format", "text", "--no-location", "--sample", 20)
    words = [int(line[1:]) for line in call.result(*sample).split()]
    assert len(set(words)) == 20
    assert words == sorted(words)
    assert max(words) > 20
    assert call.result(*sample) == call.result(*sample)
    assert call.result(*sample, "--seed", 2) != call.result(*sample)
    assert "exclude each other" in call.usage(*sample, "--limit", 2)


@pytest.mark.parametrize("command", [("search", "NP"), ("phrases",), ("browse",)])
def test_options_of_parsing_require_a_model(command: tuple[str, ...], call: Caller) -> None:
    assert "require a model" in call.usage(*command, "a.trees", "--decoder", "nary")
    assert "require a model" in call.usage(*command, "a.trees", "--priors", "none")


def test_seed_requires_a_sample(call: Caller) -> None:
    assert "--seed requires --sample" in call.usage("search", "NP", "a.trees", "--seed", 2)
    assert "--seed requires --sample" in call.usage("browse", "a.trees", "--seed", 2)


def test_inputs(call: Caller) -> None:
    Path("b.trees.gz").write_bytes(gzip.compress(TREES.encode()))
    assert call.result("search", "PRP < ran|it", "b.trees.gz", "--format", "text") == "b.trees.gz:2\tit ran\n" + (
        "b.trees.gz:3\ta cat <b> it\n"
    )
    assert call.result("search", "{tag=NNS} <nsubj {}", "a.conllu") == "a.conllu:1\tdogs bark\n"
    assert "no tree" in call.refusal("search", "NP", "a.conllu")
    assert "such as -m english or -m english-heads" in call.refusal("search", "NP", "a.txt")
    assert "no heads; parse text with -m english-heads, " in call.refusal("search", "{}", "a.txt", "-m", "english")
    assert call.result("search", "* < (W < the) < (W < cat)", "a.txt", "-m", "english").startswith("a.txt:1\t(X ")
    call.result("parse", "-m", "english", "a.txt", "--output-dir", "parsed")
    assert call.result("search", "W < ran", "parsed", "--format", "text").endswith(".trees:2\tit ran\n")


def test_standard_input(warm: str) -> None:
    done = shell("cat a.trees | $RUN search 'VP < NP' --format text", Path(), warm)
    assert done.stdout == "-:1\tthe cat saw a dog\n-:3\ta cat <b> it\n"


def test_broken_pattern_has_a_caret(call: Caller) -> None:
    code, out, err = call("search", "NP < (DT", "a.trees")
    assert (code, out) == (2, "")
    assert err.splitlines()[-3:] == [
        "Error: Invalid value for 'PATTERN': the closing ) is missing",
        "  NP < (DT",
        "          ^",
    ]


def test_no_match_is_a_note(call: Caller) -> None:
    assert call("search", "zebra", "a.trees") == (0, "", "note: no sentence matches\n")
    Path("unlabeled.trees").write_text("(X (W a) (X (W b) (W c)))\n", encoding="utf-8")
    assert call("search", "NP", "unlabeled.trees")[2].endswith("the tag W, as in 'X < (W < saw)'\n")

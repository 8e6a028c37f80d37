"""``synparse eval`` from the outside: what it prints, in which order, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import synparse
from tests.support.calls import Caller
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

GOLD = (
    "( (S (NP-SBJ (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)) )\n"
    "(S (NP (NP (NNS dogs)) (PP (IN of) (NP (NN war)))) (VP (VBP bark)))\n"
    "(S (VP (VB go)) (. !))\n"
)
RIGHT = "(X (W the) (X (W cat) (X (W sat) (X (W on) (X (W the) (W mat))))))\n((((dogs) of) war) bark)\ngo\n"

CONLLU = "".join(
    f"{i}\t{word}\t_\t_\t{tag}\t_\t{head}\t_\t_\t_\n"
    for i, (word, tag, head) in enumerate([("the", "DT", 2), ("cat", "NN", 3), ("sat", "VBD", 0), (".", ".", 3)], 1)
)


class FakeParser:
    """A parser that returns right-branching trees and records the sentences that it parses."""

    name, output, token, decoded = "fake", "trees", "word", "model:fake|decoder:biased"
    tokenization = learned_from = ""
    parsed: list[tuple[str, ...]] = []  # noqa: RUF012

    def parse(self, sentences: Iterable[Sentence]) -> Iterator[Tree]:
        for words in (sentence.words for sentence in sentences):
            self.parsed.append(words)
            yield Tree.from_spans(words, [(i, len(words)) for i in range(len(words))])


@pytest.fixture(autouse=True)
def _folder(working_folder: Path) -> None:
    Path("gold.mrg").write_text(GOLD, encoding="utf-8")
    Path("right.txt").write_text(RIGHT, encoding="utf-8")


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every call of ``load_parser``, which gives a fake."""
    calls: list[Any] = []

    def fake(run: str, **keywords: Any) -> FakeParser:
        calls.append((run, keywords))
        return FakeParser()

    FakeParser.parsed.clear()
    monkeypatch.setattr("induce.parsing.systems.load_parser", fake)
    return calls


def test_json(call: Caller) -> None:
    document = call.json("eval", "right.txt", "--gold", "gold.mrg", "--baseline", "right")
    assert document["gold"] == {"name": "gold.mrg", "sentences": 3, "sha256": document["gold"]["sha256"], "note": ""}
    assert len(document["gold"]["sha256"]) == 64
    first, second = document["scores"]
    assert (first.pop("system"), second.pop("system")) == ("right.txt", "right")
    assert (round(first["value"], 4), round(second["value"], 4)) == (75.0, 58.3333)  # 3/4, 1/2, 1 and 3/4, 0, 1
    assert list(first) == [
        *("metric", "convention", "value", "precision", "recall", "interval", "sentences", "brackets", "signature"),
        *("by_label", "depth", "right_left", "right_left_no_apostrophe", "by_length", "by_height"),
    ]
    assert first["by_length"] == {"1-10": [3, first["value"]]}
    assert first["by_height"]["2"] == [1, 2]  # `the mat` and `dogs of`
    assert first["by_label"]["NP"] == [2, 3]  # one of them is `dogs of war`
    assert first["signature"].startswith("UF1|conv:on-lstm|avg:sent|root:drop|trivial:drop|tokens:words|")
    assert first["interval"] is None  # of three sentences


def test_models_then_files_then_baselines(call: Caller, options: list[Any]) -> None:
    document = call.json(
        "eval",
        *("--baseline", "left", "right.txt", "--gold", "gold.mrg", "-m", "some", "--baseline", "balanced"),
        *("--convention", "km", "--convention", "on-lstm"),
    )
    order = [(score["convention"], score["system"]) for score in document["scores"]]
    systems = ["some", "right.txt", "left", "balanced"]
    assert order == [(convention, system) for convention in ("km", "on-lstm") for system in systems]
    assert callable(options[0][1].pop("report"))
    assert options == [("some", {"decoder": None, "priors": None, "device": "auto"})]


@pytest.mark.parametrize("by_environment", [True, False])
def test_default_model_is_scored(
    call: Caller, options: list[Any], monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    name = "elsewhere" if by_environment else "synparse-model"
    if by_environment:
        monkeypatch.setenv("SYNPARSE_MODEL", name)
    baseline = call.json("eval", "--gold", "gold.mrg", "--baseline", "left")
    assert [score["system"] for score in baseline["scores"]] == ([name, "left"] if by_environment else ["left"])
    call.json("eval", "--gold", "gold.mrg")
    assert options[-1][0] == (name if by_environment else "english")
    Path(name).mkdir()
    both = call.json("eval", "--gold", "gold.mrg", "--baseline", "left")
    assert [score["system"] for score in both["scores"]] == [name, "left"]
    assert options[-1][0] == name
    assert [score["system"] for score in call.json("eval", "right.txt", "--gold", "gold.mrg")["scores"]] == [
        "right.txt"
    ]


def test_signatures_below_the_table(call: Caller) -> None:
    """docs/tutorials/evaluation.md shows complete tables."""
    Path("folder").mkdir()
    Path("folder/gold.mrg").write_text(GOLD, encoding="utf-8")
    arguments = ("--baseline", "right", "--baseline", "random", "--seed", "7")
    out = call.result("eval", "--gold", "folder/gold.mrg", *arguments)
    lines = [line for line in out.splitlines() if "|data:gold.mrg|sha256:" in line]  # without the folder
    assert ["|seed:7|" in line for line in lines] == [False, True]
    assert "\x1b" not in out


def test_the_best_is_bold_in_latex(call: Caller) -> None:
    systems = ("right.txt", "again=right.txt", "--baseline", "oracle")
    out = call.result("eval", "--gold", "gold.mrg", *systems, "--format", "latex")
    assert out.count("\\textbf{") == out.count("\\textbf{75.0}") == 2
    assert "*75" not in out


def test_negative_numbers_have_a_minus_sign_in_latex(call: Caller) -> None:
    systems = ("a-1=right.txt", "--baseline", "left", "--compare")
    out = call.result("eval", "--gold", "gold.mrg", *systems, "--format", "latex")
    numbers = out.partition("Diff.")[2].partition("\\bottomrule")[0]
    assert "$-$" in numbers
    assert "a-1" in numbers
    assert " -" not in numbers.replace(" - ", " ")


@pytest.mark.parametrize(
    "options", ["--format xml", "--format json --worst 1", "--seed 3", "--decoder nary", "--max-length 0"]
)
def test_options_that_do_not_fit_are_refused(call: Caller, options: str) -> None:
    assert options.split()[0] in call.usage("eval", "--gold", "gold.mrg", "right.txt", *options.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--gold", "gold.mrg", "--baseline", "rigth"), "no baseline 'rigth'; did you mean 'right'?"),
        (("--gold", "gold.mrg", "--convention", "kim"), "no convention 'kim'; did you mean 'km'?"),
        (
            ("--gold", "sampel", "--baseline", "left"),
            "no treebank 'sampel': neither a file nor a name; did you mean 'sample'?",
        ),
        (("missing.txt", "--gold", "gold.mrg"), "missing.txt: cannot be read: no such file or directory"),
        (("--gold", "gold.conllu", "right.txt"), "gold.conllu: gold has heads, but no trees to score"),
        (("--gold", "gold.mrg", "--convention", "km", "--baseline", "next"), "next has heads, but no convention"),
    ],
)
def test_unknown_names_and_systems_without_gold_are_refused(
    call: Caller, arguments: tuple[str, ...], expected: str
) -> None:
    """A wrong name is wrong usage."""
    Path("gold.conllu").write_text(CONLLU + "\n", encoding="utf-8")
    code = 2 if "; did you mean" in expected else 1
    assert call.refusal("eval", *arguments, code=code).startswith(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RIGHT.replace("(W sat)", "(W sit)"), "1: the words differ from gold.mrg:1: word 3 is 'sit', in gold 'sat'"),
        (
            "(a (b c))\n",
            "1: the words differ from gold.mrg:1: word 1 is 'a', in gold 'the' "
            "(1 tree for the 3 sentences of gold.mrg)",
        ),
        (RIGHT.replace("go\n", ""), " 2 trees for the 3 sentences of gold.mrg; the one for gold.mrg:3 is missing"),
        (RIGHT + "go\n", "4: an extra tree after the one for gold.mrg:3 (4 trees for the 3 sentences of gold.mrg)"),
        ("(a (b c)\n", "1: this tree is never closed; add the missing ')', or take the tree out"),
    ],
)
def test_predictions_that_do_not_match(call: Caller, text: str, message: str) -> None:
    Path("bad.txt").write_text(text, encoding="utf-8")
    assert call.refusal("eval", "bad.txt", "--gold", "gold.mrg") == f"bad.txt:{message}"


def test_no_model_means_no_torch(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "right.txt" in call.result("eval", "right.txt", "--gold", "gold.mrg", "--baseline", "left")


# --- comparisons, spreads, other forms of output


def test_comparison(call: Caller) -> None:
    few = ("eval", "--gold", "gold.mrg", "right.txt", "again=right.txt", "--compare")
    (same,) = call.json(*few)["comparisons"]
    assert (same["difference"], same["interval"], same["p_sentences"], same["p_seeds"]) == (0, None, None, None)
    assert "fewer than 10 sentences: no intervals and no p-values" in call.result(*few)
    for name in ("gold.mrg", "right.txt"):
        Path(f"many-{name}").write_text(Path(name).read_text(encoding="utf-8") * 4, encoding="utf-8")
    many = ("eval", "--gold", "many-gold.mrg", "many-right.txt", "again=many-right.txt", "--baseline", "left")
    same, other = call.json(*many, "--compare")["comparisons"]
    assert (same["difference"], same["interval"], same["p_sentences"]) == (0, [0, 0], 1)
    assert other["p_corrected"] == pytest.approx(2 * other["p_sentences"])
    assert "no p (seeds): one model on either side" in call.result(*many, "--compare")
    composed = ("--convention", "root:keep", "--convention", "avg:corpus,root:keep")  # both are called custom
    pair = ("eval", "--gold", "many-gold.mrg", "many-right.txt", "--baseline", "left", "--compare")
    assert [item["p_corrected"] for item in call.json(*pair, *composed)["comparisons"]] == [None, None]
    published, _ = call.json(*many, "--published", "C-PCFG=55.2±2.1:4")["comparisons"]
    assert published["systems"] == ["C-PCFG (published)", "many-right.txt"]
    assert published["p_seeds"] < 0.05
    assert "second system" in call.refusal("eval", "--gold", "gold.mrg", "right.txt", "--compare")


def test_published_scores_need_one_convention(call: Caller) -> None:
    several = ("--convention", "km", "--convention", "on-lstm", "--published", "C-PCFG=55.2±2.1:4")
    problem = "one kind of score can be compared with it, not UF1 under km, UF1 under on-lstm; name one --convention"
    assert problem in call.usage("eval", "--gold", "gold.mrg", "right.txt", *several)


def test_files_of_a_pattern_are_a_family(call: Caller) -> None:
    Path("trees").mkdir()
    for seed in (1, 2):
        Path(f"trees/{seed}.txt").write_text(RIGHT, encoding="utf-8")
    command = ("eval", "--gold", "gold.mrg", "ours=trees/*.txt", "trees/[2].txt", "--baseline", "left", "--compare")
    document = call.json(*command)
    systems = [score["system"] for score in document["scores"]]
    assert systems == ["ours 1.txt", "ours 2.txt", "trees/2.txt", "left"]
    (group,) = document["groups"]
    assert (group["systems"], list(group["values"])) == ("ours", ["ours 1.txt", "ours 2.txt"])
    assert [item["systems"] for item in document["comparisons"]] == [["ours", "trees/2.txt"], ["ours", "left"]]
    assert "none-*.txt: no file matches this pattern" in call.refusal("eval", "--gold", "gold.mrg", "none-*.txt")


def test_two_systems_cannot_have_one_name(call: Caller) -> None:
    problem = "two systems are called 'x'; choose different names, as NAME=PATH"
    assert problem in call.refusal("eval", "--gold", "gold.mrg", "x=right.txt", "x=gold.mrg")
    Path("trees").mkdir()
    for seed in (1, 2):
        Path(f"trees/{seed}.txt").write_text(RIGHT, encoding="utf-8")
    assert problem in call.refusal("eval", "--gold", "gold.mrg", "x=trees/*.txt", "x=right.txt")


def test_repeated_conventions_count_once_and_composed_ones_are_told_apart(call: Caller) -> None:
    names = ("evalb", "evalb", "len:1-3", "len:4-", "avg:corpus,len:1-3")
    conventions = [option for name in names for option in ("--convention", name)]
    command = ("eval", "--gold", "gold.mrg", "right.txt", "--baseline", "left", *conventions, "--compare")
    scores = call.json(*command)["scores"]
    assert [score["convention"] for score in scores[::2]] == ["evalb", *["custom"] * 3]
    table = call.result(*command, "--by", "length")
    sizes = [line.split() for line in table.splitlines() if line.startswith("(sentences)")]
    assert [size[1] for size in sizes] == ["evalb", "len:1-3", "len:4-", "avg:corpus,len:1-3"]
    assert sizes[1][2:] != sizes[2][2:]


def test_named_systems_have_their_names_everywhere(call: Caller, options: list[Any]) -> None:
    for seed in (1, 2):
        Path(f"runs/seed-{seed}").mkdir(parents=True)
    arguments = ("eval", "--gold", "gold.mrg", "theirs=right.txt", "-m", "ours=runs/seed-*", "-m", "one=runs/seed-1")
    document = call.json(*arguments, "--compare")
    names = [(score["system"], score.get("model")) for score in document["scores"]]
    models = [("ours seed-1", "runs/seed-1"), ("ours seed-2", "runs/seed-2"), ("one", "runs/seed-1")]
    assert names == [*models, ("theirs", None)]
    assert [(group["systems"], list(group["values"])) for group in document["groups"]] == [
        ("ours", ["runs/seed-1", "runs/seed-2"])
    ]
    assert [item["systems"] for item in document["comparisons"]] == [["ours", "one"], ["ours", "theirs"]]
    scores = synparse.evaluate("gold.mrg", {"theirs": "right.txt", "trees": GOLD.splitlines()})
    assert [score.system for score in scores.trees] == ["trees", "theirs"]
    assert repr(scores).startswith("System ")
    assert all(score.signature in repr(scores) for score in scores.scores)
    assert len(repr(scores)) < 5_000


def test_a_pattern_of_models_gives_mean_and_deviation(call: Caller, options: list[Any]) -> None:
    for seed in (1, 2):
        Path(f"runs/seed-{seed}").mkdir(parents=True)
    document = call.json("eval", "--gold", "gold.mrg", "-m", "runs/seed-*")
    assert [run for run, _ in options] == ["runs/seed-1", "runs/seed-2"]
    (group,) = document["groups"]
    value = document["scores"][0]["value"]
    assert group == {
        **{"systems": "runs/seed-*", "metric": "UF1", "convention": "on-lstm"},
        **{"values": {"runs/seed-1": value, "runs/seed-2": value}, "mean": pytest.approx(value), "sd": 0, "max": value},
        "signature": f"{document['scores'][0]['signature']}|models:2",
    }
    out = call.result("eval", "--gold", "gold.mrg", "-m", "runs/seed-*")
    row = next(line.split() for line in out.splitlines() if line.startswith("runs/seed-* "))
    assert row == ["runs/seed-*", "on-lstm", "UF1", f"{value:.1f}", "0.0", f"{value:.1f}", "2"]
    assert "no model folder matches" in call.refusal("eval", "--gold", "gold.mrg", "-m", "runs/none-*")


def test_csv_is_one_table_and_details_have_one_file_for_each(call: Caller) -> None:
    arguments = ["eval", "--gold", "gold.mrg", "right.txt", "--baseline", "left", "--by", "length"]
    lines = call.result(*arguments, "--format", "csv").splitlines()
    assert [line.split(",")[0] for line in lines] == ["System", "right.txt", "left"]
    call.result(*arguments, "--format", "csv", "--details", "d")
    names = {"scores", "recall-of-constituents-by-label", "uf1-by-sentence-length-in-words"}
    assert {path.stem for path in Path("d").glob("*.csv")} == names
    for name in names:
        rows = list(csv.reader(Path("d", f"{name}.csv").read_text(encoding="utf-8-sig").splitlines()))
        assert rows[0][0] == "System"
        assert {len(row) for row in rows} == {len(rows[0])}
    call.result(*arguments[:-2], "--details", "d")  # tables of the earlier call are not left
    assert {path.stem for path in Path("d").glob("*.csv")} == names - {"uf1-by-sentence-length-in-words"}
    Path("d/scores.csv").write_text("my table\n")
    assert "d/scores.csv: not written by synparse" in call(*arguments, "--details", "d")[2]


def test_lists_and_patterns_of_models_are_families_in_python(model: Path) -> None:
    for seed in (1, 2):
        shutil.copytree(model, f"runs/seed-{seed}")
    paths = [Path("runs/seed-1"), Path("runs/seed-2")]
    for system, name in (({"ours": paths}, "ours"), ({"ours": "runs/seed-*"}, "ours"), (paths, "runs/seed-*")):
        (spread,) = synparse.evaluate("gold.mrg", system).spreads
        assert (spread.pattern, list(spread.runs.values)) == (name, ["runs/seed-1", "runs/seed-2"])
    with pytest.raises(synparse.SynparseError, match="runs/seed-3"):
        synparse.evaluate("gold.mrg", {"ours": [*paths, "runs/seed-3"]})


@pytest.mark.parametrize("form", ["table", "latex"])
def test_all_formats_have_the_same_tables(call: Caller, options: list[Any], form: str) -> None:
    for seed in (1, 2):
        Path(f"runs/seed-{seed}").mkdir(parents=True)
    arguments = ["eval", "--gold", "gold.mrg", "right.txt", "-m", "runs/seed-*", "--compare", "--by", "length"]
    out = call.result(*arguments, "--format", form)
    for title in (
        "Mean over models",
        "Recall of constituents by label, in percent",
        "UF1 by sentence length in words",
        "Difference from the first system, in percentage points",
    ):
        assert out.count(title) == 1
    for cell in ("runs/seed-*", "(number)", "(sentences)", "right.txt - runs/seed-*", "UF1|conv:on-lstm|"):
        assert cell in out


def test_random_baselines_are_expectations_unless_a_seed_is_given(call: Caller) -> None:
    exact = call.json("eval", "--gold", "gold.mrg", "--baseline", "random")["scores"][0]
    assert "|runs:exact|" in exact["signature"]
    assert list(exact["runs"]["values"]) == ["1", "2", "3", "4", "5"]
    first = (1 / 2 + 1 / 4 + 1 / 3 + 1 / 2) / 4  # of the four brackets of `the cat sat on the mat`, all at an end
    second = (1 / 3 + 2 / (2 * 3)) / 2  # of the two of `dogs of war bark`, the latter inside
    assert exact["value"] == pytest.approx(100 * (first + second + 1) / 3, abs=1e-5)
    drawn = call.json("eval", "--gold", "gold.mrg", "--baseline", "random", "--seed", "3")["scores"][0]
    assert "|seed:3|" in drawn["signature"]
    assert drawn["value"] == pytest.approx(exact["runs"]["values"]["3"])


def test_heads(call: Caller) -> None:
    Path("gold.conllu").write_text(CONLLU + "\n", encoding="utf-8")
    Path("mine.conllu").write_text(CONLLU.replace("\t2\t_", "\t3\t_") + "\n", encoding="utf-8")
    document = call.json("eval", "--gold", "gold.conllu", "mine.conllu", "--baseline", "next")["scores"]
    values = {(score["system"], score["metric"]): score["value"] for score in document}
    assert values["mine.conllu", "UAS"] == pytest.approx(100 * 2 / 3)
    assert values["next", "UAS"] == 100
    assert document[0]["signature"].startswith("UAS|conv:udgn|")
    assert "depth" not in document[0]
    both = call.json(
        "eval", "--gold", "gold.mrg", "--baseline", "right", "--baseline", "next", "--head-rules", "collins"
    )
    assert [(score["system"], score["metric"]) for score in both["scores"]] == [
        *(("right", "UF1"), ("next", "UAS"), ("next", "UUAS")),
    ]
    assert "heads:collins" in both["scores"][1]["signature"]
    table = call.result("eval", "--gold", "gold.conllu", "mine.conllu")
    assert " ".join(table.split()[:5]) == "System Convention UAS UUAS Tokens"


def test_other_forms(call: Caller) -> None:
    arguments = ["eval", "--gold", "gold.mrg", "right.txt", "--baseline", "left"]
    out = call.result(*arguments, "--format", "csv")
    first, second = csv.DictReader(io.StringIO(out.partition("\n#")[0]))
    assert (first["System"], second["System"]) == ("right.txt", "left")
    assert float(first["UF1"]) == pytest.approx(75, abs=1e-4)
    assert first["Signature"].startswith("UF1|conv:on-lstm|")
    out = call.result(*arguments, "--format", "latex")
    assert out.startswith("% \\usepackage{booktabs}\n\\begin{tabular}{ll")
    assert "\n% UF1|conv:on-lstm|" in out
    out = call.result(*arguments, "--by", "length", "--by", "height", "--worst", "1", "--details", "saved")
    assert "1-10" in out
    assert "by height" in out
    assert "gold.mrg:2: 50.0 (1 of 2 brackets)" in out
    assert "1 of 2 gold brackets" in out
    assert "● in gold and predicted" in out
    rows = list(csv.DictReader(Path("saved/sentences.tsv").read_text("utf-8").splitlines(), delimiter="\t"))
    assert [row["location"] for row in rows[:3]] == ["gold.mrg:1", "gold.mrg:2", "gold.mrg:3"]
    mean = sum(float(row["value"]) for row in rows[:3]) / 3
    document = json.loads(Path("saved/scores.json").read_text("utf-8"))
    assert document["scores"][0]["value"] == pytest.approx(mean, abs=1e-3)


def test_broken_gold_is_left_out_only_when_asked(call: Caller) -> None:
    Path("broken.mrg").write_text(GOLD + "(S (NP (NN a)\n" + "(S (NN b) (VB c))\n", encoding="utf-8")
    assert "broken.mrg:4" in call.refusal("eval", "--gold", "broken.mrg", "--baseline", "left")
    code, out, err = call("eval", "--gold", "broken.mrg", "--baseline", "left", "--on-error", "skip")
    assert (code, err.count("broken.mrg:4")) == (0, 1)
    assert "(1 malformed left out)|sha256:67b58173422e|sentences:4|" in out


def test_sentences_without_penn_tags_are_noted_if_tags_select_the_words(call: Caller) -> None:
    Path("mixed.mrg").write_text(GOLD + "(S (NP (ART das) (NN Haus)) (VP (VAFIN ist) (ADJD alt)))\n", encoding="utf-8")
    for baseline, rule in (("left", "words"), ("next", "words+aux")):
        out = call.result("eval", "--gold", "mixed.mrg", "--baseline", baseline)
        assert f"(tokens:{rule}), but some sentences of mixed.mrg have other tags or none: 1 of 4; score" in out
    assert "note" not in call.result("eval", "--gold", "gold.mrg", "--baseline", "left")


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-15"])
def test_encoding_applies_to_gold_and_to_predictions_that_are_not_utf8(call: Caller, encoding: str) -> None:
    Path("gold.mrg").write_bytes("(S (NN Käse) (VP (VB iß) (RB schön)))\n".encode("iso-8859-15"))
    Path("right.txt").write_bytes("(Käse (iß schön))\n".encode(encoding))
    assert "gold.mrg:1: invalid UTF-8 (0xe4" in call.refusal("eval", "right.txt", "--gold", "gold.mrg")
    document = call.json("eval", "right.txt", "--gold", "gold.mrg", "--encoding", "iso-8859-15")
    assert document["scores"][0]["value"] == pytest.approx(100)


def test_spans_without_words(call: Caller) -> None:
    """The length, or else the last span, says over which of the gold sentence's words they go."""
    lines = [
        {"spans": [[0, 6], [1, 6], [2, 6], [3, 6], [4, 6]], "length": 6},  # punctuation not counted
        {"spans": [[0, 4], [0, 3], [0, 2]]},
        {"spans": [], "length": 2},
    ]
    Path("spans.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    document = call.json("eval", "spans.jsonl", "right.txt", "--gold", "gold.mrg")["scores"]
    assert document[0]["value"] == document[1]["value"]
    Path("spans.jsonl").write_text('{"spans": [[0, 9]]}\n' * 3, encoding="utf-8")
    message = "spans.jsonl:1: a span ends at 9, but the gold sentence has 7 words"
    assert call.refusal("eval", "spans.jsonl", "--gold", "gold.mrg") == message


def test_table_of_sentences_is_read_by_spreadsheets(call: Caller) -> None:
    Path("quotes.mrg").write_text(
        '(S (NN ") (NN I) (NN go))\n(S (NN a) (VB b))\n(S (NN =x) (VB b))\n', encoding="utf-8"
    )
    Path("tab.txt").write_text('(" (I go))\n(a b)\n(=x b)\n', encoding="utf-8")
    call.result("eval", "--gold", "quotes.mrg", "a\tb=tab.txt", "--details", "d")
    with open("d/sentences.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["sentence"] for row in rows] == ['" I go', "a b", "'=x b"]
    assert {None} not in [set(row) for row in rows]


def test_details_are_written_with_everything_even_if_no_tree_can_be_drawn(call: Caller) -> None:
    command = ("eval", "--gold", "gold.mrg", "--baseline", "random", "--worst", "1", "--details", "d")
    code, _, err = call(*command)
    assert (code, "--worst draws trees" in err) == (1, True)
    document = json.loads(Path("d/scores.json").read_text(encoding="utf-8"))
    assert document["scores"][0]["by_length"]


def test_composed_conventions_have_their_choices_in_tables(call: Caller) -> None:
    names = ("avg:corpus,root:keep", "avg:corpus")
    conventions = [option for name in names for option in ("--convention", name)]
    command = ("eval", "--gold", "gold.mrg", "right.txt", "--baseline", "left", *conventions, "--compare")
    document = call.json(*command, "--details", "d")
    assert [item["choices"].split("|")[2] for item in document["comparisons"]] == ["root:keep", "root:drop"]
    lines = Path("d/sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert {line.split("\t")[2] for line in lines} == {*names}
    table = call.result(*command)
    assert all(table.count(f" {name} ") == 3 for name in names)


def test_length_counts_the_words_of_the_convention(call: Caller) -> None:
    Path("gold.mrg").write_text(
        "(S (NP (NN a) (NN b)) (VP (VB c) (NN %)))\n(S (NN a) (NP (NN b) (NN c) (NN d)))\n", encoding="utf-8"
    )
    command = ("eval", "--gold", "gold.mrg", "--baseline", "right", "--max-length", "3")
    (score,) = call.json(*command, "--convention", "tokens:letters")["scores"]
    assert (score["sentences"], "|tokens:letters|repeats:once|len:1-3|" in score["signature"]) == (1, True)
    assert "no sentence is left to score" in call.refusal(*command)


def test_tags_of_the_penn_treebank_are_named_as_such(call: Caller) -> None:
    table = call.result("eval", "--gold", "gold.mrg", "--baseline", "right", "--convention", "tokens:letters")
    assert "not those of the Penn Treebank" not in table


def test_published_scores_need_a_system(call: Caller) -> None:
    command = ("eval", "--gold", "gold.mrg", "--baseline", "right", "--published", "X=55+-2:4")
    assert "baselines are not compared with it; name a model or a file" in call.usage(*command)


def test_files_of_a_family_can_have_equals_signs(call: Caller) -> None:
    Path("trees").mkdir()
    for rate in (1, 2):
        Path(f"trees/lr={rate}.txt").write_text(RIGHT, encoding="utf-8")
    (group,) = call.json("eval", "--gold", "gold.mrg", "ours=trees/*.txt")["groups"]
    assert list(group["values"]) == ["ours lr=1.txt", "ours lr=2.txt"]


def test_empty_trees_over_characters_have_no_brackets(call: Caller) -> None:
    Path("empty.txt").write_text("(TOP )\n" * 3, encoding="utf-8")
    document = call.json("eval", "--gold", "gold.mrg", "empty.txt", "--characters")
    assert document["words"][0]["recall"] < 20
    assert document["scores"][0]["value"] == pytest.approx(100 / 3, abs=0.01)  # the last sentence has no gold brackets


def test_encoding_is_that_of_predictions_that_are_not_utf8(call: Caller) -> None:
    Path("heads.conllu").write_text(CONLLU + "\n", encoding="utf-8")
    Path("heads.txt").write_text(CONLLU + "\n", encoding="utf-16")
    Path("gold.conllu").write_text(CONLLU + "\n", encoding="utf-16")
    command = ("eval", "--gold", "gold.conllu", "heads.txt", "heads.conllu", "--encoding", "utf-16")
    assert {score["value"] for score in call.json(*command)["scores"]} == {100}

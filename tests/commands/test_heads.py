"""A model that predicts heads, through every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text
from treebank.core.dependency import is_tree
from treebank.io.conllu import read_conllu
from treebank.io.read import read_sentences

TEXT = "The dog saw a cat .\n\n.\nman\nThe old girl , met the 12 .\n"


@pytest.fixture
def parser(tiny_model: Callable[..., Path]) -> Path:
    """A model of heads."""
    return tiny_model("udgn")


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text, to work in."""
    Path("in.txt").write_text(TEXT, encoding="utf-8")


@pytest.mark.parametrize("decoder", [None, "chu-liu-edmonds", "eisner", "argmax"])
def test_parse_writes_conllu_and_so_do_extract_and_decode(call: Caller, parser: Path, decoder: str | None) -> None:
    options = ["--decoder", decoder] if decoder else []
    out = call.result("parse", "-m", parser, "in.txt", *options)
    assert out == call.result("parse", "-m", parser, "in.txt", "--format", "conllu", *options)
    Path("out.conllu").write_text(out, encoding="utf-8")
    sentences = list(read_conllu("out.conllu"))
    lines = [line.split() for line in TEXT.splitlines()]
    assert [list(sentence.words) for sentence in sentences] == [words for words in lines if words]
    if decoder != "argmax":
        assert all(is_tree(sentence.heads) for sentence in sentences)
    Path("h.jsonl").write_text(call.result("extract", "-m", parser, "in.txt", "--what", "heads"), encoding="utf-8")
    rows = [json.loads(line) for line in Path("h.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["words"] for row in rows] == lines
    assert [len(row["heads"]) for row in rows] == [5, 0, 0, 1, 6]
    assert call.result("decode", "h.jsonl", *options) == out


def test_heads_have_confidences(call: Caller, parser: Path) -> None:
    marked = call.result("parse", "in.txt", "-m", parser, "--mark-confidence")
    out = call.result("parse", "in.txt", "-m", parser, "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    columns = [row.split("\t") for row in marked.splitlines() if "\t" in row]
    expected = [
        (str(head + 1), "_" if value is None else f"Confidence={value:.2f}")
        for row in rows
        for head, value in zip(row["arcs"], row.get("confidences", [None] * len(row["arcs"])), strict=True)
    ]
    assert [(row[6], row[9]) for row in columns] == expected
    assert (
        sum("Confidence=" in row[9] for row in columns) == 9
    )  # without marks, and without the root, which udgn does not estimate
    Path("heads.jsonl").write_text(out, "utf-8")
    assert [list(sentence.heads) for sentence in read_sentences(["heads.jsonl"])] == [row["arcs"] for row in rows]


def test_eval_scores_heads(call: Caller, parser: Path) -> None:
    Path("gold.conllu").write_text(call.result("parse", "-m", parser, "in.txt"), encoding="utf-8")
    arguments = ("eval", "--gold", "gold.conllu", "-m", parser, "--baseline", "next", "--convention", "all-tokens")
    scores = call.json(*arguments)["scores"]
    assert [(score["system"], score["metric"]) for score in scores] == [
        (system, metric) for system in ("udgn", "next") for metric in ("UAS", "UUAS")
    ]
    assert [score["value"] for score in scores[:2]] == [100, 100]
    assert scores[2]["value"] < 100
    argmax = call.json(*arguments, "--decoder", "argmax")["scores"]
    assert argmax[0]["value"] <= 100


def test_eval_reports_recall_by_relation_and_distance(call: Caller) -> None:
    rows = ["1 a _ DET _ _ 2 det _ _", "2 b _ NOUN _ _ 0 root _ _", "3 c _ VERB _ _ 1 acl:relcl _ _", "", ""]
    Path("gold.conllu").write_text("\n".join(rows).replace(" ", "\t"), encoding="utf-8")
    arguments = ("eval", "--gold", "gold.conllu", "--baseline", "next", "--by")
    code, out, err = call(*arguments, "relation", "--by", "distance", "--by", "length", "--by", "height")
    assert code == 0
    tables = [line.split() for line in out.splitlines()]
    assert tables.count(["root", "1", "0.0", "0.0"]) == 2  # among relations and among distances
    for row in (["det", "1", "100.0", "100.0"], ["acl", "1", "0.0", "0.0"], ["-2", "1", "0.0", "0.0"]):
        assert row in tables
    assert "UUAS by sentence length in words" in out
    assert "no scores by height, which needs trees" in err
    (uas, _) = call.json(*arguments, "relation")["scores"]
    assert uas["by_relation"] == {"acl": [0, 1], "det": [1, 1], "root": [0, 1]}
    assert uas["by_distance"] == {"root": [0, 1], "-2": [0, 1], "+1": [1, 1]}


def test_trees_are_refused(call: Caller, parser: Path) -> None:
    gives = "model 'udgn': the decoder 'chu-liu-edmonds' gives heads, not trees"
    problem = f"{gives} (try --format conllu or decoder 'heads-to-tree')"
    assert call.refusal("parse", "-m", parser, "in.txt", "--format", "brackets") == problem
    for decoder in ("chu-liu-edmonds", "heads-to-tree"):
        problem = f"model 'udgn': decoder '{decoder}': heads have no confidence in phrases"
        sure = ("parse", "-m", parser, "in.txt", "--decoder", decoder, "--min-confidence", "0.5")
        assert call.refusal(*sure) == problem
    problem = "drawings of heads show no confidence; leave out --mark-confidence"
    assert call.refusal("parse", "-m", parser, "in.txt", "--format", "drawing", "--mark-confidence", code=2) == problem
    problem = "model 'udgn': the decoder 'chu-liu-edmonds' reads heads, not distances (try --what heads)"
    assert call.refusal("extract", "-m", parser, "in.txt", "--what", "distances") == problem
    problem = "model 'udgn' gives heads; decoder 'biased' needs distances (try 'chu-liu-edmonds')"
    assert call.refusal("parse", "-m", parser, "in.txt", "--decoder", "biased", code=2) == problem


def test_heads_are_drawn_as_draw_draws_them(call: Caller, parser: Path) -> None:
    Path("one.txt").write_text("the dog saw a cat\n", encoding="utf-8")
    arcs = call.result("parse", "-m", parser, "one.txt", "--format", "drawing").rstrip("\n")
    assert arcs.splitlines()[-1].split() == ["the", "dog", "saw", "a", "cat"]
    assert arcs in call.result("draw", "-m", parser, "one.txt", "--width", "80")


def test_heads_of_a_model_of_trees_are_refused(call: Caller, model: Path) -> None:
    problem = call.refusal("parse", "-m", model, "in.txt", "--format", "conllu")
    assert problem == "model 'onlstm': the decoder 'unbiased' gives trees, not heads (try another --format)"


def test_tags_of_other_treebanks_do_not_fit_the_published_recipe(call: Caller, tiny_model: Callable[..., Path]) -> None:
    run = tiny_model("udgn", "data.normalization=ptb")
    words, tags = ("the", "dog", "saw", "a", "cat"), ("ART", "NN", "VVFIN", "ART", "NN")
    rows = [f"{i} {word} _ X {tag} _ {i - 1} dep _ _" for i, (word, tag) in enumerate(zip(words, tags, strict=True), 1)]
    Path("foreign.conllu").write_text("\n".join([*rows, "", ""]).replace(" ", "\t"), encoding="utf-8")
    Path("plain.txt").write_text(" ".join(words) + "\n", encoding="utf-8")
    heads = []
    for path in ("foreign.conllu", "plain.txt"):
        Path("out.conllu").write_text(call.result("parse", "-m", run, path), encoding="utf-8")
        heads.append([sentence.heads for sentence in read_conllu("out.conllu")])
    assert heads[0] == heads[1]
    (score,) = call.json("perplexity", "foreign.conllu", "-m", run)["scores"]
    assert score["words"] == len(words)


CONLLU = "1\ta\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tb\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


def test_three_columns_of_heads(call: Caller) -> None:
    Path("gold.dp").write_text("a\tDT\t2\nb\tNN\t0\n\n", encoding="utf-8")
    Path("predicted.dp").write_text("a\tDT\t0\nb\tNN\t1\n\n", encoding="utf-8")
    uas, uuas = call.json("eval", "--gold", "gold.dp", "predicted.dp")["scores"]
    assert (uas["value"], uuas["value"]) == (0, 50)


def test_sentences_without_heads_are_skipped_on_request(call: Caller) -> None:
    Path("gold.conllu").write_text(CONLLU + CONLLU.replace("\t2\t", "\t_\t").replace("\t0\t", "\t_\t"), "utf-8")
    arguments = ("eval", "--gold", "gold.conllu", "--baseline", "next")
    assert "gold.conllu:4: this sentence has neither heads nor a tree" in call.refusal(*arguments)
    code, out, err = call(*arguments, "--on-error", "skip")
    assert code == 0
    assert "1 malformed left out" in out
    assert "gold.conllu:4: this sentence has neither a tree nor heads" in err


def test_errors_of_scoring_have_different_messages(call: Caller, parser: Path) -> None:
    Path("gold.conllu").write_text(CONLLU, encoding="utf-8")
    arguments = ("eval", "--gold", "gold.conllu")
    trees = call.refusal(*arguments, "-m", parser, "--decoder", "heads-to-tree")
    assert "gold has heads, but no trees to score those of udgn against; if a model also gives heads" in trees
    rules = call.refusal(*arguments, "--baseline", "next", "--head-rules", "stanford")
    assert rules == "gold.conllu:1: this sentence has no tree for head rules"
    message = call.refusal(*arguments, "--baseline", "next", "--convention", "udgn,len:2-", code=2)
    assert message == "convention 'udgn,len:2-': for heads, only --max-length can change a convention"


def test_there_is_one_parser_for_all_layers(call: Caller, parser: Path) -> None:
    problem = call.refusal("parse", "-m", f"{parser}@layer=2", "in.txt")
    assert problem.endswith("there is no layer 2; this 'udgn' has one set of trees, as layer 1")


def test_unsuitable_decoder_is_reported_before_training(call: Caller) -> None:
    Path("text.txt").write_text(toy_text(), encoding="utf-8")
    options = ("--model", "udgn", "--set", "parse.decoder=unbiased")
    problem = call.refusal("train", "text.txt", "-o", "run", *options, code=2)
    assert problem == "model 'udgn' gives heads; decoder 'unbiased' needs distances (try 'chu-liu-edmonds')"
    assert not Path("run").exists()


def test_decode_reads_what_the_decoder_needs(call: Caller) -> None:
    line = {"words": ["a", "b"], "distances": [2, 1], "heads": [[0, 1], [0.5, 0]], "decoder": None}
    Path("both.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert call.result("decode", "both.jsonl", "--decoder", "argmax").count("\t") == 18
    assert call.result("decode", "both.jsonl").startswith("(X")

"""Models that predict heads, or heads and distances, through every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller, toy_text
from treebank.core.dependency import is_tree
from treebank.core.sentence import ROOT
from treebank.io.conllu import read_conllu
from treebank.io.read import read_sentences

TEXT = "The dog saw a cat .\n\n.\nman\nThe old girl , met the 12 .\n"


@pytest.fixture
def parser(tiny_model: Callable[..., Path]) -> Path:
    """A model of heads."""
    return tiny_model("udgn")


@pytest.fixture
def both(tiny_model: Callable[..., Path]) -> Path:
    """A model of distances and heads."""
    return tiny_model("structformer")


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text, to work in."""
    Path("in.txt").write_text(TEXT, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "decoder"),
    [
        *(("udgn", None), ("udgn", "argmax")),
        *(("structformer", "chu-liu-edmonds"), ("structformer", "eisner"), ("structformer", "heads-to-tree")),
    ],
)
def test_parse_writes_what_extract_and_decode_write(
    call: Caller, tiny_model: Callable[..., Path], name: str, decoder: str | None
) -> None:
    model, options = tiny_model(name), ["--decoder", decoder] if decoder else []
    out = call.result("parse", "-m", model, "in.txt", *options)
    Path("h.jsonl").write_text(call.result("extract", "-m", model, "in.txt", "--what", "heads"), encoding="utf-8")
    rows = [json.loads(line) for line in Path("h.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = [line.split() for line in TEXT.splitlines()]
    assert [row["words"] for row in rows] == lines
    assert [len(row["heads"]) for row in rows] == [5, 0, 0, 1, 6]
    assert call.result("decode", "h.jsonl", *options) == out
    if decoder == "heads-to-tree":
        assert out.splitlines()[1::2] == ["", "(X (W man))"]
        return
    assert out == call.result("parse", "-m", model, "in.txt", "--format", "conllu", *options)
    Path("out.conllu").write_text(out, encoding="utf-8")
    sentences = list(read_conllu("out.conllu"))
    assert [list(sentence.words) for sentence in sentences] == [words for words in lines if words]
    assert decoder == "argmax" or all(is_tree(sentence.heads) for sentence in sentences)


@pytest.mark.parametrize("decoder", [None, "nary", "unbiased", "biased"])
def test_trees_from_distances(call: Caller, both: Path, decoder: str | None) -> None:
    options = ["--decoder", decoder] if decoder else []
    out = call.result("parse", "-m", both, "in.txt", *options)
    assert out.splitlines()[1] == ""
    assert out.splitlines()[3] == "(X (W man))"
    Path("d.jsonl").write_text(call.result("extract", "-m", both, "in.txt"), encoding="utf-8")
    rows = [json.loads(line) for line in Path("d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [len(row["distances"]) for row in rows] == [5, 0, 0, 1, 6]
    assert {row["decoder"] for row in rows} == {"nary"}
    assert call.result("decode", "d.jsonl", *options) == out
    if decoder is None:
        assert call.result("extract", "-m", both, "in.txt", "--what", "distances") == Path("d.jsonl").read_text("utf-8")


def test_heads_from_heights(call: Caller, both: Path) -> None:
    out = call.result("parse", "-m", both, "in.txt", "--decoder", "heights")
    Path("h.jsonl").write_text(call.result("extract", "-m", both, "in.txt", "--what", "heights"), encoding="utf-8")
    rows = [json.loads(line)["heights"] for line in Path("h.jsonl").read_text(encoding="utf-8").splitlines()]
    assert call.result("decode", "h.jsonl") == out
    Path("out.conllu").write_text(out, encoding="utf-8")
    predicted = [sentence.heads for sentence in read_conllu("out.conllu")]
    assert len(predicted) == 4
    assert all(map(is_tree, predicted))
    highest = max(range(5), key=[height for _, height in rows[0]].__getitem__)
    assert predicted[0][highest] == ROOT


def test_eval_both_ways(call: Caller, both: Path) -> None:
    parse = ("parse", "-m", both, "in.txt")
    for decoder, gold in (("nary", "gold.ptb"), ("heads-to-tree", "other.ptb")):
        trees = [line for line in call.result(*parse, "--decoder", decoder).splitlines() if line]
        Path(gold).write_text("\n".join(trees) + "\n", encoding="utf-8")
        arguments = ("eval", "--gold", gold, "-m", both, "--decoder", decoder, "--format", "json")
        scores = json.loads(call.result(*arguments))["scores"]
        assert [score["metric"] for score in scores] == ["UF1"]
        assert scores[0]["value"] == pytest.approx(100, abs=1e-4)
    Path("gold.conllu").write_text(call.result(*parse, "--decoder", "eisner"), encoding="utf-8")
    arguments = ("eval", "--gold", "gold.conllu", "-m", both, "--decoder", "eisner", "--convention", "all-tokens")
    scores = call.json(*arguments)["scores"]
    assert [(score["metric"], score["value"]) for score in scores] == [("UAS", 100), ("UUAS", 100)]


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


def test_decoder_of_another_structure_than_the_extracted_one_is_refused(call: Caller, both: Path) -> None:
    problem = "the decoder 'biased' reads distances, not heads; leave out the decoder or --what"
    assert problem in call.usage("extract", "-m", both, "in.txt", "--what", "heads", "--decoder", "biased")
    assert problem in call.usage("extract", "-m", f"{both}@decoder=biased", "in.txt", "--what", "heads")
    call.result("extract", "-m", both, "in.txt", "--what", "distances", "--decoder", "biased")


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        (
            *("udgn", "--format brackets"),
            "'chu-liu-edmonds' gives heads, not trees (try --format conllu or decoder 'heads-to-tree')",
        ),
        (
            "onlstm",
            "--format conllu",
            "'unbiased' gives trees, not heads (try another --format, or train a model with --heads)",
        ),
        (
            *("structformer", "--format conllu"),
            "'nary' gives trees, not heads (try another --format or decoder 'chu-liu-edmonds')",
        ),
        (
            *("structformer", "--decoder eisner --format brackets"),
            "'eisner' gives heads, not trees (try --format conllu or decoder 'unbiased')",
        ),
    ],
)
def test_format_of_another_structure_is_refused(
    call: Caller, tiny_model: Callable[..., Path], name: str, options: str, problem: str
) -> None:
    message = call.refusal("parse", "-m", tiny_model(name), "in.txt", *options.split())
    assert message == f"model '{name}': the decoder {problem}"


def test_confidences_and_distances_are_refused(call: Caller, parser: Path) -> None:
    sure = ("parse", "-m", parser, "in.txt", "--min-confidence", "0.5", "--decoder")
    assert "--mark-confidence writes the confidence of each arc" in call.refusal(*sure, "chu-liu-edmonds")
    problem = "model 'udgn': decoder 'heads-to-tree': heads have no confidence in phrases"
    assert call.refusal(*sure, "heads-to-tree") == problem
    problem = "drawings of heads show no confidence; leave out --mark-confidence"
    assert call.refusal("parse", "-m", parser, "in.txt", "--format", "drawing", "--mark-confidence", code=2) == problem
    problem = "model 'udgn': the decoder 'chu-liu-edmonds' reads heads, not distances (try --what heads)"
    assert call.refusal("extract", "-m", parser, "in.txt", "--what", "distances") == problem
    problem = "model 'udgn' gives heads; decoder 'biased' needs distances (try 'chu-liu-edmonds')"
    assert call.refusal("parse", "-m", parser, "in.txt", "--decoder", "biased", code=2) == problem


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
    assert f"gold has heads, but no trees to score those of {parser} against; name a --decoder of heads" in trees
    assert trees.endswith("or score phrases: synparse convert GOLD --phrases-of-heads -o gold.mrg")
    trees = call.refusal(*arguments, "-m", parser, "--baseline", "left")
    assert trees.endswith("those of left against; the baselines of heads are previous, next")
    rules = call.refusal(*arguments, "--baseline", "next", "--head-rules", "stanford")
    assert rules == "gold.conllu:1: this sentence has no tree for head rules"
    message = call.refusal(*arguments, "--baseline", "next", "--convention", "udgn,len:2-", code=2)
    assert message == "convention 'udgn,len:2-': for heads, only --max-length can change a convention"


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

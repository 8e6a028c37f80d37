"""``synparse analyze channels`` from the outside."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller
from tests.support.tiny import sentences
from tests.support.toy_conllu import LABELS, conllu


@pytest.fixture
def udgn(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model("udgn")


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a treebank, to work in."""
    Path("gold.conllu").write_text(conllu(), encoding="utf-8")


def test_a_table_and_json(call: Caller, udgn: Path) -> None:
    arguments = ("analyze", "channels", "-m", udgn, "--gold", "gold.conllu")
    document = call.json(*arguments)
    names = {row["relation"]: row["arcs"] for row in document["relations"]}
    assert names == {"det": 120, "nsubj": 60, "obj": 60}  # amod is rare, punct was not seen by the model
    assert document["sentences"] == 60
    amod = sum(word in LABELS for sentence in sentences(60, seed=4) for word in sentence.words if word != ".")
    assert document["pairs"] == 240 + amod
    for row in document["relations"]:
        values = row["correlations"]
        assert (len(values), len(values[0])) == (2, 2)
        assert row["correlation"] == max(map(max, values)) == values[row["layer"] - 1][row["channel"] - 1]
        assert min(map(min, values)) >= -1
    table = call.result(*arguments).splitlines()
    assert table[0].split() == ["Relation", "Arcs", "PCC", "Layer", "Channel", "Partial"]
    assert [line.split()[:2] for line in table[2:5]] == [["det", "120"], ["nsubj", "60"], ["obj", "60"]]
    assert table[-1] == document["signature"]
    for part in ("PCC|model:udgn|", "|norm:words|", "|data:gold.conllu|", "|sentences:60|", f"|pairs:{240 + amod}|"):
        assert part in table[-1]


def test_controls_and_several_models(call: Caller, udgn: Path) -> None:
    """Permuted relations have almost no correlation, and a model listed twice has no deviation."""
    arguments = ("analyze", "channels", "-m", udgn, "--gold", "gold.conllu", "--controls")
    document = call.json(*arguments)
    plain = call.json(*arguments[:-1])
    for row, before in zip(document["relations"], plain["relations"], strict=True):
        assert {key: row[key] for key in ("correlation", "layer", "channel", "partial")} == {
            key: before[key] for key in ("correlation", "layer", "channel", "partial")
        }
        assert before["untrained"] is None
        assert -1 <= row["untrained"] <= 1
        assert abs(row["permuted"]) < 0.25
    assert call.result(*arguments).splitlines()[0].split()[-2:] == ["Untrained", "Permuted"]
    Path("again").symlink_to(udgn)
    several = call.json(*arguments, "-m", "again")
    assert several["relations"]["det"]["udgn"]["PCC"]["mean"] == pytest.approx(plain["relations"][0]["correlation"])
    assert several["relations"]["det"]["udgn"]["Permuted"]["sd"] == 0
    header = call.result(*arguments, "-m", "again").splitlines()[0]
    assert header.split()[:6] == ["Relation", "Model", "Runs", "PCC", "PCC", "SD"]
    assert call.usage(*arguments, "-m", "again", "--plot", "map.svg").endswith("--plot draws the channels of one model")


def test_models_of_different_types_are_not_averaged(call: Caller, udgn: Path, tiny_model: Callable[..., Path]) -> None:
    """Table 8 of the thesis: one mean per relation and type of model."""
    structformer = tiny_model("structformer")
    Path("again").symlink_to(udgn)
    arguments = ("analyze", "channels", "--gold", "gold.conllu")
    alone = {run: call.json(*arguments, "-m", run)["relations"] for run in (udgn, structformer)}
    models = ("-m", udgn, "-m", structformer, "-m", "again")
    document = call.json(*arguments, *models)
    rows = list(csv.DictReader(call.result(*arguments, *models, "--format", "csv").splitlines()))
    for number, relation in enumerate(alone[udgn]):
        by_model = document["relations"][relation["relation"]]
        assert by_model["udgn"]["PCC"]["mean"] == pytest.approx(relation["correlation"])
        assert list(by_model["structformer"]["PCC"]["values"].values()) == [alone[structformer][number]["correlation"]]
        first, second = (row for row in rows if row["Relation"] == relation["relation"])
        assert [first[name] for name in ("Model", "Runs", "PCC SD")] == ["udgn", "2", "0.0"]
        assert [second[name] for name in ("Model", "Runs", "PCC SD")] == ["structformer", "1", ""]
        assert float(second["PCC"]) == by_model["structformer"]["PCC"]["mean"]
    table = [line.split()[:3] for line in call.result(*arguments, *models).splitlines()]
    assert table[2:4] == [["det", "udgn", "2"], ["det", "structformer", "1"]]


def test_options(call: Caller, udgn: Path) -> None:
    arguments = ("analyze", "channels", "-m", udgn, "--gold", "gold.conllu", "--format", "json")
    document = json.loads(call.result(*arguments, "--min-count", "1", "--subtypes"))
    assert [row["relation"] for row in document["relations"]] == ["det:def", "nsubj", "obj", "amod"]
    problem = call.refusal(*arguments, "--min-count", "1000")
    assert problem == "gold.conllu: no relation has 1000 arcs; the most frequent one has 120; lower the minimum"
    assert "--gold" in call.usage("analyze", "channels")
    assert "no command 'chanels'" in call.usage("analyze", "chanels")


def test_relations_of_trees(call: Caller, udgn: Path) -> None:
    """The toy language as Penn trees, in a file and as a section of a Penn Treebank."""
    trees = []
    for sentence in sentences(60, seed=4):
        *subject, verb, article, noun, mark = sentence.words
        words = " ".join(f"({'DT' if i == 0 else 'JJ'} {word})" for i, word in enumerate(subject[:-1]))
        end = f"(VP (VBD {verb}) (NP (DT {article}) (NN {noun}))) (. {mark})"
        trees.append(f"( (S (NP-SBJ {words} (NN {subject[-1]})) {end}) )\n")
    Path("ptb").mkdir()
    for path in (Path("gold.mrg"), Path("ptb/wsj_2301.mrg")):
        path.write_text("".join(trees), encoding="utf-8")
    arguments = ("analyze", "channels", "-m", udgn, "--gold")
    expected = call.json(*arguments, "gold.conllu")["relations"]
    for row in expected:
        row["relation"] = {"obj": "dobj"}.get(row["relation"], row["relation"])
    for gold in (["gold.mrg"], ["wsj23", "--ptb", "ptb"]):
        document = call.json(*arguments, *gold)
        by_name = lambda row: row["relation"]  # noqa: E731
        assert sorted(document["relations"], key=by_name) == sorted(expected, key=by_name)
        assert "relations:plain+stanford" in document["signature"]
    rows = call.result("convert", "gold.mrg", "--format", "conllu", "--head-rules", "stanford")
    assert rows.count("\tnsubj\t") == rows.count("\tdobj\t") == 60


def test_name_of_short_sentences_leaves_out_longer_ones(call: Caller, udgn: Path) -> None:
    Path("ptb").mkdir()
    trees = ["(S (DT The) (NN dog) (VBD saw))\n"] * 2 + [f"(S (DT The){' (JJ old)' * 9} (NN dog))\n"]
    Path("ptb/wsj_2301.mrg").write_text("".join(trees), encoding="utf-8")
    arguments = ("analyze", "channels", "-m", udgn, "--min-count", "1", "--ptb", "ptb", "--gold")
    assert [call.json(*arguments, gold)["sentences"] for gold in ("wsj23", "wsj23-10")] == [3, 2]


def test_unsuitable_models_and_data_are_refused(call: Caller, model: Path, udgn: Path) -> None:
    arguments = ("analyze", "channels", "--gold")
    problem = call.refusal(*arguments, "gold.conllu", "-m", model)
    assert problem == f"{model}: model 'onlstm' has no channels or attention heads; 'udgn' has"
    Path("bare.conllu").write_text("1\tGo\t_\t_\t_\t_\t0\t_\t_\t_\n", encoding="utf-8")
    problem = call.refusal(*arguments, "bare.conllu", "-m", udgn)
    assert problem.startswith("bare.conllu:1: this sentence has no dependency relations")
    assert "gone.conllu: no such file" in call.refusal(*arguments, "gone.conllu", "-m", udgn)


def test_the_heat_map(call: Caller, udgn: Path) -> None:
    arguments = ("analyze", "channels", "-m", udgn, "--gold", "gold.conllu", "--plot")
    call.result(*arguments, "map.svg")
    picture = Path("map.svg").read_text(encoding="utf-8")
    assert all(text in picture for text in ("det (", "nsubj (", "layer, ", "Channels of udgn"))
    assert call.refusal(*arguments, "map.txt") == "map.txt: unknown suffix; end the name in .svg, .pdf, .png"
    assert call.refusal(*arguments, "gone/map.svg").startswith("gone/map.svg: there is no folder")
    Path("gold.svg").symlink_to("gold.conllu")
    assert "this file is read" in call.refusal(*arguments, "gold.svg")

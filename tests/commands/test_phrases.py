"""`synparse phrases` from the outside: formats, filters, comparison, and confidence."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.support.calls import Caller
from treebank.search.phrases import log_likelihood_ratio

TREES = "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT the) (NN cat))))\n(S (NP (DT the)) (VP (NN cat) (RB not)))\n"
OTHER = "(S (NP (DT a) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))))\n"


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with two corpora."""
    Path("a.trees").write_text(TREES, encoding="utf-8")
    Path("b.trees").write_text(OTHER, encoding="utf-8")


def rows(text: str, separator: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=separator))


def test_formats_have_the_same_content(call: Caller) -> None:
    [row] = rows(call.result("phrases", "a.trees", "--format", "csv"))
    assert (row["words"], row["label"], row["count"], row["documents"]) == ("the cat", "NP", "2", "1")
    assert float(row["share"]) == pytest.approx(2 / 3)
    assert rows(call.result("phrases", "a.trees", "--format", "tsv"), "\t") == [row]
    assert call.json("phrases", "a.trees")["phrases"][0]["share"] == pytest.approx(2 / 3)
    assert call.result("phrases", "a.trees").splitlines()[-1].split() == [
        *("the", "cat", "NP", "2", "333333.3", "1", "0.667")
    ]


def test_words_of_a_cell_are_neither_rows_nor_formulas(call: Caller) -> None:
    Path("a.trees").write_text('(S (NP =A1 x\ry) (VP "z -5))\n', encoding="utf-8", newline="")
    for separator, form in ((",", "csv"), ("\t", "tsv")):
        table = rows(call.result("phrases", "a.trees", "--min-count", 1, "--format", form), separator)
        assert [row["words"] for row in table] == ['"z -5', "'=A1 x\ry", "'=A1 x\ry \"z -5"]
    assert "'" not in call.result("phrases", "a.trees", "--min-count", 1, "--format", "json")


def test_words_with_control_characters_are_counted(call: Caller) -> None:
    Path("a.trees").write_text("(S (NP (DT a) (NN x\x1fy)) (VP (VBD z)))\n", encoding="utf-8")
    table = rows(call.result("phrases", "a.trees", "--min-count", 1, "--format", "csv"))
    assert [row["words"] for row in table] == ["a x\x1fy", "a x\x1fy z"]


def test_filters(call: Caller) -> None:
    assert "no phrase has 2 to 1 words" in call.usage("phrases", "a.trees", "--max-length", 1)
    everything = rows(call.result("phrases", "a.trees", "--min-count", 1, "--min-length", 1, "--format", "csv"))
    assert {row["words"] for row in everything} >= {"the", "the cat", "cat not", "saw the cat"}
    labeled = ("phrases", "a.trees", "--min-count", 1, "--format", "csv", "--label", "VP", "--max-length", 2)
    assert [row["words"] for row in rows(call.result(*labeled))] == ["cat not"]
    matching = ("phrases", "a.trees", "--min-count", 1, "--format", "csv", "--pattern", "VP < VBD")
    assert [row["words"] for row in rows(call.result(*matching))] == ["saw the cat"]
    assert "note: 4 more rows" in call("phrases", "a.trees", "--min-count", 1, "--limit", 1)[2]
    assert "no row fits" in call("phrases", "a.trees", "--label", "QP")[2]


def test_capitals_can_be_ignored(call: Caller) -> None:
    Path("c.trees").write_text("(S (NP (DT The) (NN cat)) (VP (VB saw) (NP (DT the) (NN Cat))))\n", encoding="utf-8")
    assert rows(call.result("phrases", "c.trees", "--format", "csv")) == []
    [row] = rows(call.result("phrases", "c.trees", "--fold-case", "--format", "csv"))
    assert (row["words"], row["count"], float(row["share"])) == ("the cat", "2", 1.0)


def test_words_near_matches(call: Caller) -> None:
    Path("c.trees").write_text("(S (A a) (V x) (B b) (B b) (V x) (C c))\n(S (A a) (C c) (A a))\n", encoding="utf-8")
    near = ("phrases", "c.trees", "--near", "V", "--min-count", 1, "--format", "csv")
    table = rows(call.result(*near, "--window", 1))
    counts = {row["word"]: [int(row[name]) for name in ("left", "right", "count", "in corpus")] for row in table}
    assert counts == {"a": [1, 0, 1, 3], "b": [1, 1, 2, 2], "c": [0, 1, 1, 2]}
    assert table[0]["word"] == "b"
    assert float(table[0]["LLR"]) == pytest.approx(log_likelihood_ratio(2, 0, 4, 5))
    assert {row["word"] for row in rows(call.result(*near))} == {"a", "b", "c", "x"}
    assert "--window requires --near" in call.usage("phrases", "c.trees", "--window", 2)
    assert "leave out" in call.usage(*near, "--label", "NP")


def test_default_number_of_rows(call: Caller, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.phrases.MAX_ROWS", 2)
    command = ("phrases", "a.trees", "--min-count", 1, "--format", "csv")
    _, out, err = call(*command)
    assert len(rows(out)) == 2
    assert "more rows are left out; show them with --limit N\n" in err
    assert len(rows(call.result(*command, "--limit", 5))) == 5


def test_two_corpora(call: Caller) -> None:
    table = rows(call.result("phrases", "a.trees", "--against", "b.trees", "--format", "csv"))
    by_words = {row["words"]: row for row in table}
    assert (by_words["the cat"]["count 1"], by_words["the cat"]["count 2"]) == ("2", "1")
    assert float(by_words["the cat"]["log ratio"]) == pytest.approx(0.415, abs=0.001)


def test_heads_and_dependents_have_columns_in_records(call: Caller) -> None:
    lines = ["1\ta\t_\t_\t_\t_\t2\tx\t_\t_", "2\tc\t_\t_\t_\t_\t0\troot\t_\t_", "3\td\t_\t_\t_\t_\t2\ty\t_\t_\n\n"]
    Path("c.conllu").write_text("\n".join(lines) * 2, encoding="utf-8")
    expected = [("a ← c", "x", "c", "a"), ("c → d", "y", "c", "d")]
    for arguments in (["c.conllu"], ["c.conllu", "--against", "c.conllu"]):
        table = rows(call.result("phrases", *arguments, "--format", "csv"))
        assert [(row["words"], row["label"], row["head"], row["dependent"]) for row in table] == expected
        assert [row["head"] for row in call.json("phrases", *arguments)["phrases"]] == ["c", "c"]
        assert not {"head", "dependent"} & set(call.result("phrases", *arguments).splitlines()[0].split())
    assert "head" not in rows(call.result("phrases", "a.trees", "--format", "csv"))[0]


def test_trees_and_heads_in_one_table_are_refused(call: Caller) -> None:
    Path("c.conllu").write_text("1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n2\tb\t_\t_\t_\t_\t0\t_\t_\t_\n\n", encoding="utf-8")
    for inputs in (("a.trees", "c.conllu"), ("a.trees", "--against", "c.conllu")):
        assert "c.conllu:1: this sentence has heads, but a.trees:1 has trees" in call.refusal("phrases", *inputs)
    assert "a.trees:1: this sentence has trees, but c.conllu:1" in call.refusal("phrases", "c.conllu", "a.trees")


def test_confidence_of_parsed_text(call: Caller) -> None:
    Path("a.txt").write_text("the cat saw the cat\nthe cat ran\n", encoding="utf-8")
    call.result("parse", "-m", "english", "a.txt", "--format", "jsonl", "-o", "a.jsonl")
    call.result("phrases", "a.jsonl", "--format", "csv", "-o", "a.csv")
    stored = rows(Path("a.csv").read_text(encoding="utf-8-sig"))
    direct = rows(call.result("phrases", "a.txt", "-m", "english", "--format", "csv"))
    assert stored == direct
    parsed = [json.loads(line) for line in Path("a.jsonl").read_text(encoding="utf-8").splitlines()]
    sure = [
        number
        for line in parsed
        for span, number in zip(line["spans"], line["confidences"], strict=True)
        if line["words"][slice(*span)] == ["the", "cat"]
    ]
    assert direct[0]["words"] == "the cat"
    assert float(direct[0]["confidence"]) == pytest.approx(sum(sure) / len(sure))


def test_documents_in_json_lines(call: Caller) -> None:
    line = {"words": ["a", "dog"], "spans": [[0, 2]]}
    lines = [line | {"document": "x"}, line, line | {"document": "y"}]
    Path("a.jsonl").write_text("".join(json.dumps(value) + "\n" for value in lines), encoding="utf-8")
    [row] = rows(call.result("phrases", "a.jsonl", "--format", "csv"))
    assert (row["count"], row["documents"]) == ("3", "2")

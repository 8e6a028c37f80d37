"""Every number of the tables of evaluation conventions for nltk's Wall Street Journal sample, by ``synparse eval``."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import synparse
from tests.support.reference import SHARED

DATA = SHARED / "data" / "nltk_data"
PAPER = SHARED / "evaluation-conventions.md"
COLUMNS = ["left", "right", "balanced", "balanced-williams", "random", "runs", "random-uniform", "oracle"]
SYSTEMS = [name for name in [*COLUMNS, "gold"] if name != "runs"]
CONVENTIONS = {
    "ON-LSTM / Htut 2018": "on-lstm",
    "Kim 2019 sentence": "kim-sentence",
    "Kim 2019 corpus": "kim-corpus",
    "Klein & Manning pooled": "km",
    "Klein & Manning WSJ10": "km-wsj10",
    "Klein & Manning prose": "km-prose",
    "EVALB": "evalb",
}
LABELS = ["ADJP", "NP", "VP", "PP", "INTJ", "ADVP", "S", "SBAR"]
SHAPES = {"oracle": "oracle", "left": "left", "right": "right", "midpoint": "balanced", "Williams": "balanced-williams"}
pytestmark = pytest.mark.skipif(
    not (DATA / "corpora" / "treebank.zip").is_file() or not PAPER.is_file(),
    reason=f"needs nltk's treebank sample in {DATA} and {PAPER}",
)


def tree_scores() -> dict[tuple[str, str], dict[str, Any]]:
    """Scores of all baselines from ``synparse eval``, by row of the table of conventions and by system."""
    names = [full_name(row[0]) for row in rows("| convention | sentences | gold spans")]
    arguments = [f"--baseline={name}" for name in SYSTEMS] + [f"--convention={name}" for name in names]
    environment = {"NLTK_DATA": str(DATA), "SYNPARSE_PTB": ""}
    done = CliRunner().invoke(synparse, ["eval", "--gold", "wsj", "--format", "json", *arguments], env=environment)
    assert done.exit_code == 0, done.output
    keys = [(name, system) for name in names for system in SYSTEMS]
    score_list = json.loads(done.stdout)["scores"]
    assert [score["system"] for score in score_list] == [system for _, system in keys]
    return dict(zip(keys, score_list, strict=True))


def full_name(row: str) -> str:
    """The convention of a row, such as ``on-lstm,len:1-40``."""
    name, _, bound = row.partition(",")
    longest = re.search(r"<= (\d+)", bound)
    convention = CONVENTIONS[name]
    return f"{convention},len:{1 if convention in ('on-lstm', 'evalb') else 2}-{longest[1]}" if longest else convention


def table(first: str) -> list[list[str]]:
    """The cells of the table whose first header cells read ``first``, without its header."""
    lines = iter(PAPER.read_text("utf-8").splitlines())
    cells = []
    for line in lines:
        if line.startswith(first):
            next(lines)
            for row in lines:
                if not row.startswith("|"):
                    break
                cells.append([cell.strip() for cell in row.strip("|").split("|")])
    return cells


def rounded(value: float, cell: str) -> str:
    """``value`` with as many decimals as the cell has."""
    return f"{value:.{len(cell.partition('.')[2])}f}"


def rows(first: str) -> list[list[str]]:
    return table(first) if PAPER.is_file() else []


def test_the_tables_of_trees() -> None:
    """All figures in one test, because they come from one evaluation."""
    scores = tree_scores()
    for row in rows("| convention | sentences | gold spans"):
        check_convention(row, scores)
    for row in rows("| | depth | R/L |"):
        check_secondary_measures(row, scores)
    text = PAPER.read_text("utf-8")
    counts = ", ".join(f"{label} {scores['on-lstm', 'gold']['by_label'][label][1]:,}" for label in LABELS)
    assert counts in text
    kim = [f"{scores[name, 'gold']['value']:.4f}" for name in ("kim-sentence", "kim-corpus")]
    assert f"scores {kim[0]} (sentence) and {kim[1]} (corpus)" in text
    assert f"Under EVALB it scores {scores['evalb', 'gold']['value']:.4f}" in text


def check_convention(row: Sequence[str], scores: Mapping[tuple[str, str], dict[str, Any]]) -> None:
    name, sentences, brackets, *cells = row
    convention = full_name(name)
    for column, cell in zip(COLUMNS, cells, strict=True):
        if cell == "-":
            continue
        score = scores[convention, "random" if column == "runs" else column]
        value = score["runs"]["mean"] if column == "runs" else score["value"]
        assert rounded(value, cell) == cell, (name, column)
        assert (score["sentences"], score["brackets"]["gold"]) == (int(sentences), int(brackets)), name
        assert f"conv:{'custom' if ',' in convention else convention}|" in score["signature"]
        assert "(5 % sample)" in score["signature"]


def check_secondary_measures(row: Sequence[str], scores: Mapping[tuple[str, str], dict[str, Any]]) -> None:
    name, depth, ratio, other_ratio, *recalls = row
    system = next((system for word, system in SHAPES.items() if word in name), "gold")
    score = scores["on-lstm", system]
    assert rounded(score["depth"], depth) == depth, name
    assert rounded(score["right_left"], ratio) == ratio, name
    assert rounded(score["right_left_no_apostrophe"], other_ratio) == other_ratio, name
    counts = [score["by_label"][label] for label in LABELS]
    shares = [rounded(100 * hits / total, cell) for (hits, total), cell in zip(counts, recalls, strict=True)]
    assert shares == recalls, name


def test_the_tables_are_there() -> None:
    """If a table were missing, its test could not fail."""
    assert len(rows("| convention | sentences | gold spans")) == 18
    assert len(rows("| | depth | R/L |")) == 6
    assert len(rows("| convention | counted tokens")) == 9


HEAD_CONVENTIONS = {"UDGN": "udgn", "punctuation ignored": "no-punct", "all tokens": "all-tokens"}


def head_scores(folder: Path) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """Scores of both baselines of heads from ``synparse eval``, by convention, length limit, system and metric."""
    with zipfile.ZipFile(DATA / "corpora" / "dependency_treebank.zip") as archive:
        archive.extractall(folder)
    result = {}
    for bound in ("", "40", "10"):
        arguments = ["--gold", str(folder), "--format", "json", "--baseline=previous", "--baseline=next"]
        arguments += [f"--convention={name}" for name in HEAD_CONVENTIONS.values()]
        arguments += [f"--max-length={bound}"] if bound else []
        done = CliRunner().invoke(synparse, ["eval", *arguments])
        assert done.exit_code == 0, done.output
        for score in json.loads(done.stdout)["scores"]:
            result[score["convention"], bound, score["system"], score["metric"]] = score
    return result


def test_the_table_of_heads(tmp_path: Path) -> None:
    heads = head_scores(tmp_path)
    for name, tokens, *cells in rows("| convention | counted tokens"):
        convention, bound = HEAD_CONVENTIONS[name.partition(",")[0]], name.partition("<=")[2]
        for system, cell in zip(("previous", "next"), cells, strict=True):
            both = [heads[convention, bound, system, metric] for metric in ("UAS", "UUAS")]
            assert " / ".join(f"{score['value']:.4f}" for score in both) == cell, (name, system)
            assert {score["brackets"]["gold"] for score in both} == {int(tokens)}, name

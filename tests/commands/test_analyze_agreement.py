"""Agreement between trees and between heads, by hand; the command and its choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from induce.analysis.agreement import agreement
from tests.support.calls import Caller
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence


def trees(folder: Path, name: str, lines: list[str]) -> str:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / name)


A = ["(X (X (W a) (W b)) (X (W c) (W d)))", "(X (X (W e) (W f)) (W g))"]
B = ["(X (W a) (X (W b) (X (W c) (W d))))", "(X (X (W e) (W f)) (W g))"]
C = ["(X (W a) (X (W b) (X (W c) (W d))))", "(X (W e) (X (W f) (W g)))"]
TEXT = [Sentence(("a", "b", "c", "d")), Sentence(("e", "f", "g")), Sentence(("a", "b"))]


def refuse(run: str) -> None:
    raise AssertionError(run)


def test_by_hand_and_as_a_score(tmp_path: Path) -> None:
    names = [trees(tmp_path, f"{name}.ptb", lines) for name, lines in (("a", A), ("b", B), ("c", C))]
    report = agreement(names, TEXT, load=refuse, baselines=["right"])
    values = {(Path(one.first).name, Path(one.second).name): one.value for one in report.pairs}
    assert values[("a.ptb", "b.ptb")] == pytest.approx((50 + 100) / 2)
    assert values[("b.ptb", "c.ptb")] == pytest.approx((100 + 0) / 2)
    assert values[("c.ptb", "baseline:right")] == 100
    others = {Path(one.name).name: one.others for one in report.systems}
    assert others["a.ptb"] == pytest.approx((values[("a.ptb", "b.ptb")] + values[("a.ptb", "c.ptb")]) / 2)
    assert report.chosen.name == names[1]
    assert report.sentences == 3


def test_one_kind_is_no_choice_and_one_system_no_agreement(tmp_path: Path) -> None:
    name = trees(tmp_path, "a.ptb", A)
    with pytest.raises(SynparseError, match="two different systems"):
        agreement([name], TEXT, load=refuse)
    with pytest.raises(SynparseError, match="two kinds"):
        _ = agreement([name], TEXT, load=refuse, baselines=["right"]).chosen


def test_heads(tmp_path: Path) -> None:
    line = "1\ta\t_\t_\t_\t_\t{}\t_\t_\t_\n2\tb\t_\t_\t_\t_\t{}\t_\t_\t_\n\n"
    for name, heads in (("one", (2, 0)), ("two", (0, 1))):
        (tmp_path / f"{name}.conllu").write_text(line.format(*heads), encoding="utf-8")
    paths = [str(tmp_path / f"{name}.conllu") for name in ("one", "two")]
    (pair,) = agreement(paths, [Sentence(("a", "b"))], load=refuse).pairs
    assert (pair.value, pair.undirected) == (0, 50)


def test_the_command(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = Caller(capsys)
    text = tmp_path / "text.txt"
    text.write_text("The dog saw a cat .\nThe old man met the girl .\n", encoding="utf-8")
    runs = [f"{model}@layer=1", f"{model}@layer=2"]
    out = call.result("analyze", "agreement", *runs, "--text", text, "--baseline", "right")
    assert "agreement|F1|avg:sent" in out.splitlines()[-1]
    given = trees(tmp_path, "given.txt", [])
    call.result("parse", text, "-m", model, "-o", given)
    found = tmp_path / "choice.json"
    call.result("analyze", "agreement", "-m", model, given, "--text", text, "--select", found)
    assert json.loads(found.read_text(encoding="utf-8"))["ranking"][0]["others"] == 100


def test_expressions_in_brackets_are_text(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "formulas.txt"
    text.write_text("( ( a and b ) or c )\n( a or ( not ( b and c ) ) )\n", encoding="utf-8")
    runs = ["-m", f"{model}@layer=1", "-m", f"{model}@layer=2"]
    out = Caller(capsys).result("analyze", "agreement", *runs, "--text", text, "--as", "text")
    assert out.rstrip().endswith("text:2 sentences")

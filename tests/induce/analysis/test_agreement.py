"""Agreement of trees and of heads compared with values computed by hand, and the choice of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from induce.analysis.agreement import agreement
from treebank.base.errors import SynparseError
from treebank.core.sentence import Location, Sentence

TREES = {
    "a": ["(X (X (W a) (W b)) (X (W c) (W d)))", "(X (X (W e) (W f)) (W g))"],
    "b": ["(X (W a) (X (W b) (X (W c) (W d))))", "(X (X (W e) (W f)) (W g))"],
    "c": ["(X (W a) (X (W b) (X (W c) (W d))))", "(X (W e) (X (W f) (W g)))"],
}
TEXT = [Sentence(("a", "b", "c", "d")), Sentence(("e", "f", "g")), Sentence(("a", "b"))]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Three files of trees of the text."""
    for name, lines in TREES.items():
        (tmp_path / f"{name}.ptb").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [str(tmp_path / f"{name}.ptb") for name in TREES]


def refuse(run: str) -> None:
    raise AssertionError(run)


def test_agreement_of_trees_is_the_mean_f1_of_sentences(files: list[str]) -> None:
    report = agreement(files, lambda rules: TEXT, load=refuse, baselines=["right"])
    values = {(Path(pair.first).name, Path(pair.second).name): pair.value for pair in report.pairs}
    assert values[("a.ptb", "b.ptb")] == pytest.approx((50 + 100) / 2)
    assert values[("b.ptb", "c.ptb")] == pytest.approx((100 + 0) / 2)
    assert values[("c.ptb", "baseline:right")] == 100
    others = {Path(system.name).name: system.others for system in report.systems}
    assert others["a.ptb"] == pytest.approx((values[("a.ptb", "b.ptb")] + values[("a.ptb", "c.ptb")]) / 2)
    assert report.chosen.name == files[1]
    assert report.sentences == 2  # the third has two words


def test_tables_have_one_row_per_system_and_per_pair(files: list[str]) -> None:
    systems, pairs = agreement(files, lambda rules: TEXT, load=refuse).tables()
    assert (len(systems.rows), len(pairs.rows)) == (3, 3)
    assert systems.texts()[0] == [files[0], files[0], "50.00", ""]
    assert pairs.footnotes[0].startswith("agreement|F1|avg:sent|root:drop|")


def test_one_system_or_one_type_is_refused(files: list[str]) -> None:
    with pytest.raises(SynparseError, match="two or more systems"):
        agreement(files[:1], lambda rules: TEXT, load=refuse)
    with pytest.raises(SynparseError, match="two systems are called 'x'; choose different names"):
        agreement([f"x={file}" for file in files[:2]], lambda rules: TEXT, load=refuse)
    with pytest.raises(SynparseError, match="models of two types"):
        _ = agreement(files[:1], lambda rules: TEXT, load=refuse, baselines=["right"]).chosen


def test_sentence_that_a_file_lacks_is_refused(files: list[str]) -> None:
    other = Sentence(("e", "f", "x"), location=Location("text.txt", 4))
    with pytest.raises(SynparseError, match=rf"^{files[0]}: no tree for the words of text\.txt:4; parse this text"):
        agreement(files, lambda rules: [*TEXT, other], load=refuse)


def test_text_of_short_sentences_is_refused(files: list[str]) -> None:
    with pytest.raises(SynparseError, match="this text has no sentence of 3 or more words"):
        agreement(files, lambda rules: TEXT[2:], load=refuse)


def test_agreement_of_heads_is_directed_and_undirected(tmp_path: Path) -> None:
    line = "1\ta\t_\t_\t_\t_\t{}\t_\t_\t_\n2\tb\t_\t_\t_\t_\t{}\t_\t_\t_\n\n"
    for name, heads in (("first", (2, 0)), ("second", (0, 1))):
        (tmp_path / f"{name}.conllu").write_text(line.format(*heads), encoding="utf-8")
    paths = [str(tmp_path / f"{name}.conllu") for name in ("first", "second")]
    report = agreement(paths, lambda rules: [Sentence(("a", "b")), Sentence((".",))], load=refuse)
    (pair,) = report.pairs
    assert (pair.value, pair.undirected, report.sentences) == (0, 50, 1)

"""The report about annotation that a conversion loses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.calls import Caller
from treebank.convert.convert import KEPT
from treebank.io.formats import WRITERS

CONLLU = "1\tDogs\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


def test_each_writer_says_what_it_keeps() -> None:
    assert set(KEPT) == set(WRITERS)


def test_losses_are_reported(call: Caller, working_folder: Path) -> None:
    Path("a.mrg").write_text("(S (NP (NNS Dogs)) (VP (VBP bark)))\n" * 2, encoding="utf-8")
    Path("a.conllu").write_text(CONLLU, encoding="utf-8")
    code, _, err = call("convert", "a.mrg", "--format", "conllu")
    lost = "trees of 2, labels of 2"
    assert (code, err) == (0, f"the format conllu does not keep these parts of sentences: {lost}\n")
    Path("b.mrg").write_text("(X (W Dogs) (X (W bark) (W loudly)))\n" * 2, encoding="utf-8")
    assert "2 trees have no labels" in call("convert", "b.mrg", "--format", "conllu")[2]
    for path, form in (("a.mrg", "tiger"), ("a.mrg", "negra"), ("a.mrg", "distances"), ("a.conllu", "conllu")):
        assert call("convert", path, "--format", form)[2] == ""


def test_columns_of_conllx_are_kept_or_reported(call: Caller, working_folder: Path) -> None:
    rows = "1\tEr\ter\tPRO\tPPER\tnom\t2\tSB\t{0}\t_\n2\tlacht\tlachen\tV\tVVFIN\t3.sg\t0\tROOT\t{0}\t_\n\n"
    Path("a.conllx").write_text(rows.format("_") + rows.format("2"), encoding="utf-8")
    code, out, err = call("convert", "a.conllx", "--format", "conllu")
    lost = "coarse tags of 2, projective heads of 1"
    assert (code, err) == (0, f"these parts of sentences are left out: {lost}\n")
    written = ["1\tEr\ter\t_\tPPER\tnom\t2\tSB\t_\t_", "2\tlacht\tlachen\t_\tVVFIN\t3.sg\t0\tROOT\t_\t_", ""]
    assert out.splitlines() == [
        line for number in "12" for line in (f"# sent_id = {number}", "# text = Er lacht", *written)
    ]
    Path("a.conllx").write_text(rows.replace("PPER", "_").replace("VVFIN", "_").format("_"), encoding="utf-8")
    code, out, err = call("convert", "a.conllx", "--format", "conllu")
    assert (code, err, out.count("\t_\tPRO\tnom\t")) == (0, "", 1)


@pytest.mark.parametrize(("form", "first"), [("conllu", "# sent_id = 1"), ("negra", "#FORMAT 3"), ("tiger", "<?xml")])
def test_sentences_without_words_are_reported(call: Caller, working_folder: Path, form: str, first: str) -> None:
    Path("a.mrg").write_text("(S (. .))\n(S (NN a) (. .))\n", encoding="utf-8")
    code, out, err = call("convert", "a.mrg", "--strip", "punctuation", "--format", form)
    assert (code, out.startswith(first)) == (0, True)
    assert err.splitlines()[0] == f"sentences without words are left out, because the format {form} has none: 1"
    assert "trees have no labels" not in err

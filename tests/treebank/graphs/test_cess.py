"""The brackets of CESS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.files import write
from treebank.base.errors import TreebankError
from treebank.io.read import InputOptions, read_sentences


def test_cess(tmp_path: Path) -> None:
    text = "(\n  (S\n    (sn.e-SUJ *0*)\n    (grup.verb\n      (vmp cerrado_con cerrar))\n    (Fpt -Fpt- -Fpt-)))\n"
    (sentence,) = read_sentences([write(tmp_path, text, "a.tbf")])
    assert sentence.words == ("cerrado_con", "-RRB-")
    assert str(sentence.tree) == "(S (sn.e-SUJ (-NONE- *0*)) (grup.verb (vmp cerrado_con)) (Fpt -RRB-))"


@pytest.mark.parametrize("leaf", ["( El el)", "(da0ms0 el)", "(da0ms0 El a el)", "(.)"])
def test_leaf_without_tag_word_and_lemma_is_an_error(tmp_path: Path, leaf: str) -> None:
    tree = "(\n  (S\n    (vmp cerrado cerrar)))\n"
    path = write(tmp_path, tree + tree.replace("(vmp cerrado cerrar)", leaf) + tree, "a.tbf")
    with pytest.raises(TreebankError, match=r"a\.tbf:4: a leaf is \(tag word lemma\), not "):
        list(read_sentences([path]))
    errors: list[TreebankError] = []
    assert [sentence.words for sentence in read_sentences([path], on_bad=errors.append)] == [("cerrado",)] * 2
    assert len(errors) == 1


def test_word_outside_of_a_leaf_is_reported(tmp_path: Path) -> None:
    tree = "(\n  (S\n    (vmp cerrado cerrar)))\n"
    path = write(tmp_path, tree * 5 + tree.replace("(vmp", "stray (vmp"), "a.tbf")
    messages: list[str] = []
    assert len(list(read_sentences([path], input_options=InputOptions(notify=messages.append)))) == 6
    assert [message.partition("a.tbf:16: ")[2][:19] for message in messages] == ["'stray' has no tag,"]

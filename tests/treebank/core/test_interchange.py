"""Trees, heads and scores as spaCy and nltk hold them."""

from __future__ import annotations

import sys

import pytest

from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

TREE = Tree.from_text("(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (PRP it))))")


def test_a_sentence_as_a_doc_of_spacy() -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    doc = Sentence(
        TREE.words, TREE.tags, TREE, heads=(1, 2, -1, 2), relations=("det", "nsubj", "root", "obj")
    ).to_spacy()
    assert [token.text for token in doc] == ["the", "man", "saw", "it"]
    assert [token.head.i for token in doc] == [1, 2, 2, 2]
    assert [token.dep_ for token in doc] == ["det", "nsubj", "ROOT", "obj"]
    assert [token.tag_ for token in doc] == ["DT", "NN", "VBD", "PRP"]
    brackets = [(span.start, span.end, span.label_) for span in doc.spans["constituents"]]
    assert brackets == [(0, 4, "S"), (0, 2, "NP"), (2, 4, "VP"), (3, 4, "NP")]
    assert len(TREE.to_spacy().spans["constituents"]) == 4


def test_a_sentence_in_latex() -> None:
    assert TREE.to_latex() in Sentence(TREE.words, TREE.tags, TREE).to_latex()
    assert "\\depedge" in Sentence(TREE.words, heads=(1, 2, -1, 2)).to_latex()


def test_what_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("spacy", "spacy.tokens"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SynparseError, match="pip install spacy"):
        TREE.to_spacy()

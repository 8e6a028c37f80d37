"""TEI: sentences, words and punctuation, with and without namespaces, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebank.base.errors import TreebankError
from treebank.graphs.xml_texts import read_tei
from treebank.io.read import read_sentences

TEI = """<?xml version="1.0"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><s>not here</s></teiHeader><text><body><p>
<s n="1"><w pos="NE">New
 York</w><name><w pos="VB">sle<hi>eps</hi></w></name><pc pos="SENT">.</pc></s>
<s><tei:w xmlns:tei="http://www.tei-c.org/ns/1.0">Yes</tei:w><pc>!</pc></s>
</p></body></text></TEI>
"""


def test_words_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(TEI.replace("<s>not here</s>", ""), encoding="utf-8")
    first, second = read_sentences([str(path)])
    assert (first.words, first.tags) == (("New\u00a0York", "sleeps", "."), ("NE", "VB", "SENT"))
    assert (second.words, second.tags, second.location.line) == (("Yes", "!"), (), 5)


def test_sentences_without_words_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text(TEI, encoding="utf-8")
    errors: list[TreebankError] = []
    assert len(list(read_tei("a.xml", on_bad=errors.append))) == 2
    assert [str(error) for error in errors] == ["a.xml:2: this sentence has no <w>; mark each word with <w> or <pc>"]
    Path("b.xml").write_text("<TEI><text/></TEI>", encoding="utf-8")
    with pytest.raises(TreebankError, match="there is no sentence <s>"):
        list(read_tei("b.xml"))


@pytest.mark.parametrize(
    ("inner", "words", "note"),
    [
        ("<w><choice><orig>vpon</orig><reg>upon</reg></choice></w>", "upon", ""),
        ("<choice><sic><w>teh</w></sic><corr><w>the</w></corr></choice>", "the", ""),
        ("<w><del>hil</del><add>hill</add><note>x</note></w>", "hill", "text of notes and deletions in words"),
        ("<w>10\u2009000</w> <w> New\n York </w>", "10\u2009000 New\u00a0York", ""),
        ("<w>Yes</w><c>,</c><c> </c> costs <w>ten</w>", "Yes , ten", "text outside of <w> and <pc> is left out: 1"),
    ],
)
def test_one_reading_is_read_and_lost_text_is_counted(tmp_path: Path, inner: str, words: str, note: str) -> None:
    path, notes = tmp_path / "a.tei", list[str]()
    path.write_text(f"<TEI><s>{inner}</s></TEI>", encoding="utf-8")
    (sentence,) = read_tei(path, notify=notes.append)
    assert " ".join(sentence.words) == words
    assert [note in message for message in notes] == [True] * bool(note)

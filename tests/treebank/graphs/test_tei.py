"""TEI: sentences, words and punctuation, with and without namespaces, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebank.base.errors import TreebankError
from treebank.graphs.tei import read_tei
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

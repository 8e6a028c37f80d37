"""Dialects of brackets: CESS, CorpusSearch and the Sinica Treebank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.files import write
from treebank.base.errors import TreebankError
from treebank.graphs.bracket_dialects import read_corpussearch, without_lemma
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


BRACKETS = Path(__file__).resolve().parents[3] / "tests/data/brackets"


def read(name: str) -> list[tuple[int, str]]:
    return [(sentence.location.line, str(sentence.tree)) for sentence in read_corpussearch(str(BRACKETS / name))]


def test_corpus_search() -> None:
    assert read("history.psd") == [
        (
            10,
            "(IP-MAT (NP-SBJ (PRO-N Hún)) (VBDI sá) (CP-THT (C (-NONE- 0)) (IP-SUB (NP-SBJ (-NONE- *con*))"
            " (NP-OB1 (N-A e-póst$) (D-A $inn)))) (, -) (NUM 0) (. .))",
        )
    ]


def test_corpus_search_without_lemmas_keeps_hyphens_and_zero() -> None:
    (sentence,) = read_corpussearch(str(BRACKETS / "keyaki.psd"))
    assert sentence.words == ("猫", "が", "0", "-", "見る-x", "。")


@pytest.mark.parametrize(
    ("leaf", "word"),
    [("a-b", "a"), ("---", "-"), ("e-mail-e-mail", "e-mail"), ("-x", "-x"), ("x-", "x-"), ('"-"-"', '"'), ("a", "a")],
)
def test_lemma(leaf: str, word: str) -> None:
    assert without_lemma(leaf) == word


SINICA = """\
#1:1.[4257] NP(Head:Neu:一)#。(PERIODCATEGORY)

#2:.[3] S(agent:NP(Head:Nab:爸爸)|Head:VE11[+ASP]:問)
"""


@pytest.mark.parametrize("name", ["parsed", "a.sinica"])
def test_sinica(tmp_path: Path, name: str) -> None:
    first, second = read_sentences([write(tmp_path, SINICA, name)], trees=True)
    assert str(first.tree) == "(NP (Neu 一))"
    assert str(second.tree) == "(S (NP-agent (Nab 爸爸)) (VE11[+ASP] 問))"
    assert second.location.line == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("NP(Head:Neu:一)", "this line is not '#number:number.[number] tree'"),
        ("#1:1.[1] NP(Head:Neu:一", "this tree is never closed"),
        ("#1:1.[1] NP(Head:Neu:一))", "a ')' too many"),
        ("#1:1.[1] NP(Head:Neu:一)NP(Head:Neu:一)", "more than one tree"),
        ("#1:1.[1] NP(Head)", "'Head' is not 'role:tag:word'"),
        ("#1:1.[1] VP(Head:VE2:講xobject:NP(Head:Neu:一))", "'Head:VE2:講xobject:NP' is not 'role:category'"),
        ("#1:1.[1] Head:Neu:一", "'Head:Neu:一' is not"),
        ("#1:1.[1] #。(X)", "there is no tree in this line"),
    ],
)
def test_sinica_errors(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, SINICA + line + "\n" + SINICA, "a.sinica")
    errors: list[TreebankError] = []
    assert len(list(read_sentences([path], on_bad=errors.append))) == 4
    assert [str(error)[: len(f"{path}:4: {message}")] for error in errors] == [f"{path}:4: {message}"]
    with pytest.raises(TreebankError):
        list(read_sentences([path]))


def test_numbers_of_a_second_document_begin_again(tmp_path: Path) -> None:
    notes: list[str] = []
    list(read_sentences([write(tmp_path, SINICA * 2, "b.sinica")], input_options=InputOptions(notify=notes.append)))
    assert notes == []

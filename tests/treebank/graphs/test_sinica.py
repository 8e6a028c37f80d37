"""The Sinica Treebank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.files import write
from treebank.base.errors import TreebankError
from treebank.io.read import InputOptions, read_sentences

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

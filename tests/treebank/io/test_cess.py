"""The brackets of CESS."""

from __future__ import annotations

from pathlib import Path

from tests.support.files import write
from treebank.io.read import read_sentences


def test_cess(tmp_path: Path) -> None:
    text = "(\n  (S\n    (sn.e-SUJ *0*)\n    (grup.verb\n      (vmp cerrado_con cerrar))\n    (Fpt -Fpt- -Fpt-)))\n"
    (sentence,) = read_sentences([write(tmp_path, text, "a.tbf")])
    assert sentence.words == ("cerrado_con", "-RRB-")
    assert str(sentence.tree) == "(S (sn.e-SUJ (-NONE- *0*)) (grup.verb (vmp cerrado_con)) (Fpt -RRB-))"

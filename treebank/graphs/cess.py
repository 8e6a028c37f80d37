"""The brackets of CESS (Spanish, Catalan): a leaf is ``(tag word lemma)``, an elided subject ``(sn.e-SUJ *0*)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from treebank.base.arguments import ignore
from treebank.core.brackets import shorten
from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE
from treebank.io.bracketed import read_bracketed
from treebank.io.lines import OnBad
from treebank.io.source import AnyPath

_INNERMOST = re.compile(r"\([^()]*\)")
_LEAF = re.compile(r"\(([^\s()]+) ([^\s()]+) [^\s()]+\)")
_ELIDED = re.compile(r"\(([^\s()]+) (\*0\*)\)")


def read_cess(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a ``.tbf`` file. Words joined by ``_`` are one word. ``*0*`` is an empty element, not a word.

    ``notify`` is called with a message about words outside of leaves.
    """
    return read_bracketed(path, on_bad=on_bad, rewrite=to_penn, notify=notify)


def to_penn(text: str) -> str:
    """``text`` in Penn brackets: leaves ``(tag word)``, elided subjects under ``-NONE-``, round brackets ``-LRB-``.

    Raises ValueError for other leaves: without its tag, a word would be taken for the tag of its lemma.
    """
    for leaf in _INNERMOST.findall(text):
        if not (_LEAF.fullmatch(leaf) or _ELIDED.fullmatch(leaf)):
            raise ValueError(f"a leaf is (tag word lemma), not {shorten(leaf)}")
    text = _ELIDED.sub(rf"(\1 ({TRACE} \2))", _LEAF.sub(r"(\1 \2)", text))
    return text.replace(" -Fpa-)", " -LRB-)").replace(" -Fpt-)", " -RRB-)")

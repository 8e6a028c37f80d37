"""The brackets of CESS (Spanish, Catalan): a leaf is ``(tag word lemma)``, an elided subject ``(sn.e-SUJ *0*)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from treebank.base.arguments import ignore
from treebank.core.brackets import shorten
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.graphs.corpussearch import with_empty_elements
from treebank.io.bracketed import read_bracketed
from treebank.io.lines import OnBad
from treebank.io.source import AnyPath

_ELIDED = "*0*"
_ROUND_BRACKETS = {"-Fpa-": "-LRB-", "-Fpt-": "-RRB-"}


def read_cess(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a ``.tbf`` file. Words joined by ``_`` are one word. ``*0*`` is an empty element, not a word.

    ``notify`` is called with a message about words outside of leaves.
    """
    return read_bracketed(path, on_bad=on_bad, transform=to_penn, notify=notify)


def to_penn(tree: Tree) -> Tree:
    """A tree in Penn style, from one in which a leaf is a bracket over word and lemma.

    Elided subjects get the tag ``-NONE-`` and round brackets are written ``-LRB-``. Raises ValueError for other leaves:
    without its tag, a word would be taken for the tag of its lemma.
    """
    words, tags, size = [*tree.words], [*tree.tags], len(tree.spans)
    for word, tag in zip(words, tags, strict=True):
        if tag and word != _ELIDED:
            raise ValueError(f"a leaf is (tag word lemma), not {shorten(f'({tag} {word})')}")
    is_kept, phrases = [True] * len(words), []
    for k, children in enumerate(tree.children()[:size]):
        leaf = [child - size for child in children if child >= size and not tree.tags[child - size]]
        label = tree.labels[k]
        if len(leaf) < len(children):
            phrases.append((tree.spans[k], label))
        elif len(leaf) != 2 or not label:
            text = " ".join(tree.words[i] for i in leaf)
            raise ValueError(f"a leaf is (tag word lemma), not {shorten(f'({label} {text})')}")
        else:
            word, lemma = leaf
            words[word], tags[word], is_kept[lemma] = _ROUND_BRACKETS.get(words[word], words[word]), label, False
    penn = Tree.from_brackets(words, tags, phrases).keep(is_kept)
    return with_empty_elements(penn, [word == _ELIDED for word in penn.words])

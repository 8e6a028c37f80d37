"""Dialects of brackets: CESS, CorpusSearch and the Sinica Treebank.

A leaf of CESS (Spanish, Catalan) is ``(tag word lemma)``, an elided subject ``(sn.e-SUJ *0*)``. A tree of CorpusSearch
(Penn historical corpora; Switchboard is similar) is ``( (IP-MAT …) (ID TEXT,.1))``. Nodes such as ID, CODE and METADATA
contain no words. An empty element is a leaf such as ``*T*-1``, ``*pro*`` or ``0`` under its phrase label. Leaves may
carry lemmas, in one of three ways: ``word-lemma``, ``word@l=lemma``, or the deep format ``(TAG (ORTHO word) (META
(LEMMA lemma)))``. Sinica has one tree per line,
``#1:1.[0] S(agent:NP(Head:Nab:爸爸)|Head:VE11:問)#。(PERIODCATEGORY)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import CORPUSSEARCH_MARKS, HELP_CLOSE, HELP_OPEN, shorten, without_outer_brackets
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import TRACE, Span, Tree
from treebank.io.bracketed import read_bracketed, read_trees
from treebank.io.checks import DamageSigns, TreeChecks
from treebank.io.lines import BAD, OnBad, look_ahead, open_lines, report
from treebank.io.source import AnyPath, Source

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


MIN_LEMMA_SHARE = 0.5  # of the leaves that contain an inner hyphen, above which the hyphen separates a lemma
_WORD_OF_DEEP_FORMAT = "ORTHO"
_ATTRIBUTE = re.compile(r"@[a-z]+=")  # of word@rl=LEXICON@l=lemma
_NUMERALS = (
    "NUM",
    "CD",
)  # tags under which 0 is a number (Keyaki); elsewhere it is an empty complementizer or operator


def read_corpussearch(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a file, without nodes that contain no words, and without lemmas.

    Whether hyphens separate lemmas is decided from the first trees of the file together. ``notify`` is called at the
    end with repeated ids and with words outside of leaves. Raises TreebankError for malformed brackets; with
    ``on_bad``, the error is reported to it and the tree is skipped.
    """
    name = Source.of(path).path
    signs = DamageSigns(name, notify)
    has_lemmas = False

    def inspect(trees: Iterable[tuple[Tree, int]]) -> None:
        nonlocal has_lemmas
        leaves = [
            word for tree, _ in trees for word, is_mark in zip(tree.words, _marks(tree), strict=True) if not is_mark
        ]
        has_lemmas = sum("-" in word[1:-1] for word in leaves) > MIN_LEMMA_SHARE * len(leaves)

    def read(on_bad: OnBad | None) -> Iterator[tuple[Tree, int]]:
        return read_trees(path, on_bad=on_bad)

    def plain_trees() -> Iterator[tuple[Tree, int]]:
        for raw, line in look_ahead(read, inspect, on_bad):
            for word, tag in zip(raw.words, raw.tags, strict=True):
                if tag == "ID":
                    signs.add_id(word, line)
            if (tree := penn_tree(raw, has_lemmas=has_lemmas)).words:
                yield tree, line

    for tree, line in TreeChecks(name, notify).watch(plain_trees()):
        plain = tree.without_traces()
        yield Sentence(plain.words, plain.tags, tree, location=Location(name, line))
    signs.report()


def penn_tree(tree: Tree, *, has_lemmas: bool) -> Tree:
    """A tree in Penn style: without marks and lemmas, and with empty elements under the tag ``-NONE-``."""
    tree = _without_ortho(tree.keep([not is_mark for is_mark in _marks(tree)]))
    tree = Tree(*without_outer_brackets(tree.words, tree.tags, tree.spans, tree.labels))
    is_empty = [
        word.startswith("*") or (word == "0" and tag not in _NUMERALS)
        for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    words = list(tree.words)
    for i, word in enumerate(words):
        if not is_empty[i]:
            word = _ATTRIBUTE.split(word, maxsplit=1)[0] or word
            words[i] = without_lemma(word) if has_lemmas else word
    return with_empty_elements(tree.with_words(words), is_empty)


def _marks(tree: Tree) -> list[bool]:
    """For each leaf, whether it is not a word, because of its tag or of a bracket around it."""
    is_mark = [tag in CORPUSSEARCH_MARKS for tag in tree.tags]
    if not CORPUSSEARCH_MARKS.isdisjoint(tree.labels):
        for (start, end), label in zip(tree.spans, tree.labels, strict=True):
            if label in CORPUSSEARCH_MARKS:
                is_mark[start:end] = [True] * (end - start)
    return is_mark


def _without_ortho(tree: Tree) -> Tree:
    """The tree in which a word of the deep format has the label of the bracket around it as tag."""
    if _WORD_OF_DEEP_FORMAT not in tree.tags:
        return tree
    innermost = {span: k for k, span in enumerate(tree.spans)}
    tags, removed = [*tree.tags], set()
    for i, tag in enumerate(tags):
        k = innermost.get((i, i + 1))
        if tag == _WORD_OF_DEEP_FORMAT and k is not None:
            tags[i] = tree.labels[k]
            removed.add(k)
    brackets = [pair for k, pair in enumerate(zip(tree.spans, tree.labels, strict=True)) if k not in removed]
    return Tree.from_brackets(tree.words, tags, brackets)


def with_empty_elements(tree: Tree, is_empty: Sequence[bool]) -> Tree:
    """The tree in which an empty element ``(C 0)`` is a phrase over a leaf, ``(C (-NONE- 0))``."""
    empty = [i for i, value in enumerate(is_empty) if value and tree.tags[i] != TRACE]
    if not empty:
        return tree
    tags = [*tree.tags]
    brackets = list(zip(tree.spans, tree.labels, strict=True))
    for i in empty:
        brackets += [((i, i + 1), tags[i])] if tags[i] else []
        tags[i] = TRACE
    return Tree.from_brackets(tree.words, tags, brackets)


def without_lemma(leaf: str) -> str:
    """The word of a ``word-lemma`` leaf. A leaf without an inner hyphen is returned unchanged.

    The middle hyphen separates word and lemma (``e-mail-e-mail``). For an even number of hyphens it is the first one if
    the leaf starts with punctuation, else the last one.
    """
    hyphens = [i for i in range(1, len(leaf) - 1) if leaf[i] == "-"]
    if not hyphens:
        return leaf
    if len(hyphens) % 2:
        return leaf[: hyphens[len(hyphens) // 2]]
    return leaf[: hyphens[-1] if leaf[0].isalnum() else hyphens[0]]


_LINE = re.compile(r"(#(\d+):[^ \[]*\[\d+\]) ([^#]*)(?:#(?!\d+:[^ \[]*\[)[^#]*)*")  # one tree; remarks follow it
_PIECE = re.compile(r"([^()|]*)([()|]|$)")


def read_sinica(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a file. The punctuation after a tree (``#。``) is not part of it, and not a word.

    Raises TreebankError with file and line for a malformed tree; with ``on_bad``, the error is reported to it and the
    tree is skipped. ``notify`` is called at the end if numbers are repeated.
    """
    source = Source.of(path)
    signs = DamageSigns(source.path, notify)
    for number, line in open_lines(source, on_bad=on_bad):
        if not line.strip() or BAD in line:
            continue
        try:
            match = _LINE.fullmatch(line.strip())
            if match is None:
                raise ValueError(f"this line is not '#number:number.[number] tree': {shorten(line)}")
            tree = parse_sinica(match[3])
        except ValueError as error:
            report(TreebankError(source.path, number, str(error)), on_bad)
        else:
            signs.add_number(match[2], number, match[1])
            yield Sentence(tree.words, tree.tags, tree, location=Location(source.path, number))
    signs.report()


def parse_sinica(text: str) -> Tree:
    """The tree of ``S(agent:NP(Head:Nab:爸爸)|Head:VE11:問)``: labels ``S`` and ``NP-agent``, tags ``Nab``, ``VE11``.

    Raises ValueError for unbalanced brackets, for leaves that are not ``role:tag:word``, and for several roles.
    """
    words: list[str] = []
    tags: list[str] = []
    brackets: list[tuple[Span, str]] = []  # inner ones first
    stack: list[tuple[int, str]] = []  # first word and label of each open bracket
    for spaced, delimiter in _PIECE.findall(text.strip()):
        piece = ":".join(part.strip() for part in spaced.split(":"))
        if delimiter == "(":
            if brackets and not stack:
                raise ValueError(f"more than one tree, or a ')' too many; {HELP_CLOSE}")
            *roles, category = piece.split(":")
            if len(roles) > 1:
                raise ValueError(f"{piece!r} is not 'role:category' before a bracket; a '|' may be missing")
            stack.append((len(words), "-".join([category, *roles])))
        elif piece:
            tag, _, word = piece.split(":", piece.count(":") - 1)[-1].partition(":")
            if not (stack and tag and word):
                raise ValueError(f"{piece!r} is not 'role:tag:word' inside of brackets")
            words.append(word)
            tags.append(tag)
        if delimiter == ")":
            if not stack:
                raise ValueError(f"a ')' too many; {HELP_CLOSE}")
            start, label = stack.pop()
            brackets.append(((start, len(words)), label))
    if stack or not brackets:
        raise ValueError(f"this tree is never closed; {HELP_OPEN}" if stack else "there is no tree in this line")
    filled = [(span, label) for span, label in reversed(brackets) if span[0] < span[1]]
    return Tree.from_brackets(words, tags, filled)

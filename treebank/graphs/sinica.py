"""The Sinica Treebank: one tree per line, ``#1:1.[0] S(agent:NP(Head:Nab:爸爸)|Head:VE11:問)#。(PERIODCATEGORY)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import HELP_CLOSE, HELP_OPEN, shorten
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Span, Tree
from treebank.io.checks import DamageSigns
from treebank.io.lines import BAD, OnBad, open_lines, report
from treebank.io.source import AnyPath, Source

_LINE = re.compile(r"(#(\d+):[^ \[]*\[\d+\]) ([^#]*)(?:#.*)?")
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
    for piece, delimiter in _PIECE.findall(text.strip()):
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

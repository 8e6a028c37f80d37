"""Penn-style brackets: a streaming reader of treebanks (what is in the brackets: ``treebank.core.brackets``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import starmap

from treebank.base.errors import TreebankError
from treebank.core.brackets import diagnose, parse, root_offsets, scan, scan_regular
from treebank.core.sentence import Place, Sentence
from treebank.core.tree import TRACE, Tree
from treebank.io.corpussearch import CorpusSearch
from treebank.io.lines import OnBad, open_blocks, report
from treebank.io.tree_splitter import BrokenTree, Cutter


def parse_trees(text: str) -> Iterator[Tree]:
    """The trees of ``text``, as written but for outer brackets without a label over a single child.

    Raises ValueError where brackets do not balance, and for text outside of them.
    """
    return (Tree(*parts) for parts in parse(text))


def read_trees(
    path: str, *, on_bad: OnBad | None = None, rewrite: Callable[[str], str] | None = None
) -> Iterator[tuple[Tree, int]]:
    """The trees of a file, each with the number of the line where it starts; streamed.

    Comments between trees are skipped (``Cutter`` says which), and the ID, CODE and METADATA nodes and lemmas of
    CorpusSearch files are taken out. Raises TreebankError with file and line for brackets that do not balance; with
    ``on_bad``, tells it of each such tree, leaves the tree out, and reads on. ``rewrite`` turns the lines of a dialect
    into Penn brackets, one for one.
    """
    texts = _margins(path)
    if rewrite is not None:
        texts = ((line, rewrite(text)) for line, text in texts)
    return _read_trees(path, texts, Cutter(path)) if on_bad is None else _read_sound_trees(path, texts, on_bad)


def _read_trees(path: str, texts: Iterator[tuple[int, str]], cutter: Cutter) -> Iterator[tuple[Tree, int]]:
    corpus_search = CorpusSearch()
    for number, text in texts:
        parts = scan_regular(text) if cutter.between else None
        if parts is not None:
            cutter.skip(number, text)
            yield Tree(*parts), number
            continue
        for line, block in cutter.feed(number, text):
            yield from _parse_block(path, line, block, corpus_search, cutter.on_bad)
    for line, block in cutter.close():
        yield from _parse_block(path, line, block, corpus_search, cutter.on_bad)


def _read_sound_trees(path: str, texts: Iterator[tuple[int, str]], on_bad: OnBad) -> Iterator[tuple[Tree, int]]:
    """Trees are held back until the next one starts at the margin: a ')' too many comes to light behind its tree."""
    held: list[tuple[Tree, int]] = []

    def drop(error: TreebankError) -> None:
        since = error.since if isinstance(error, BrokenTree) else error.line
        held[:] = [item for item in held if item[1] < since]
        on_bad(error)

    cutter = Cutter(path, drop)
    for tree, line in _read_trees(path, texts, cutter):
        if line == cutter.layout.outermost:
            yield from held
            held.clear()
        held.append((tree, line))
    yield from held


def _margins(path: str) -> Iterator[tuple[int, str]]:
    """The text of a file cut before each line that begins with a bracket, with line numbers; mostly whole trees."""
    for line, block in open_blocks(path):
        first, *rest = block.removesuffix("\n").split("\n(")
        yield line, first
        line += first.count("\n") + 1
        for part in rest:
            yield line, "(" + part
            line += part.count("\n") + 1


def _parse_block(
    path: str, line: int, text: str, corpus_search: CorpusSearch, on_bad: OnBad | None
) -> Iterator[tuple[Tree, int]]:
    try:
        if corpus_search.matches(text):
            trees = [
                corpus_search.unlemmatised(tree) for tree in starmap(Tree, scan(corpus_search.plain(text))) if len(tree)
            ]
        else:
            trees = [Tree(*parts) for parts in scan(text)]
    except ValueError:
        problem = diagnose(text)
        place = line + text.count("\n", 0, problem.offset)
        report(BrokenTree(path, place, problem.message, since=line, resume=0), on_bad)
        return
    for tree, offset in zip(trees, root_offsets(text), strict=False):
        yield tree, line + text.count("\n", 0, offset)


def read_bracketed(
    path: str, *, on_bad: OnBad | None = None, rewrite: Callable[[str], str] | None = None
) -> Iterator[Sentence]:
    """The sentences of a treebank file (see ``read_trees``): words and tags without empty elements, and the tree."""
    for tree, line in read_trees(path, on_bad=on_bad, rewrite=rewrite):
        words, tags = (tree.words, tree.tags) if TRACE not in tree.tags else _seen(tree)
        yield Sentence(words, tags if any(tags) else (), tree, place=Place(path, line))


def _seen(tree: Tree) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words and tags without empty elements. These are few, so taking them out beats picking the others."""
    words, tags = list(tree.words), list(tree.tags)
    i = 0
    for _ in range(tags.count(TRACE)):
        i = tags.index(TRACE, i)
        del words[i], tags[i]
    return tuple(words), tuple(tags)

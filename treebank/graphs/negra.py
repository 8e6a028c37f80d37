"""The export format of NeGra, versions 3 and 4: one word or phrase per line, between ``#BOS`` and ``#EOS``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.graphs.graph_trees import NOTHING, Edge, Graph, Node, full_label, nodes_of
from treebank.io.checks import DamageSigns
from treebank.io.lines import BAD, OnBad, check_size, open_lines, report
from treebank.io.source import AnyPath, Source
from treebank.io.write import tree_of

_PHRASE = re.compile(r"#[0-9]{3,}")
_NO_WORD = re.compile(rf"{_PHRASE.pattern}|#FORMAT|#BOS|#EOS")  # first cells of lines that are not words
_SIX_CELLS = re.compile(
    r"(?:[^\t ]+[\t ]+){4}[^0-9\t ][^\t ]*[\t ]+[0-9]+(?:[\t ]|$)"
)  # a function and a parent at the end
_COMMENT = "%%"  # begins a line or cell that is a comment
_CELLS = re.compile(r"[\t ]+")
_SPACE = "\t\r\n "  # around the cells; words can begin with other white space, such as no-break spaces
ROOT_NUMBER = "0"  # parent of top nodes
OUT_OF_ORDER = "a word follows a phrase, or the numbers of phrases do not increase; are lines exchanged?"


def read_negra(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a file, with phrases made continuous (`Graph.tree`).

    ``notify`` is called at the end with their number, and with signs of damage: repeated numbers of sentences, and
    lines that are out of order. Morphology, lemmas, functions of words and secondary edges are left out. Raises
    TreebankError with file and line for a malformed sentence; with ``on_bad``, the error is reported to it and the
    sentence is skipped.
    """
    source = Source.of(path)
    signs, name = DamageSigns(source.path, notify), ""
    version, first, changed, size = 3, 0, 0, 0
    rows: list[str] = []
    undecoded: list[TreebankError] = []
    for number, line in open_lines(source, on_bad=on_bad and undecoded.append):
        keyword = _CELLS.split(line, 1)[0] if line.startswith("#") else ""
        if keyword == "#FORMAT" or line.startswith(_COMMENT):
            version = _version(line, version)
        elif keyword == "#BOS":
            if first:
                report(TreebankError(source.path, first, "this sentence has no #EOS"), on_bad)
            first, rows, name, size = number, [], _number_of(line), 0
            undecoded.clear()
        elif keyword == "#EOS":
            try:
                if not first:
                    raise ValueError("#EOS without #BOS")
                if _number_of(line) != name:
                    raise ValueError(f"the sentence begins with #BOS {name} and ends with {line.strip()}")
                tree, discontinuous = _graph(rows, version, undecoded).tree()
            except ValueError as problem:
                report(TreebankError(source.path, first or number, str(problem)), on_bad)
            else:
                changed += discontinuous
                signs.add_number(name, first)
                if not _is_ordered(rows):
                    signs.add(OUT_OF_ORDER, first)
                plain = tree.without_traces()
                yield Sentence(plain.words, plain.tags, tree, location=Location(source.path, first))
            first = 0
        elif first and line.strip():
            rows.append(line)
            size += len(line)
            check_size(source.path, first, size)
    if first:
        report(TreebankError(source.path, first, "this sentence has no #EOS; the file seems to be cut"), on_bad)
    if changed:
        notify(f"{source.path}: discontinuous phrases that were made continuous: {changed:,}")
    signs.report()


def _version(line: str, version: int) -> int:
    """The version of the format that a line names: ``#FORMAT 4``, or a comment that names a column of lemmas."""
    if line.startswith(_COMMENT):
        return 4 if "lemma" in line.lower().split() else version
    return 4 if line.split()[-1] == "4" else 3


def _number_of(line: str) -> str:
    """The number of the sentence in a line ``#BOS 1 0 0 0`` or ``#EOS 1``, or "" if there is none."""
    return "".join(line.split()[1:2])


def _is_ordered(rows: list[str]) -> bool:
    """Whether the words precede the phrases, whose numbers increase."""
    names = [_CELLS.split(row.strip(_SPACE), 1)[0] for row in rows]
    numbers = [int(name[1:]) if _PHRASE.fullmatch(name) else 0 for name in names]
    return numbers == sorted(numbers)


def _graph(rows: list[str], version: int, undecoded: Sequence[TreebankError]) -> Graph:
    """The graph of the lines of a sentence. Raises ValueError for a line with too few cells or ``undecoded`` bytes."""
    if any(BAD in row for row in rows):
        raise ValueError(f"line {undecoded[0].line}: {undecoded[0].message}")
    graph = Graph()
    parents: list[tuple[str, str, str]] = []
    if version == 3 and rows and all(_SIX_CELLS.match(row.strip(_SPACE)) for row in rows):
        raise ValueError("the lines have a column of lemmas, as in version 4; begin the file with #FORMAT 4")
    for index, row in enumerate(rows):
        cells = _CELLS.split(row.strip(_SPACE))
        if _COMMENT in row:
            cells = list(takewhile(lambda cell: not cell.startswith(_COMMENT), cells))
        if version == 4 and len(cells) > 5:
            del cells[1]
        if len(cells) < 5:
            raise ValueError(f"expected word, tag, morphology, function and parent: {row.strip()[:40]!r}")
        name, tag, _, function, parent = cells[:5]
        if _PHRASE.fullmatch(name):
            node = graph.new(name[1:])
            graph.labels[node] = tag
        else:
            node = f"w{index}"
            graph.words[node] = name
            graph.tags.append("" if tag == NOTHING else tag)
        parents.append((node, function, parent))
    for node, function, parent in parents:
        if parent != ROOT_NUMBER:
            if parent not in graph.labels:
                raise ValueError(f"the parent {parent} is not a phrase of this sentence")
            graph.edges.setdefault(parent, []).append(Edge(node, function))
        elif node in graph.labels and function != NOTHING:
            graph.labels[node] = full_label(graph.labels[node], function)
    return graph


def write_negra(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Each tree in version 3 of the format. Sentences without words are left out.

    Raises TreebankError for a sentence without a tree, for a word such as ``#500`` or ``#EOS``, which begins another
    type of line, and for a word, tag or label that begins a comment.
    """
    header = "#FORMAT 3\n"
    for index, sentence in enumerate(sentences, 1):
        tree = tree_of(sentence)
        if tree.words:
            yield header + "\n".join([f"#BOS {index} 0 0 0", *_rows(tree, sentence), f"#EOS {index}"])
            header = ""


def _rows(tree: Tree, sentence: Sentence) -> Iterator[str]:
    nodes, top_words, _ = nodes_of(tree)
    _check_cells(tree, nodes, sentence.location)
    parents = dict.fromkeys(top_words, 0)
    above: dict[int, int] = {}
    for node in nodes:
        parents |= dict.fromkeys(node.words, node.number)
        above |= dict.fromkeys(node.phrases, node.number)
    for index, (word, tag) in enumerate(zip(tree.words, tree.tags, strict=True)):
        yield "\t".join([word, tag or NOTHING, NOTHING, NOTHING, str(parents[index])])
    for node in nodes:
        yield "\t".join([f"#{node.number}", node.phrase, NOTHING, node.function, str(above.get(node.number, 0))])


def _check_cells(tree: Tree, nodes: Iterable[Node], location: Location) -> None:
    """Raises TreebankError for a word that begins another type of line, and for a cell that begins a comment."""
    cells = [*tree.words, *tree.tags, *(cell for node in nodes for cell in (node.phrase, node.function))]
    wrong = [*filter(_NO_WORD.fullmatch, tree.words), *(cell for cell in cells if cell.startswith(_COMMENT))]
    if wrong:
        problem = f"{wrong[0]!r} has another meaning in the format negra; choose another format, such as tiger"
        raise TreebankError(*location, problem)

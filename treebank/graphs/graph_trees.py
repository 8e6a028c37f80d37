"""Trees from syntax graphs whose phrases may be discontinuous, and the formats of such graphs.

The export format of NeGra, versions 3 and 4, has one word or phrase per line, between ``#BOS`` and ``#EOS``. TIGER-XML
has terminals and nonterminals in elements ``s``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import NamedTuple
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import shorten
from treebank.core.sentence import Location, Sentence, bare_label
from treebank.core.tree import Tree
from treebank.graphs.xml_texts import read_elements
from treebank.io.checks import DamageSigns
from treebank.io.conllu import BLANK
from treebank.io.lines import BAD, OnBad, check_size, open_lines, report
from treebank.io.source import AnyPath, Source
from treebank.io.write import tree_of

ROOT_LABEL = "VROOT"  # phrase over all words if several nodes have no parent
NOTHING = "--"  # cell for a missing label, tag or function
HEAD = "HD"  # function of the head of a phrase


class Edge(NamedTuple):
    """A child of a phrase: the id of its node, and its function."""

    child: str
    function: str


@dataclass
class Graph:
    """The syntax graph of a sentence: words with tags under their ids in order, and phrases with labels and edges."""

    words: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    edges: dict[str, list[Edge]] = field(default_factory=dict)

    def new(self, node: str) -> str:
        """The id ``node``. Raises ValueError if a word or phrase has it already."""
        if node in self.words or node in self.labels:
            raise ValueError(f"two words or phrases have the id {node!r}")
        return node

    def tree(self) -> tuple[Tree, int]:
        """The tree of the graph, and the number of its discontinuous phrases.

        A discontinuous phrase keeps the words around its head, or its longest part if no child has the function `HD`;
        its other parts become children of the phrase above. Labels are ``NP-SB`` with the function ``SB``. Raises
        ValueError if an edge has no node, a node has two parents, or edges form a cycle.
        """
        return _TreeBuilder(self).build()


@dataclass(frozen=True)
class _Part:
    """A continuous subtree: its words, and its brackets in pre-order as (start, end, label)."""

    start: int
    end: int
    is_head: bool
    brackets: tuple[tuple[int, int, str], ...] = ()


class _TreeBuilder:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.discontinuous = graph, 0
        self.position = {node: index for index, node in enumerate(graph.words)}
        self.functions: dict[str, str] = {}
        for edges in graph.edges.values():
            for child, function in edges:
                if child not in self.position and child not in graph.labels:
                    raise ValueError(f"an edge leads to {child!r}, which is not a node of this sentence")
                if child in self.functions:
                    raise ValueError(f"the node {child!r} has two parents")
                self.functions[child] = function

    def build(self) -> tuple[Tree, int]:
        graph = self.graph
        parts: dict[str, list[_Part]] = {
            node: [_Part(index, index + 1, self.functions.get(node) == HEAD)] for node, index in self.position.items()
        }
        for node in self._bottom_up():
            children = [part for child, _ in graph.edges.get(node, ()) for part in parts.pop(child, ())]
            parts[node] = self._joined(node, children)
        tops = sorted((part for group in parts.values() for part in group), key=lambda part: part.start)
        brackets = [bracket for part in tops for bracket in part.brackets]
        if len(tops) > 1 or (tops and not brackets):
            brackets.insert(0, (0, len(graph.words), ROOT_LABEL))
        pairs = [((start, end), label) for start, end, label in brackets]
        return Tree.from_brackets(graph.words.values(), graph.tags, pairs), self.discontinuous

    def _bottom_up(self) -> list[str]:
        """The phrases, each after the phrases below it. Raises ValueError for a cycle."""
        order = [node for node in self.graph.labels if node not in self.functions]
        for node in order:  # grows during the loop
            order += [child for child, _ in self.graph.edges.get(node, ()) if child in self.graph.labels]
        if len(order) < len(self.graph.labels):
            raise ValueError("the edges of this sentence form a cycle")
        return order[::-1]

    def _joined(self, node: str, children: list[_Part]) -> list[_Part]:
        """The continuous phrase over the children, and the parts that it loses."""
        groups: list[list[_Part]] = []
        for part in sorted(children, key=lambda part: part.start):
            if groups and groups[-1][-1].end == part.start:
                groups[-1].append(part)
            else:
                groups.append([part])
        if not groups:
            raise ValueError(f"the phrase {node!r} has no words; delete it")
        self.discontinuous += len(groups) > 1
        main = max(groups, key=lambda group: (any(part.is_head for part in group), group[-1].end - group[0].start))
        function = self.functions.get(node, NOTHING)
        start, end = main[0].start, main[-1].end
        inner = tuple(bracket for part in main for bracket in part.brackets)
        label = full_label(self.graph.labels[node], function)
        phrase = _Part(start, end, function == HEAD, ((start, end, label), *inner))
        others = [part for group in groups if group is not main for part in group]
        return [phrase, *(_Part(part.start, part.end, False, part.brackets) for part in others)]


def full_label(label: str, function: str) -> str:
    """``NP-SB`` for the phrase ``NP`` with the function ``SB``."""
    if function in ("", NOTHING):
        return "" if label == NOTHING else label
    return label + (function if function.startswith("=") else f"-{function}")


def split_label(label: str) -> tuple[str, str]:
    """Phrase and function of a label, the inverse of `full_label`, with `NOTHING` for a missing one."""
    phrase = bare_label(label)
    function = label[len(phrase) :].removeprefix("-")
    return phrase or NOTHING, function or NOTHING


class Node(NamedTuple):
    """A phrase to write, with its number, and its children: indices of words, and numbers of phrases."""

    number: int
    phrase: str
    function: str
    words: list[int]
    phrases: list[int]


FIRST_NUMBER = 500  # of a phrase, by convention


def nodes_of(tree: Tree) -> tuple[list[Node], list[int], list[int]]:
    """The phrases of a tree, children first, and its top nodes: words and numbers of phrases.

    Phrases have numbers from `FIRST_NUMBER` on, and after those of the words, which count from 1. A phrase `VROOT` over
    all words is not a node; its children are top nodes.
    """
    size = len(tree.spans)
    *children, tops = tree.children()
    is_virtual = size > 0 and tops == [0] and tree.labels[0] == ROOT_LABEL
    tops = children[0] if is_virtual else tops
    numbers = count(max(FIRST_NUMBER, len(tree) + 1))
    number = {k: next(numbers) for k in reversed(range(is_virtual, size))}

    def divided(nodes: Sequence[int]) -> tuple[list[int], list[int]]:
        return [node - size for node in nodes if node >= size], [number[node] for node in nodes if node < size]

    nodes = [Node(number[k], *split_label(tree.labels[k]), *divided(children[k])) for k in number]
    return nodes, *divided(tops)


_PHRASE = re.compile(r"#[0-9]{3,}")
_NO_WORD = re.compile(rf"{_PHRASE.pattern}|#FORMAT|#BOS|#EOS")  # first cells of lines that are not words
_SIX_CELLS = re.compile(
    r"(?:[^\t ]+[\t ]+){4}[^0-9\t ][^\t ]*[\t ]+[0-9]+(?:[\t ]|$)"
)  # a function and a parent at the end
_COMMENT = "%%"  # begins a line or cell that is a comment
_CELLS = re.compile(r"[\t ]+")
_SPACE = "\t\r\n "  # other white space, such as no-break and thin spaces, belongs to words
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
                tree, discontinuous = _graph_of_rows(rows, version, undecoded).tree()
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


def _graph_of_rows(rows: list[str], version: int, undecoded: Sequence[TreebankError]) -> Graph:
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


XML_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<corpus id="corpus">
<head>
<annotation><feature name="word" domain="T"/><feature name="pos" domain="T"/><feature name="cat" domain="NT"/>\
<edgelabel/></annotation>
</head>
<body>
"""
XML_FOOT = "</body>\n</corpus>"
_NEVER_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def read_tiger(
    path: AnyPath, *, on_bad: OnBad | None = None, notify: Callable[[str], None] = ignore
) -> Iterator[Sentence]:
    """The sentences of a file, with phrases made continuous (`Graph.tree`).

    ``notify`` is called at the end with their number, and with repeated ids of sentences. Morphology, lemmas, functions
    of words and secondary edges are left out. A space in a word, tag or label becomes U+00A0. Raises
    TreebankError with file and line for malformed XML, and for a malformed sentence; with ``on_bad``, the error of a
    sentence is reported to it and the sentence is skipped.
    """
    source = Source.of(path)
    changed, signs = 0, DamageSigns(source.path, notify)
    for line, element in read_elements(source, "s"):
        try:
            tree, discontinuous = _graph_of_element(element).tree()
        except ValueError as error:
            report(TreebankError(source.path, line, str(error)), on_bad)
        else:
            changed += discontinuous
            if name := element.get("id"):
                signs.add_id(name, line)
            plain = tree.without_traces()
            yield Sentence(plain.words, plain.tags, tree, location=Location(source.path, line))
    signs.report()
    if changed:
        notify(f"{source.path}: discontinuous phrases that were made continuous: {changed:,}")


def _graph_of_element(sentence: Element) -> Graph:
    """The graph of an element ``s``. Raises ValueError if it has none, and for a missing attribute or repeated id."""
    if sentence.find("graph") is None:
        raise ValueError("this sentence has no <graph>, as in TIGER-XML")
    graph = Graph()
    for terminal in sentence.iter("t"):
        word = _without_spaces(_attribute(terminal, "word"))
        graph.words[graph.new(_attribute(terminal, "id"))] = word
        tag = _without_spaces(terminal.get("pos", ""))
        graph.tags.append("" if tag == NOTHING else tag)
    for phrase in sentence.iter("nt"):
        name = graph.new(_attribute(phrase, "id"))
        graph.labels[name] = _without_spaces(phrase.get("cat", "")) or NOTHING
        graph.edges[name] = [
            Edge(_attribute(edge, "idref"), _without_spaces(edge.get("label", ""))) for edge in phrase.findall("edge")
        ]
    return graph


def _without_spaces(text: str) -> str:
    """``text`` with no-break spaces for the white space inside it, which would end a word or label in other formats."""
    return re.sub(f"[{_SPACE}]+", BLANK, text.strip(_SPACE))


def _attribute(element: Element, name: str) -> str:
    value = element.get(name)
    if not value or not value.strip(_SPACE):
        raise ValueError(f"an element <{element.tag}> has no attribute {name!r}")
    return value


def write_tiger(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """One document: each tree as an element ``s``, the last one with the end. Sentences without words are left out.

    Raises TreebankError for a sentence without a tree, and for a character that XML 1.0 forbids.
    """
    text, written = XML_HEAD, False
    for index, sentence in enumerate(sentences, 1):
        if tree_of(sentence).words:
            if written:
                yield text
                text = ""
            text, written = text + "\n".join(_lines(sentence, f"s{index}")), True
    yield text + "\n" * written + XML_FOOT


def _lines(sentence: Sentence, name: str) -> Iterator[str]:
    """The element of one sentence, whose ids begin with ``name``."""
    tree = tree_of(sentence)
    for text in (*tree.words, *tree.tags, *tree.labels):
        if bad := _NEVER_IN_XML.search(text):
            problem = f"{shorten(text)} contains U+{ord(bad[0]):04X}, which XML forbids"
            raise TreebankError(*sentence.location, f"{problem}; delete it or choose another format, such as negra")
    nodes, top_words, top_phrases = nodes_of(tree)
    single = not top_words and len(top_phrases) == 1
    root = str(top_phrases[0]) if single else ROOT_LABEL
    functions = {node.number: node.function for node in nodes}
    yield f'<s id="{name}"><graph root="{name}_{root}">'
    yield "<terminals>"
    for index, (word, tag) in enumerate(zip(tree.words, tree.tags, strict=True), 1):
        yield f'<t id="{name}_{index}" word={quoteattr(word)} pos={quoteattr(tag or NOTHING)}/>'
    yield "</terminals>"
    yield "<nonterminals>"
    for node in nodes:
        phrase = node.phrase
        if single and str(node.number) == root and node.function != NOTHING:
            phrase = full_label(phrase, node.function)  # no edge leads to the root
        yield f'<nt id="{name}_{node.number}" cat={quoteattr(phrase)}>'
        yield from _edges(name, node.words, node.phrases, functions)
        yield "</nt>"
    if not single:
        yield f'<nt id="{name}_{ROOT_LABEL}" cat="{ROOT_LABEL}">'
        yield from _edges(name, top_words, top_phrases, functions)
        yield "</nt>"
    yield "</nonterminals>"
    yield "</graph></s>"


def _edges(name: str, words: list[int], phrases: list[int], functions: dict[int, str]) -> Iterator[str]:
    for word in words:
        yield f'<edge label="{NOTHING}" idref="{name}_{word + 1}"/>'
    for phrase in phrases:
        yield f'<edge label={quoteattr(functions[phrase])} idref="{name}_{phrase}"/>'

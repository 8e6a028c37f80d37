"""TIGER-XML: graphs of terminals and nonterminals in elements ``s``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.brackets import shorten
from treebank.core.sentence import Location, Sentence
from treebank.graphs.graph_trees import NOTHING, ROOT_LABEL, Edge, Graph, full_label, nodes_of
from treebank.graphs.xml_elements import read_elements
from treebank.io.checks import DamageSigns
from treebank.io.conllu import BLANK
from treebank.io.lines import OnBad, report
from treebank.io.source import AnyPath, Source
from treebank.io.write import tree_of

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<corpus id="corpus">
<head>
<annotation><feature name="word" domain="T"/><feature name="pos" domain="T"/><feature name="cat" domain="NT"/>\
<edgelabel/></annotation>
</head>
<body>
"""
FOOT = "</body>\n</corpus>"
_NEVER_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPACE = "\t\r\n "  # other white space, such as thin spaces, belongs to words


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
            tree, discontinuous = _graph(element).tree()
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


def _graph(sentence: Element) -> Graph:
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
    if not value or not value.strip():
        raise ValueError(f"an element <{element.tag}> has no attribute {name!r}")
    return value


def write_tiger(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """One document: each tree as an element ``s``, the last one with the end. Sentences without words are left out.

    Raises TreebankError for a sentence without a tree, and for a character that XML 1.0 forbids.
    """
    text, written = HEAD, False
    for index, sentence in enumerate(sentences, 1):
        if tree_of(sentence).words:
            if written:
                yield text
                text = ""
            text, written = text + "\n".join(_lines(sentence, f"s{index}")), True
    yield text + "\n" * written + FOOT


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

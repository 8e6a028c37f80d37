"""Sentences and trees as text: brackets, JSON lines, CoNLL-U, words; each format is written here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from treebank.base.errors import TreebankError
from treebank.core.distances import distances_from_tree
from treebank.core.head_rules import heads_from_tree
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree
from treebank.io.conllu_writer import ConlluWriter


def bracket_line(tree: Tree) -> str:
    """A tree in one line; an empty one for no words."""
    return str(tree)


def json_line(value: Mapping[str, Any]) -> str:
    """One JSON object in one line; numbers read back to the same float."""
    return json.dumps(value, ensure_ascii=False)


def span_line(tree: Tree, *, labels: bool = False) -> str:
    """Words and spans of a tree as a JSON line; with ``labels``, also those of the spans and the tags of the words."""
    value: dict[str, Any] = {"words": tree.words, "spans": tree.spans}
    return json_line(value | {"labels": tree.labels, "tags": tree.tags} if labels else value)


def text_line(words: Sequence[str]) -> str:
    """Words between blanks; a blank in a word as U+00A0."""
    return " ".join(word.replace(" ", "\u00a0") for word in words)


def _tree(sentence: Sentence) -> Tree:
    if sentence.tree is None:
        problem = "this sentence has no tree; it can be written as text, and as conllu if it has heads"
        raise TreebankError(sentence.place.path, sentence.place.line, problem)
    return sentence.tree


def _spans(sentence: Sentence, rules: str) -> str:
    tree = _tree(sentence)
    return span_line(tree, labels=tree != tree.without_labels())


def _distances(sentence: Sentence, rules: str) -> str:
    tree = _tree(sentence)
    return json_line({"words": tree.words, "distances": distances_from_tree(tree)})


def _conllu(sentence: Sentence, rules: str, writer: ConlluWriter) -> str | None:
    heads = sentence.heads or heads_from_tree(_tree(sentence), rules)
    return writer(sentence, heads) if heads else None


#: format -> the line or lines of a sentence, by head rules where heads are needed; None where nothing can be written
FORMS: dict[str, Callable[[Sentence, str], str | None]] = {
    "brackets": lambda sentence, rules: bracket_line(_tree(sentence)),
    "spans": _spans,
    "conllu": lambda sentence, rules: _conllu(sentence, rules, ConlluWriter()),
    "distances": _distances,
    "text": lambda sentence, rules: text_line(sentence.words),
}


def write(sentences: Iterable[Sentence], to: str, *, rules: str = "collins") -> Iterator[str]:
    """The sentences in the format ``to``, a name in ``FORMS``; heads of trees by the head ``rules``.

    Raises TreebankError for a sentence that lacks what the format needs.
    """
    writer = ConlluWriter()  # it counts sentences
    form = (lambda sentence, rules: _conllu(sentence, rules, writer)) if to == "conllu" else FORMS[to]
    return (text for text in (form(sentence, rules) for sentence in sentences) if text is not None)

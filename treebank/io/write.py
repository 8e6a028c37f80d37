"""Writers of sentences: brackets, spans and distances as JSON lines, CoNLL-U, and words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from treebank.base.errors import TreebankError
from treebank.base.metadata import json_text
from treebank.core.distances import distances_from_tree, path_lengths
from treebank.core.relations import with_relations
from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE, Tree
from treebank.io.conllu_writer import ConlluWriter

#: from sentences and the name of the head rules to one string per sentence, without the final line end
Writer = Callable[[Iterable[Sentence], str], Iterator[str]]


def text_line(words: Sequence[str]) -> str:
    """Words separated by spaces. A space in a word becomes U+00A0."""
    return " ".join(word.replace(" ", "\u00a0") for word in words)


def write_text(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """The words of each sentence."""
    return (text_line(sentence.words) for sentence in sentences)


def write_brackets(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """The tree of each sentence in one line, "" for no words. Raises TreebankError for a sentence without a tree."""
    return (str(tree_of(sentence)) for sentence in sentences)


def write_spans(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Words and spans of each tree as a JSON line, with tags and labels if there are any."""
    for sentence in sentences:
        tree = tree_of(sentence)
        value: dict[str, object] = {"words": tree.words, "spans": tree.spans}
        has_labels = TRACE in tree.tags or tree != tree.without_labels()
        yield json_text(value | {"labels": tree.labels, "tags": tree.tags} if has_labels else value)


def write_distances(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Words and syntactic distances of each tree as a JSON line: heights in the right-binarized tree."""
    return (_distance_line(tree_of(sentence), distances_from_tree) for sentence in sentences)


def write_path_lengths(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Words of each tree as a JSON line, with the number of edges between neighbors as distances."""
    return (_distance_line(tree_of(sentence), path_lengths) for sentence in sentences)


def _distance_line(tree: Tree, measure: Callable[[Tree], list[int]]) -> str:
    tree = tree.without_traces()  # a line has no tags, so an empty element would become a word
    return json_text({"words": tree.words, "distances": measure(tree)})


def write_conllu(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
    """Each sentence in CoNLL-U, without sentences that have no words.

    The heads of trees follow the head ``rules``, and their relations have names if these are `RULES`.
    """
    writer = ConlluWriter()
    for sentence in sentences:
        if sentence.tree is None and not sentence.words:
            continue
        if sentence.tree is None and not sentence.heads and sentence.annotation:
            yield writer(sentence, ())  # words with glosses, or columns without heads
            continue
        if not sentence.heads:
            sentence = with_relations(sentence.with_tree(tree_of(sentence)), rules)
        if sentence.heads:
            yield writer(sentence, sentence.heads, relations=sentence.relations)


def tree_of(sentence: Sentence) -> Tree:
    """The tree of a sentence. Raises TreebankError if it has none."""
    if sentence.tree is None:
        problem = "this sentence has no tree; it can be written as text, and as conllu if it has heads"
        raise TreebankError(*sentence.location, problem)
    return sentence.tree

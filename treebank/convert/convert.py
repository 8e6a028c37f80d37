"""Conversion of treebanks to another format, streamed, with a report of the annotation that is lost.

A step of a transformation takes a tree and returns a tree, so steps compose: ``binarize(strip_functions(
tree.without_traces()), "left")``. Heads that head rules derive from trees without labels are reported as well.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Literal

from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError
from treebank.base.tables import quantity
from treebank.convert.concat_syn import ConcatSyn, WordAlignment, count_forms
from treebank.core.dependency import delete, phrase_tree
from treebank.core.head_rules import DEFAULT_RULES, NO_LABELS
from treebank.core.relations import with_relations
from treebank.core.sentence import ROOT, Sentence, bare_label, tags_are_penn, word_mask
from treebank.core.tree import TRACE, Span, Tree
from treebank.corpora.catalog import files_of, read_input
from treebank.io.conllu import DocumentBorders
from treebank.io.formats import WRITERS
from treebank.io.lines import OnBad
from treebank.io.read import DEFAULT_INPUT, InputOptions
from treebank.io.write import NO_TAGS

Direction = Literal["left", "right"]
Notify = Callable[[str], None]

ADDED = "@"  # before the label of a bracket that binarization adds
STRIPPED = ("traces", "functions", "punctuation", "labels", "unary")
OF_TREES = frozenset(STRIPPED) - {"punctuation"}
NOT_PENN = "the tags are not those of the Penn Treebank, so words are tokens with a letter or a digit"


def binarize(tree: Tree, direction: Direction) -> Tree:
    """The tree with brackets of at most two children: ``(A b c d)`` is ``(A b (@A c d))``, or ``(A (@A b c) d)``.

    Brackets with one child stay. Without the brackets whose label begins with ``@``, it is the original tree.
    """
    starts_of = [*(start for start, _ in tree.spans), *range(len(tree))]  # of each bracket and word
    child_starts = [[starts_of[child] for child in children] for children in tree.children()[:-1]]
    added: list[tuple[Span, str]] = []
    for (start, end), label, starts in zip(tree.spans, tree.labels, child_starts, strict=True):
        if direction == "right":
            added += [((inner, end), ADDED + label) for inner in starts[1:-1]]
        else:
            added += [((start, inner), ADDED + label) for inner in starts[2:]]
    if not added:
        return tree
    return Tree.from_brackets(tree.words, tree.tags, [*zip(tree.spans, tree.labels, strict=True), *added])


def strip_functions(tree: Tree) -> Tree:
    """The tree without function tags and indices of phrases, ``NP`` instead of ``NP-SBJ-1`` and ``NP=2``."""
    return replace(tree, labels=tuple(bare_label(label) for label in tree.labels))


def leaves(sentence: Sentence) -> Tree:
    """The tree of a sentence, or its words and tags without brackets if it has no tree."""
    if sentence.tree is not None:
        return sentence.tree
    return Tree(sentence.words, sentence.tags or ("",) * len(sentence.words), (), ())


def words_of(sentence: Sentence, notify: Notify) -> list[bool]:
    """Whether each leaf is a word: by tags of the Penn Treebank, by universal tags, or by its characters.

    These are the rules of the default conventions of scores, decided for each sentence. ``notify`` is called
    with a message if the characters decide.
    """
    tree = leaves(sentence)
    if tags_are_penn(tree.words, tree.tags):
        return word_mask("words+aux" if sentence.tree is None else "words", tree.words, tree.tags)
    if sentence.tree is None and len(sentence.universal_tags) == len(sentence.words):
        return word_mask("upos", sentence.words, sentence.tags, sentence.universal_tags)
    notify(NOT_PENN)
    return word_mask("letters", tree.words, tree.tags)


@dataclass(frozen=True, slots=True)
class Transformation:
    """The changes to each sentence.

    Sentences of more than ``max_length`` words, counted as in scoring, are left out. ``strip`` contains names in
    `STRIPPED`: traces; punctuation (all tokens that scoring does not count as words, except traces); functions (tags
    and indices of phrases); unary (repeated brackets around the same words); labels (X and W instead of labels and
    tags). In a sentence without a tree, words are deleted, and a word whose head is deleted depends on the nearest
    remaining ancestor. Without one, it becomes a root, so a sentence can have several roots, as in scoring.
    ``phrases_of_heads`` first gives sentences without a tree the brackets of each head with the words below it;
    sentences whose arcs cross are left out.
    """

    strip: tuple[str, ...] = ()
    binarize: Direction | None = None
    max_length: int | None = None
    phrases_of_heads: bool = False

    def __call__(self, sentences: Iterable[Sentence], notify: Notify = ignore) -> Iterator[Sentence]:
        """The transformed sentences, streamed.

        ``notify`` is called once with a message if the tags do not distinguish words from punctuation, and once if
        sentences without trees are to be changed as only trees can be.
        """
        of_trees = [f"--strip {name}" for name in self.strip if name in OF_TREES] + ["--binarize"] * bool(self.binarize)
        needs_words = self.max_length is not None or "punctuation" in self.strip
        messages: set[str] = set()

        def notify_once(message: str) -> None:
            if message not in messages:
                messages.add(message)
                notify(message)

        borders = DocumentBorders()
        for sentence in self._with_phrases(sentences, notify) if self.phrases_of_heads else sentences:
            if of_trees and sentence.tree is None:
                notify_once(f"sentences without trees are not changed by {', '.join(of_trees)}")
            are_words = words_of(sentence, notify_once) if needs_words else [True] * len(leaves(sentence))
            if self.max_length is None or 0 < sum(are_words) <= self.max_length:
                yield self.transform(borders.restore(sentence), are_words)
            else:
                borders.drop(sentence.annotation.comments if sentence.annotation else ())

    @staticmethod
    def _with_phrases(sentences: Iterable[Sentence], notify: Notify) -> Iterator[Sentence]:
        """The sentences with a tree or that of their heads. ``notify`` is called with the number of others."""
        left_out = 0
        for sentence in sentences:
            if sentence.tree is not None:
                yield sentence
            elif tree := phrase_tree(sentence):
                tags = sentence.tags or sentence.universal_tags
                is_tagged = len(tags) == len(tree) and not {"", "_", TRACE} & {*tags}
                yield sentence.with_tree(replace(tree, tags=tags) if is_tagged else tree)
            else:
                left_out += 1
        if left_out:
            notify(f"left out {quantity(left_out, 'sentence')}: no word is below another, or arcs cross")

    def transform(self, sentence: Sentence, are_words: Sequence[bool]) -> Sentence:
        """The transformed sentence. ``are_words`` says for each leaf whether it is a word."""
        original = leaves(sentence)
        keep = [
            "traces" not in self.strip if tag == TRACE else is_word or "punctuation" not in self.strip
            for is_word, tag in zip(are_words, original.tags, strict=True)
        ]
        if sentence.tree is None:
            return sentence if all(keep) else _delete_words(sentence, keep)
        tree = original.keep(keep)
        if "functions" in self.strip:
            tree = strip_functions(tree)
        if "unary" in self.strip:
            tree = tree.collapse_unary()
        if self.binarize:
            tree = binarize(tree, self.binarize)
        return sentence.with_tree(tree.without_labels() if "labels" in self.strip else tree)


def _delete_words(sentence: Sentence, keep: Sequence[bool]) -> Sentence:
    """The sentence without a tree and without the words for which ``keep`` is false."""

    def select(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(value for value, is_kept in zip(values, keep, strict=True) if is_kept) if values else ()

    heads = delete(sentence.heads, keep) if sentence.heads else ()
    relations = select(sentence.relations)
    if heads and relations:
        pairs = zip(heads, compress(sentence.heads, keep), relations, strict=True)
        relations = tuple("root" if head == ROOT != old else relation for head, old, relation in pairs)
    return replace(
        sentence,
        words=select(sentence.words),
        tags=select(sentence.tags),
        universal_tags=select(sentence.universal_tags),
        heads=heads,
        relations=relations,
        surface=None,
        annotation=sentence.annotation and sentence.annotation.keep(keep, heads, relations),
    )


Relabel = Callable[[Iterable[Sentence]], Iterable[Sentence]]  # gives phrases other labels, or heads other relations


def _has_columns(sentence: Sentence) -> bool:
    return sentence.annotation is not None and bool(sentence.annotation.rows)


_DEFAULT_LABELS = {"", "X"}
#: part of the annotation -> whether a sentence has it
PARTS: dict[str, Callable[[Sentence], bool]] = {
    "trees": lambda sentence: sentence.tree is not None and len(sentence.words) > 1,
    "labels": lambda sentence: sentence.tree is not None and not _DEFAULT_LABELS.issuperset(sentence.tree.labels),
    "tags": lambda sentence: not NO_TAGS.issuperset((sentence.tree or sentence).tags) and not _has_columns(sentence),
    "empty elements": lambda sentence: sentence.tree is not None and TRACE in sentence.tree.tags,
    "heads": lambda sentence: bool(sentence.heads),
    "relations": lambda sentence: any(sentence.relations),
    "confidences": lambda sentence: any(value is not None for value in sentence.confidences),
}
_OF_TREES = frozenset(["trees", "labels", "tags", "empty elements"])
#: name of a writer -> parts that it keeps, if any; nothing is reported for words and distances, by intention
KEPT = {
    "text": frozenset(PARTS),
    "brackets": _OF_TREES,
    "spans": _OF_TREES,
    "distances": frozenset(PARTS),
    "path-lengths": frozenset(PARTS),
    "conllu": frozenset(["tags", "heads", "relations"]),
    "negra": _OF_TREES,
    "tiger": _OF_TREES,
}


@dataclass(frozen=True, slots=True)
class Treebanks:
    """Treebanks to read: files, folders, patterns and names. ``ptb`` is the folder of a full Penn Treebank.

    ``on_bad`` is called with the error of each malformed sentence, which is skipped; without it, the first error is
    raised.
    """

    paths: Sequence[str]
    ptb: str | None = None
    on_bad: OnBad | None = None
    input_options: InputOptions = DEFAULT_INPUT

    def sentences(self) -> Iterator[Sentence]:
        """The sentences of all treebanks, streamed. Raises SynparseError at once for a path without a file."""
        return read_input(self.paths, input_options=self.input_options, on_bad=self.on_bad, trees=True, ptb=self.ptb)

    def silently(self) -> Treebanks:
        """A copy for a second reading, without messages and progress.

        Raises SynparseError for a stream, which can be read only once.
        """
        silent = replace(self.input_options, on_sentence=None, notify=ignore)
        if not all(map(os.path.isfile, files_of(self.paths, trees=not self.input_options.is_raw_text))):
            raise SynparseError("the input is read twice, so it cannot be a stream; name files")
        return replace(self, input_options=silent, on_bad=ignore if self.on_bad else None)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion to the format ``to``, a name in `WRITERS`. ``head_rules`` give the heads of trees for CoNLL-U.

    With ``concat_syn``, the words are first normalized as in PTB-Concat-Syn, with the vocabulary of the treebanks
    ``vocabulary_of``, by default of the converted treebanks. Sentences then receive exactly the words of the lines of
    the files ``align_with``, if there are any. ``relabel`` changes labels before
    everything else, and relations of CoNLL-U after it.
    """

    to: str
    transformation: Transformation = field(default_factory=Transformation)
    head_rules: str = DEFAULT_RULES
    concat_syn: bool = False
    vocabulary_of: Sequence[str] = ()
    align_with: Sequence[str] = ()
    relabel: Relabel | None = None


def convert(treebanks: Treebanks, conversion: Conversion, *, report: Notify = print) -> Iterator[str]:
    """The lines of all sentences in the new format.

    CoNLL-U keeps its comments and columns if it is written again. After the last line, ``report`` is called with each
    line of the report about ``concat_syn``, and with a line about the annotation that the new format does not keep.
    """
    options = replace(treebanks.input_options, keep_annotation=conversion.to == "conllu")
    sentences: Iterable[Sentence] = replace(treebanks, input_options=options).sentences()
    if conversion.relabel and conversion.to != "conllu":
        sentences = conversion.relabel(sentences)
    concat_syn = None
    if conversion.concat_syn:
        counted = replace(treebanks, paths=conversion.vocabulary_of or treebanks.paths).silently()
        alignment = WordAlignment(conversion.align_with) if conversion.align_with else None
        concat_syn = ConcatSyn(count_forms(counted.sentences()), alignment)
        sentences = concat_syn(sentences)
    losses = Losses(conversion.to)
    transformed: Iterable[Sentence] = losses(conversion.transformation(sentences, options.notify))
    if conversion.relabel and conversion.to == "conllu":
        transformed = conversion.relabel(with_relations(sentence, conversion.head_rules) for sentence in transformed)
    return _with_reports(WRITERS[conversion.to](transformed, conversion.head_rules), [concat_syn, losses], report)


def _with_reports(
    lines: Iterator[str], reporters: Sequence[ConcatSyn | Losses | None], report: Notify
) -> Iterator[str]:
    """The lines, followed by the reports about the normalization and about losses."""
    yield from lines
    for reporter in reporters:
        for line in reporter.report() if reporter else ():
            report(line)


class Losses:
    """Counts the sentences that the format ``to`` leaves out, and those that lose a part of their annotation."""

    def __init__(self, to: str) -> None:
        self.to = to
        self.counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._without_words = self._without_labels = 0

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences, counted as they pass."""
        parts = [(name, has_part) for name, has_part in PARTS.items() if name not in KEPT.get(self.to, ())]
        for sentence in sentences:
            self.counts.update(name for name, has_part in parts if has_part(sentence))
            self._dropped.update(sentence.annotation.dropped if sentence.annotation else ())
            if self.to in ("negra", "tiger"):  # which can express a sentence of empty elements
                self._without_words += sentence.tree is not None and not sentence.tree.words
            elif self.to == "conllu":
                self._without_words += not sentence.words
            if self.to == "conllu" and sentence.tree is not None and sentence.words and not sentence.heads:
                self._without_labels += sentence.tree == sentence.tree.without_labels()  # heads would be arbitrary
            yield sentence

    def report(self) -> Iterator[str]:
        """Lines about sentences that are left out, losses by the new format, other losses, and missing labels."""
        if count := self._without_words:
            yield f"sentences without words are left out, because the format {self.to} has none: {count:,}"
        if self.counts:
            parts = ", ".join(f"{name} of {self.counts[name]:,}" for name in PARTS if self.counts[name])
            yield f"the format {self.to} does not keep these parts of sentences: {parts}"
        if self._dropped:
            parts = ", ".join(f"{name} of {count:,}" for name, count in sorted(self._dropped.items()))
            yield f"these parts of sentences are left out: {parts}"
        if self._without_labels:
            yield (
                f"{self._without_labels:,} {NO_LABELS}; models of heads predict them: synparse parse --format conllu"
            )

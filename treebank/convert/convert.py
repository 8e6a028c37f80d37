"""Treebanks in other forms: steps from tree to tree, streamed (``treebank.io.write`` writes them).

A step takes a tree and gives a tree, so steps compose: ``binarize(strip_functions(tree.without_traces()), "left")``.
``Conversion`` puts together those that were asked for, and ``convert`` goes from paths to the lines of a format.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from treebank.base.errors import SynparseError
from treebank.convert.concat_syn import ConcatSyn, count_forms
from treebank.core.dependency import delete
from treebank.core.sentence import Sentence
from treebank.core.tags import bare_label, tags_are_penn, word_mask
from treebank.core.tree import TRACE, Span, Tree
from treebank.corpora.catalog import is_name, load_gold
from treebank.io.expand import expand
from treebank.io.formats import WRITERS
from treebank.io.lines import OnBad
from treebank.io.read import DEFAULT_INPUT, InputOptions, read_sentences

Direction = Literal["left", "right"]
Step = Callable[[Tree], Tree]
Tell = Callable[[str], None]  # hears what the user should know

ADDED = "@"  # before the label of a bracket that binarisation adds


# --- steps


def binarize(tree: Tree, direction: Direction) -> Tree:
    """The tree with brackets of at most two children: ``(A b c d)`` is ``(A b (@A c d))``, or ``(A (@A b c) d)``.

    Brackets of one child stay. Deleting the brackets whose label begins with ``@`` gives the tree again.
    """
    added: list[tuple[Span, str]] = []
    for (start, end), label, starts in zip(tree.spans, tree.labels, _parts(tree), strict=True):
        if direction == "right":
            added += [((inner, end), ADDED + label) for inner in starts[1:-1]]
        else:
            added += [((start, inner), ADDED + label) for inner in starts[2:]]
    if not added:
        return tree
    brackets = sorted(chain(zip(tree.spans, tree.labels, strict=True), added), key=_preorder)
    spans, labels = zip(*brackets, strict=True)
    return Tree(tree.words, tree.tags, spans, labels)


def _preorder(bracket: tuple[Span, str]) -> tuple[int, int]:
    (start, end), _ = bracket
    return start, -end


def _parts(tree: Tree) -> list[list[int]]:
    """The first words of each bracket's children."""
    parts: list[list[int]] = [[] for _ in tree.spans]
    open_brackets: list[int] = []
    k = 0
    for i in range(len(tree)):
        while open_brackets and tree.spans[open_brackets[-1]][1] <= i:
            open_brackets.pop()
        while k < len(tree.spans) and tree.spans[k][0] == i:
            if open_brackets:
                parts[open_brackets[-1]].append(i)
            open_brackets.append(k)
            k += 1
        if open_brackets:
            parts[open_brackets[-1]].append(i)
    return parts


def strip_functions(tree: Tree) -> Tree:
    """The tree without function tags and indices: ``NP`` for ``NP-SBJ-1`` and ``NP=2``; tags of words stay."""
    return replace(tree, labels=tuple(bare_label(label) for label in tree.labels))


# --- what is a word


def leaves(sentence: Sentence) -> Tree:
    """The tree of a sentence; where there is none, its words and tags without a bracket."""
    if sentence.tree is not None:
        return sentence.tree
    return Tree(sentence.words, sentence.tags or ("",) * len(sentence.words), (), ())


def words_of(sentence: Sentence, note: Tell) -> list[bool]:
    """True for each leaf that is a word: by universal tags, by those of the Penn Treebank, else by what it is made of.

    ``note`` hears if the last was needed.
    """
    if sentence.tree is None and len(sentence.universal_tags) == len(sentence.words):
        return word_mask("upos", sentence.words, sentence.tags, sentence.universal_tags)
    tree = leaves(sentence)
    if tags_are_penn(tree.words, tree.tags):
        return word_mask("words", tree.words, tree.tags)
    note("the tags are not those of the Penn Treebank, so a word is what has a letter or a digit in it")
    return word_mask("letters", tree.words, tree.tags)


# --- the conversion


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is done to each sentence, in this order: too long ones are left out, leaves deleted, brackets changed.

    ``strip`` names what is deleted: traces, punctuation (what scoring does not count as a word; traces are another
    matter) and functions. ``max_length`` counts words as scoring does. Of a sentence without a tree words are deleted,
    and a word whose head is gone is given the nearest ancestor that is left.
    """

    strip: tuple[str, ...] = ()
    unary: Literal["keep", "collapse"] = "keep"
    binarize: Direction | None = None
    labels: Literal["keep", "drop"] = "keep"
    max_length: int | None = None

    def __call__(self, sentences: Iterable[Sentence], tell: Tell = lambda note: None) -> Iterator[Sentence]:
        """The sentences converted, streamed. ``tell`` hears, once, if tags cannot tell words from punctuation."""
        needed = self.max_length is not None or "punctuation" in self.strip
        told: set[str] = set()

        def once(note: str) -> None:
            if note not in told:
                told.add(note)
                tell(note)

        for sentence in sentences:
            survives = words_of(sentence, once) if needed else [True] * len(leaves(sentence))
            if self.max_length is None or 0 < sum(survives) <= self.max_length:
                yield self.changed(sentence, survives)

    def changed(self, sentence: Sentence, survives: Sequence[bool]) -> Sentence:
        """The sentence converted; ``survives`` says which leaves are words."""
        old = leaves(sentence)
        keep = [
            "traces" not in self.strip if tag == TRACE else word or "punctuation" not in self.strip
            for word, tag in zip(survives, old.tags, strict=True)
        ]
        if sentence.tree is None:
            return sentence if all(keep) else _delete(sentence, keep)
        tree = old.keep(keep)
        for step in self._steps():
            tree = step(tree)
        return sentence.with_tree(tree)

    def _steps(self) -> Iterator[Step]:
        if "functions" in self.strip:
            yield strip_functions
        if self.unary == "collapse":
            yield Tree.collapse_unary
        if direction := self.binarize:
            yield lambda tree: binarize(tree, direction)
        if self.labels == "drop":
            yield Tree.without_labels


def _delete(sentence: Sentence, keep: Sequence[bool]) -> Sentence:
    def left(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(value for value, kept in zip(values, keep, strict=True) if kept) if values else ()

    return replace(
        sentence,
        words=left(sentence.words),
        tags=left(sentence.tags),
        universal_tags=left(sentence.universal_tags),
        heads=delete(sentence.heads, keep) if sentence.heads else (),
        surface=None,
        annotation=None,
    )


# --- input_options


def read_treebanks(
    paths: Sequence[str],
    *,
    ptb: str | None = None,
    tell: Tell = lambda note: None,
    on_bad: OnBad | None = None,
    input_options: InputOptions = DEFAULT_INPUT,
) -> Iterator[Sentence]:
    """The sentences of files, folders, patterns and named treebanks, streamed; JSON lines are read, too.

    ``tell`` hears the note of a named treebank, such as that it is a sample; ``on_bad`` is told of each broken
    sentence, which is left out. Raises SynparseError at once for a path without a file.
    """
    sources = [
        found for path in paths for found in ([path] if is_name(path) else expand([path], trees=True, notify=tell))
    ]
    return (sentence for source in sources for sentence in _read(source, ptb, tell, on_bad, input_options))


def read_again(
    paths: Sequence[str],
    *,
    ptb: str | None = None,
    on_bad: OnBad | None = None,
    input_options: InputOptions = DEFAULT_INPUT,
) -> Iterator[Sentence]:
    """The same. Raises SynparseError if one of the files is a stream, which can be read only once."""
    for path in paths:
        if not is_name(path) and not all(map(os.path.isfile, expand([path], trees=True))):
            raise SynparseError(
                "the words are counted before anything is written, so the input is read twice: name files"
            )
    return read_treebanks(paths, ptb=ptb, on_bad=on_bad, input_options=input_options)


def _read(
    source: str, ptb: str | None, tell: Tell, on_bad: OnBad | None, input_options: InputOptions
) -> Iterator[Sentence]:
    if is_name(source):
        gold = load_gold(source, ptb=ptb, on_bad=on_bad)
        if gold.note:
            tell(f"{source}: {gold.note}")
        return iter(gold.sentences)
    return read_sentences([source], trees=True, on_bad=on_bad, input_options=replace(input_options, notify=tell))


# --- all together


def convert(
    paths: Sequence[str],
    to: str,
    conversion: Conversion,
    *,
    rules: str = "collins",
    recipe: bool = False,
    vocabulary_of: Sequence[str] = (),
    ptb: str | None = None,
    tell: Tell = lambda note: None,
    on_bad: OnBad | None = None,
    input_options: InputOptions = DEFAULT_INPUT,
) -> Iterator[str]:
    """The lines of the sentences in ``paths``, converted, in the format ``to``.

    ``recipe``: PTB-Concat-Syn first, with the vocabulary of the files ``vocabulary_of`` (of the same files, if there
    are none); after the last line ``tell`` hears what it changed. ``tell`` also hears other notes, ``on_bad`` each
    broken sentence, which is left out. CoNLL-U that is written again keeps its comments and columns.
    """
    input_options = replace(input_options, keep_annotation=to == "conllu")
    sentences = read_treebanks(
        paths, ptb=ptb, tell=lambda text: tell(f"note: {text}"), on_bad=on_bad, input_options=input_options
    )
    concat_syn = None
    if recipe:
        unheard = (lambda error: None) if on_bad else None  # told when it is read again
        again = replace(input_options, on_sentence=None)
        counts = count_forms(read_again(vocabulary_of or paths, ptb=ptb, on_bad=unheard, input_options=again))
        concat_syn = ConcatSyn(counts)
        sentences = concat_syn(sentences)
    lines = WRITERS[to](conversion(sentences, lambda text: tell(f"note: {text}")), rules)
    return lines if concat_syn is None else _reported(lines, concat_syn, tell)


def _reported(lines: Iterator[str], concat_syn: ConcatSyn, tell: Tell) -> Iterator[str]:
    """The lines; after the last one ``tell`` hears what the recipe changed."""
    yield from lines
    for line in concat_syn.report():
        tell(line)

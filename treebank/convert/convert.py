"""Conversion of treebanks to another format, streamed, with a report of the annotation that is lost.

Heads that head rules derive from trees without labels are reported as well.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError
from treebank.convert.concat_syn import ConcatSyn, WordAlignment, count_forms
from treebank.convert.transform import Notify, Transformation
from treebank.core.head_rules import DEFAULT_RULES
from treebank.core.relations import with_relations
from treebank.core.sentence import Sentence
from treebank.core.tree import TRACE
from treebank.corpora.catalog import files_of, read_input
from treebank.io.conllu_writer import NO_TAGS
from treebank.io.formats import WRITERS
from treebank.io.lines import OnBad
from treebank.io.read import DEFAULT_INPUT, InputOptions

Relabel = Callable[[Iterable[Sentence]], Iterable[Sentence]]  # gives phrases other labels, or heads other relations

_DEFAULT_LABELS = {"", "X"}
#: part of the annotation -> whether a sentence has it
PARTS: dict[str, Callable[[Sentence], bool]] = {
    "trees": lambda sentence: sentence.tree is not None and len(sentence.words) > 1,
    "labels": lambda sentence: sentence.tree is not None and not _DEFAULT_LABELS.issuperset(sentence.tree.labels),
    "tags": lambda sentence: not NO_TAGS.issuperset((sentence.tree or sentence).tags) and sentence.annotation is None,
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
                f"{self._without_labels:,} trees have no labels, so no head rule fits and heads are arbitrary; "
                "models of heads predict them: synparse parse --format conllu"
            )

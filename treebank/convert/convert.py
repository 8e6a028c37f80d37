"""Conversion of treebanks to another format, streamed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError
from treebank.convert.concat_syn import ConcatSyn, count_forms
from treebank.convert.losses import Losses
from treebank.convert.transform import Notify, Transformation
from treebank.convert.word_alignment import WordAlignment
from treebank.core.head_rules import DEFAULT_RULES
from treebank.core.relations import with_relations
from treebank.core.sentence import Sentence
from treebank.corpora.catalog import files_of, read_input
from treebank.io.formats import WRITERS
from treebank.io.lines import OnBad
from treebank.io.read import DEFAULT_INPUT, InputOptions

Relabel = Callable[[Iterable[Sentence]], Iterable[Sentence]]  # gives phrases other labels, or heads other relations


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
        if not all(map(os.path.isfile, files_of(self.paths, trees=True))):
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

"""Reading of sentences from files in any format, streamed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from treebank.base.errors import TreebankError, UnknownNameError
from treebank.core.sentence import Location, Sentence
from treebank.io.checks import INNER_MARK, DamageSigns
from treebank.io.expand import expand
from treebank.io.formats import BRACKETS, FORMATS, TEXT, Format, ReadOptions, detect, format_by_suffix
from treebank.io.lines import OnBad
from treebank.io.source import AnyPath, Source
from treebank.io.streams import STDIN
from treebank.tokenize import NONE, tokenization

MARK = "\ufeff"  # byte-order mark
OnSentence = Callable[[Location], None]  # called with the location of each sentence that was read


def _print_note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class InputOptions:
    """The options for reading input.

    ``tokenize`` is the rule that splits plain text into sentences and words: "" for tokenized text or the rule of a
    model, "none" to overrule the rule of a model. With ``paragraphs``, lines may be broken anywhere and a blank line
    ends a paragraph. ``form`` is the name of a format in `FORMATS` and replaces detection. ``encoding`` is "" for
    UTF-8. ``keep_annotation`` stores the columns of CoNLL-U and CoNLL-X in the sentence. ``notify`` is called with a
    message about skipped files and detected formats, ``on_sentence`` with the location of each sentence that was read.
    """

    tokenize: str = ""
    paragraphs: bool = False
    form: str = ""
    encoding: str = ""
    keep_annotation: bool = False
    notify: Callable[[str], None] = _print_note
    on_sentence: OnSentence | None = None

    def __post_init__(self) -> None:
        """Raises UnknownNameError for an unknown encoding or tokenization rule."""
        if self.encoding:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError):  # ValueError: not a name at all
                raise UnknownNameError(
                    f"there is no encoding {self.encoding!r}; try utf-8, iso-8859-15 or cp1252"
                ) from None
        if self.tokenize not in ("", NONE):
            tokenization(self.tokenize)

    @property
    def is_raw_text(self) -> bool:
        """Whether the input is declared as text, so that all text files of a folder are read."""
        return FORMATS[self.form] is TEXT if self.form else self.tokenize not in ("", NONE)


DEFAULT_INPUT = InputOptions()


def read_sentences(
    paths: AnyPath | Iterable[AnyPath],
    *,
    input_options: InputOptions = DEFAULT_INPUT,
    trees: bool | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[Sentence]:
    """The sentences of all files in order, streamed. The format of each file is detected.

    With ``trees``, only treebank files of a folder are read, and apparent text is read as brackets unless
    ``input_options`` declare it as text. ``on_bad`` is called with the error of each malformed sentence, which is
    skipped, and of each of several files that cannot be read to its end; without it, the first error is raised.
    """
    if isinstance(paths, str | os.PathLike | Source):
        paths = [paths]
    sources: list[Source] = []
    for path in paths:
        if isinstance(path, Source):
            sources.append(path)
        else:
            files = expand([path], trees=trees and not input_options.is_raw_text, notify=input_options.notify)
            sources.extend(Source(file, input_options.encoding) for file in files)
    return _read_all(sources, input_options, bool(trees), on_bad)


def _read_all(
    sources: Sequence[Source], options: InputOptions, trees: bool, on_bad: OnBad | None
) -> Iterator[Sentence]:
    rule = "" if options.tokenize == NONE else options.tokenize
    read_options = ReadOptions(
        rule, options.paragraphs, options.keep_annotation, on_bad, bool(options.form), options.notify
    )
    for source in sources:
        signs = DamageSigns(source.path, options.notify)
        try:
            for sentence in _input_format(source, options, trees).read(source, read_options):
                if MARK in "".join(sentence.words):
                    signs.add(INNER_MARK, sentence.location.line)
                yield sentence
                if options.on_sentence:
                    options.on_sentence(sentence.location)
        except TreebankError as error:
            if on_bad is None or len(sources) == 1:
                raise
            on_bad(rest_left_out(error))
        signs.report()


def rest_left_out(error: TreebankError) -> TreebankError:
    """The error of a file that is read up to this error, among others."""
    return TreebankError(error.path, error.line, f"{error.message}; the rest of this file is left out")


def _input_format(source: Source, options: InputOptions, trees: bool) -> Format:
    """The format in which a source is read. A format other than text that was detected by content is reported."""
    if options.form:
        return FORMATS[options.form]
    detected = detect(source)
    if trees:
        return BRACKETS if detected is TEXT and not options.is_raw_text else detected
    if detected is not TEXT and not format_by_suffix(source.path):
        name = "standard input" if source.path == STDIN else source.path
        options.notify(f"{name}: read as {detected.name}, by its content; --input-format text reads it as plain text")
    return detected


def input_format(path: AnyPath, input_options: InputOptions = DEFAULT_INPUT) -> Format:
    """The format that ``input_options`` declare, else the detected one.

    Raises TreebankError for content that cannot be read.
    """
    form = input_options.form
    return FORMATS[form] if form else detect(Source(Source.of(path).path, input_options.encoding))


def is_plain_text(path: AnyPath, input_options: InputOptions = DEFAULT_INPUT) -> bool:
    """Whether a file is read as text, line by line. Raises TreebankError for content that cannot be read."""
    return input_format(path, input_options) is TEXT

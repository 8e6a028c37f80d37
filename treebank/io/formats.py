"""Files of sentences in any format, told by suffix or content; streamed, with errors that name file and line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, cast

from treebank.base.errors import TreebankError, UnknownNameError
from treebank.core.sentence import Place, Sentence
from treebank.io.detect import TEXT, content_of
from treebank.io.lines import OnBad, open_lines
from treebank.io.opening import DAMAGED, STDIN, InputPath
from treebank.io.paths import (
    BRACKETED,
    FORMATS,
    HEAD_SUFFIXES,
    JSON,
    JSON_LINES,
    JSON_TEXT,
    KINDS,
    PLAIN,
    RAW,
    Tell,
    check_output,
    expand,
    suffix,
)
from treebank.tokenize import DEFAULT, NONE, tokenization

__all__ = [
    "AS_FOUND",
    "FORMATS",
    "HEAD_SUFFIXES",
    "KINDS",
    "InputOptions",
    "OnBad",
    "Watch",
    "check_output",
    "expand",
    "is_plain_text",
    "open_lines",
    "read_sentences",
    "suffix",
]


Watch = Callable[[Place], None]


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How input is read, beyond what its suffix and content say.

    ``tokenize`` is the rule that splits plain text into sentences and words ("" where it is tokenised, "none" where no
    model may say otherwise); ``paragraphs``
    says that its lines are broken anywhere. ``form`` forces a format, a name in ``KINDS``; ``encoding`` is that of all
    files where it is not UTF-8. ``whole`` keeps all annotation of CoNLL-U. ``tell`` hears what was left out or is odd,
    ``watch`` where each sentence stands that is read.
    """

    tokenize: str = ""
    paragraphs: bool = False
    form: str = ""
    encoding: str = ""
    whole: bool = False
    tell: Tell = _note
    watch: Watch | None = None

    def __post_init__(self) -> None:
        if self.encoding:
            try:
                "".encode(self.encoding)
            except LookupError:
                raise UnknownNameError(
                    f"there is no encoding {self.encoding!r}; try utf-8, iso-8859-15 or cp1252"
                ) from None
        if self.tokenize not in ("", NONE):
            tokenization(self.tokenize)  # an unknown rule is told before anything is read


AS_FOUND = InputOptions()


def read_sentences(
    paths: Iterable[str | os.PathLike[str]],
    *,
    input_options: InputOptions | None = None,
    tokenize: bool | str = False,
    trees: bool | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[Sentence]:
    """The sentences of all files in order, streamed; a file's format is told by its suffix, else by its content.

    ``tokenize`` splits plain text into sentences and words, by the rule of that name or the default one, if there are
    no ``input_options``, which say more. ``trees=True`` says that trees are wanted: then what looks like text is read
    as brackets, unless ``input_options`` say that it is text, and a folder gives only its treebank files. ``on_bad`` is
    told of each broken sentence of a treebank, which is left out; without it the first one raises.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if input_options is None:
        input_options = InputOptions(tokenize=DEFAULT if tokenize is True else tokenize or "")
    files = expand(paths, trees=trees, tell=input_options.tell)
    if input_options.encoding:
        files = [InputPath(path, input_options.encoding) for path in files]
    sentences = (sentence for path in files for sentence in _reader(path, input_options, trees, on_bad)(path))
    return _watched(sentences, input_options.watch) if input_options.watch else sentences


def _watched(sentences: Iterator[Sentence], watch: Watch) -> Iterator[Sentence]:
    for sentence in sentences:
        yield sentence
        watch(sentence.place)


def is_plain_text(path: str, input_options: InputOptions = AS_FOUND) -> bool:
    """Whether a file is read as text, line by line. Raises TreebankError for what cannot be read."""
    return _target(path, input_options, None) == PLAIN


def _target(path: str, input_options: InputOptions, trees: bool | None) -> str:
    if input_options.form:
        return KINDS[input_options.form]
    return FORMATS.get(suffix(path)) or _by_content(path, input_options, trees)


def _reader(
    path: str, input_options: InputOptions, trees: bool | None, on_bad: OnBad | None
) -> Callable[[str], Iterator[Sentence]]:
    target = _target(path, input_options, trees)
    rule = "" if input_options.tokenize == NONE else input_options.tokenize
    raw = {"rule": rule, "paragraphs": input_options.paragraphs} if rule else {}
    options: dict[str, Any] = {"on_bad": on_bad}
    if target == PLAIN and (not trees or raw or input_options.form == TEXT):
        target, options = (RAW, options | raw) if raw else (PLAIN, options)
    elif target == PLAIN:
        target = BRACKETED
    elif target == JSON_LINES and not trees:
        target, options = JSON_TEXT, {"on_bad": on_bad, "rule": rule}
    elif target == FORMATS[".conllu"]:
        options["whole"] = input_options.whole
    module, function = target.split(":")
    return cast("Callable[[str], Iterator[Sentence]]", partial(getattr(import_module(module), function), **options))


def _by_content(path: str, input_options: InputOptions, trees: bool | None) -> str:
    """The reader that fits how a file begins. Raises TreebankError for what cannot be read, with a remedy."""
    if suffix(path) in JSON:
        return JSON_LINES
    try:
        found = content_of(path)
    except (OSError, *DAMAGED):  # the reader says what is wrong
        return PLAIN
    if found.problem:
        raise TreebankError(path, 0, found.problem)
    if found.kind != TEXT and not trees:
        name = "standard input" if path == STDIN else path
        input_options.tell(f"{name}: this is no text but {found.kind}, and read as that; --as text forces text")
    return KINDS[found.kind]

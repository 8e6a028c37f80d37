"""Sentences of any input: files, folders, patterns, standard input, and treebanks by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from treebank.core.sentence import Sentence
from treebank.corpora.catalog import SAMPLE, is_name, load_gold
from treebank.corpora.sample import sample_treebank
from treebank.io.expand import expand
from treebank.io.lines import OnBad
from treebank.io.read import DEFAULT_INPUT, InputOptions, read_sentences
from treebank.io.source import AnyPath


def files_of(paths: Iterable[str | os.PathLike[str]], *, trees: bool | None = None) -> list[str]:
    """The files that ``paths`` name, without treebanks by name. Raises SynparseError for a path without a file."""
    return expand([path for path in paths if not is_name(os.fspath(path))], trees=trees)


def read_input(
    paths: Iterable[AnyPath],
    *,
    input_options: InputOptions = DEFAULT_INPUT,
    part: str = "test",
    on_bad: OnBad | None = None,
    trees: bool | None = None,
    ptb: str | None = None,
) -> Iterator[Sentence]:
    """The sentences of files and of treebanks by name, in order, streamed.

    ``part`` is the part of the built-in sample under the name ``sample``: train, dev or test. ``ptb`` is the folder of
    a full Penn Treebank. ``on_bad`` and ``trees`` are as for `read_sentences`. Raises SynparseError at once for a path
    without a file.
    """
    sources: list[Iterable[Sentence]] = []
    for named, group in groupby(paths, key=lambda path: isinstance(path, str) and is_name(path)):
        if named:
            sources += [_named_sentences(str(name), input_options, part, on_bad, ptb) for name in group]
        else:
            sources.append(read_sentences(list(group), trees=trees, input_options=input_options, on_bad=on_bad))
    return chain.from_iterable(sources)


def _named_sentences(
    name: str, input_options: InputOptions, part: str, on_bad: OnBad | None, ptb: str | None
) -> Iterator[Sentence]:
    """The sentences of the treebank ``name``. Its note, such as that it is a sample, is reported."""
    treebank = sample_treebank(part) if name == SAMPLE else load_gold(name, ptb=ptb, on_bad=on_bad)
    if treebank.note:
        input_options.notify(f"{name}: {treebank.note}")
    for sentence in treebank.sentences:
        yield sentence
        if input_options.on_sentence:
            input_options.on_sentence(sentence.location)

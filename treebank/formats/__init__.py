"""Files of sentences in any format, chosen by suffix; streamed, with errors that name file and line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, cast

from treebank.formats.lines import OnBad, open_lines
from treebank.formats.paths import BRACKETED, FORMATS, HEAD_SUFFIXES, PLAIN, RAW, SINICA, expand, suffix
from treebank.sentence import Sentence
from treebank.tokenizing import DEFAULT, tokenization

__all__ = ["FORMATS", "HEAD_SUFFIXES", "OnBad", "expand", "open_lines", "read_sentences", "suffix"]


def read_sentences(
    paths: Iterable[str | os.PathLike[str]],
    *,
    tokenize: bool | str = False,
    paragraphs: bool = False,
    trees: bool | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[Sentence]:
    """The sentences of all files in order, streamed; the format of each file is chosen by its suffix.

    ``tokenize`` splits plain text into sentences and words, by the rule of that name or the default one; with
    ``paragraphs`` its lines are broken anywhere and a blank line ends a paragraph. ``trees=True`` says that trees are
    wanted: then files of an unknown suffix (and stdin) are read as brackets, a folder gives only its treebank files.
    ``on_bad`` is told of each broken sentence of a treebank, which is left out; without it the first one raises.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    files = expand(paths, trees=trees)
    raw: dict[str, Any] = {}
    if tokenize:
        raw = {"rule": DEFAULT if tokenize is True else tokenize, "paragraphs": paragraphs}
        tokenization(raw["rule"])  # an unknown rule is told before anything is read
    return (sentence for path in files for sentence in _reader(path, raw, trees, on_bad)(path))


def _reader(
    path: str, raw: dict[str, Any], trees: bool | None, on_bad: OnBad | None
) -> Callable[[str], Iterator[Sentence]]:
    target = FORMATS.get(suffix(path))
    if target is None and not suffix(path) and _is_sinica(path):
        target = SINICA
    if target is None:
        target = BRACKETED if trees else RAW if raw else PLAIN
    module, function = target.split(":")
    reader = getattr(import_module(module), function)
    options = {PLAIN: {}, RAW: raw}.get(target, {"on_bad": on_bad})
    return cast("Callable[[str], Iterator[Sentence]]", partial(reader, **options))


def _is_sinica(path: str) -> bool:
    from treebank.formats.sinica import is_sinica

    return is_sinica(path)

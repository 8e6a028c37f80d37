"""The table of formats, and the detection of the format of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.sentence import Sentence
from treebank.io import content
from treebank.io.bracketed import read_bracketed
from treebank.graphs.cess import read_cess
from treebank.io.compression import COMPRESSED, DAMAGED
from treebank.io.conllu import read_conllu, read_conllx, read_dp
from treebank.io.jsonl import read_json
from treebank.io.lines import OnBad
from treebank.graphs.negra import read_negra, write_negra
from treebank.graphs.sinica import read_sinica
from treebank.io.source import AnyPath, Source
from treebank.graphs.tei import read_tei
from treebank.io.text import read_raw, read_text
from treebank.graphs.tiger import read_tiger, write_tiger
from treebank.io.write import (
    Writer,
    write_brackets,
    write_conllu,
    write_distances,
    write_path_lengths,
    write_spans,
    write_text,
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of the readers: tokenization rule ("" for tokenized text), paragraphs, and annotation.

    ``notify`` is called with messages about changes of the annotation.
    """

    rule: str = ""
    paragraphs: bool = False
    keep_annotation: bool = False
    on_bad: OnBad | None = None
    notify: Callable[[str], None] = ignore


@dataclass(frozen=True, slots=True)
class Format:
    """A format of sentences: its suffixes, its detection from the first lines, its reader and its writers by name."""

    name: str
    structure: Literal["", "trees", "heads"]
    suffixes: tuple[str, ...]
    matches: Callable[[content.Lines], bool]
    read: Callable[[Source, ReadOptions], Iterator[Sentence]]
    writers: tuple[tuple[str, Writer], ...] = ()


def _read_plain(source: Source, options: ReadOptions) -> Iterator[Sentence]:
    if options.rule:
        return read_raw(source, rule=options.rule, paragraphs=options.paragraphs, on_bad=options.on_bad)
    return read_text(source, on_bad=options.on_bad)


def _never(lines: content.Lines) -> bool:
    return False


def _reader(
    read: Callable[..., Iterator[Sentence]], *names: str
) -> Callable[[Source, ReadOptions], Iterator[Sentence]]:
    """The reader that calls ``read`` with the options of these names."""
    return lambda source, options: read(source, **{name: getattr(options, name) for name in names})


_bracketed, _cess, _sinica, _negra, _tiger = (
    _reader(read, "on_bad", "notify") for read in (read_bracketed, read_cess, read_sinica, read_negra, read_tiger)
)
_dp, _tei = (_reader(read, "on_bad") for read in (read_dp, read_tei))
_conllx = _reader(read_conllx, "keep_annotation", "on_bad")
_conllu = _reader(read_conllu, "keep_annotation", "on_bad", "notify")
_json = _reader(read_json, "rule", "on_bad")
_BRACKET_SUFFIXES = (".mrg", ".ptb", ".psd", ".tree", ".trees")
_JSON_WRITERS = (("spans", write_spans), ("distances", write_distances), ("path-lengths", write_path_lengths))
_TABLE = (
    Format("text", "", (), _never, _read_plain, (("text", write_text),)),
    Format("brackets", "trees", _BRACKET_SUFFIXES, content.is_bracketed, _bracketed, (("brackets", write_brackets),)),
    Format("jsonl", "trees", (".json", ".jsonl"), content.is_jsonl, _json, _JSON_WRITERS),
    Format("conllu", "heads", (".conllu",), content.is_conllu, _conllu, (("conllu", write_conllu),)),
    Format("conllx", "heads", (".conllx", ".conll"), _never, _conllx),
    Format("dp", "heads", (".dp",), content.is_dp, _dp),
    Format("cess", "trees", (".tbf",), _never, _cess),
    Format("sinica", "trees", (".sinica",), content.is_sinica, _sinica),
    Format("negra", "trees", (".export", ".negra"), content.is_negra, _negra, (("negra", write_negra),)),
    Format("tiger", "trees", (".tiger", ".tigerxml"), content.is_tiger, _tiger, (("tiger", write_tiger),)),
    Format("tei", "", (".tei",), content.is_tei, _tei),
)
FORMATS = {entry.name: entry for entry in _TABLE}
TEXT, BRACKETS, JSON_LINES = FORMATS["text"], FORMATS["brackets"], FORMATS["jsonl"]
XML_FORMATS = (FORMATS["tiger"], FORMATS["tei"])
_BY_SUFFIX = {suffix: entry for entry in _TABLE for suffix in entry.suffixes}
#: suffixes by which a folder is recognized as a treebank; JSON files in a folder may contain anything
TREEBANK_SUFFIXES = frozenset(_BY_SUFFIX) - frozenset(JSON_LINES.suffixes)
#: formats for output -> writer
WRITERS = {name: writer for entry in _TABLE for name, writer in entry.writers}


def suffix_of(path: str) -> str:
    """The suffix of a file name in lower case, without that of a compression: ``.mrg`` for ``a.MRG.gz``."""
    name, end = os.path.splitext(path.lower())
    return os.path.splitext(name)[1] if end in COMPRESSED else end


def format_by_suffix(path: str) -> Format | None:
    """The format that the suffix of a file names, or None."""
    return _BY_SUFFIX.get(suffix_of(path))


def detect(path: AnyPath) -> Format:
    """The format of a file: by its suffix, else by its first lines, else `TEXT`.

    Raises TreebankError, with a remedy, for content that cannot be read, such as HTML or a table. A file that cannot be
    opened is `TEXT`, so that its reader reports the error.
    """
    source = Source.of(path)
    if by_suffix := format_by_suffix(source.path):
        return by_suffix
    try:
        data = source.head()
    except (OSError, *DAMAGED):
        return TEXT
    if problem := content.document_problem(data):
        raise TreebankError(source.path, 0, problem)
    head = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if lines := content.first_lines(head):
        for entry in _TABLE:
            if entry.matches(lines):
                return entry
    if problem := content.problem_of(head):
        raise TreebankError(source.path, 0, problem)
    return TEXT

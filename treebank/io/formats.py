"""The table of formats, and the detection of the format of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from treebank.base.arguments import ignore
from treebank.base.errors import TreebankError
from treebank.core.sentence import Sentence
from treebank.io import content
from treebank.io.lines import OnBad
from treebank.io.source import COMPRESSED, DAMAGED, AnyPath, Source, document_problem

if TYPE_CHECKING:
    from treebank.io.write import Writer


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of the readers: tokenization rule ("" for tokenized text), paragraphs, and annotation.

    ``is_declared`` says that the user has named the format. ``notify`` is called with messages about changes of the
    annotation.
    """

    rule: str = ""
    paragraphs: bool = False
    keep_annotation: bool = False
    on_bad: OnBad | None = None
    is_declared: bool = False
    notify: Callable[[str], None] = ignore


@dataclass(frozen=True, slots=True)
class Format:
    """A format of sentences: its suffixes, its detection from the first lines, its reader and its writers by name.

    Readers and writers are named ``module:function`` and imported when they are used, so that most of them are leaves.
    ``options`` are the fields of `ReadOptions` that the reader takes.
    """

    name: str
    structure: Literal["", "trees", "heads"]
    suffixes: tuple[str, ...]
    matches: Callable[[content.Lines], bool]
    reader: str
    options: tuple[str, ...] = ("on_bad",)
    writers: tuple[tuple[str, str], ...] = ()

    def read(self, source: Source, options: ReadOptions) -> Iterator[Sentence]:
        """The sentences of a file in this format."""
        arguments = {name: getattr(options, name) for name in self.options}
        return _function(self.reader)(source, **arguments)


def _function(entry: str) -> Callable[..., Any]:
    module, _, name = entry.partition(":")
    return getattr(import_module(module), name)


def _writer(entry: str) -> Writer:
    """The writer ``module:function``, imported when it is called."""

    def write(sentences: Iterable[Sentence], rules: str) -> Iterator[str]:
        return _function(entry)(sentences, rules)

    return write


def _never(lines: content.Lines) -> bool:
    return False


_IO, _WRITE, _FIELD = "treebank.io", "treebank.io.write", "treebank.field.field_texts"
_DIALECTS, _GRAPHS, _TEI = (f"treebank.graphs.{name}" for name in ("bracket_dialects", "graph_trees", "xml_texts"))
_NOTED = ("on_bad", "notify")
_BRACKET_SUFFIXES = (".mrg", ".ptb", ".tree", ".trees")
_JSON_WRITERS = tuple(
    (name, f"{_WRITE}:write_{name.replace('-', '_')}") for name in ("spans", "distances", "path-lengths")
)
_TABLE = (
    Format(
        "text",
        "",
        (),
        _never,
        f"{_IO}.text:read_plain",
        ("rule", "paragraphs", "on_bad"),
        (("text", f"{_WRITE}:write_text"),),
    ),
    Format(
        "corpussearch",
        "trees",
        (".psd",),
        content.is_corpussearch,
        f"{_DIALECTS}:read_corpussearch",
        _NOTED,
    ),
    Format(
        "brackets",
        "trees",
        _BRACKET_SUFFIXES,
        content.is_bracketed,
        f"{_IO}.bracketed:read_bracketed",
        ("is_declared", *_NOTED),
        (("brackets", f"{_WRITE}:write_brackets"),),
    ),
    Format("bare", "trees", (), _never, f"{_IO}.bracketed:read_bare"),
    Format(
        "jsonl",
        "trees",
        (".json", ".jsonl"),
        content.is_jsonl,
        f"{_IO}.jsonl:read_json",
        ("rule", "on_bad"),
        _JSON_WRITERS,
    ),
    Format(
        "conllu",
        "heads",
        (".conllu",),
        content.is_conllu,
        f"{_IO}.conllu:read_conllu",
        ("keep_annotation", *_NOTED),
        (("conllu", f"{_WRITE}:write_conllu"),),
    ),
    Format("conllx", "heads", (".conllx", ".conll"), _never, f"{_IO}.conllu:read_conllx", ("keep_annotation", *_NOTED)),
    Format("dp", "heads", (".dp",), content.is_dp, f"{_IO}.conllu:read_dp", _NOTED),
    Format("cess", "trees", (".tbf",), _never, f"{_DIALECTS}:read_cess", _NOTED),
    Format("sinica", "trees", (".sinica",), content.is_sinica, f"{_DIALECTS}:read_sinica", _NOTED),
    Format(
        "negra",
        "trees",
        (".export", ".negra"),
        content.is_negra,
        f"{_GRAPHS}:read_negra",
        _NOTED,
        (("negra", f"{_GRAPHS}:write_negra"),),
    ),
    Format(
        "tiger",
        "trees",
        (".tiger", ".tigerxml"),
        content.has_root("corpus"),
        f"{_GRAPHS}:read_tiger",
        _NOTED,
        (("tiger", f"{_GRAPHS}:write_tiger"),),
    ),
    Format("tei", "", (".tei",), content.has_root("tei", "teicorpus"), f"{_TEI}:read_tei", _NOTED),
    Format("flextext", "", (".flextext",), content.is_flextext, f"{_FIELD}:read_flextext", ("rule",)),
    Format("pangloss", "", (), content.is_pangloss, f"{_FIELD}:read_pangloss", ("rule",)),
    Format("toolbox", "", (".sfm",), _never, f"{_FIELD}:read_toolbox", ("rule", "notify")),
    Format("elan", "", (".eaf",), content.has_root("annotation_document"), f"{_FIELD}:read_elan", ("rule", "notify")),
    Format("chat", "", (".cha",), _never, f"{_FIELD}:read_chat", ("rule",)),
    Format("subtitles", "", (".srt", ".vtt"), _never, f"{_FIELD}:read_subtitles", ("rule",)),
)
FORMATS = {entry.name: entry for entry in _TABLE}
TEXT, BRACKETS, JSON_LINES = FORMATS["text"], FORMATS["brackets"], FORMATS["jsonl"]
XML_FORMATS = tuple(FORMATS[name] for name in ("tiger", "tei", "flextext", "pangloss", "elan"))
_BY_SUFFIX = {suffix: entry for entry in _TABLE for suffix in entry.suffixes}
TABLE_SUFFIXES = (".csv", ".tsv", ".tab")
#: suffixes by which a folder is recognized as a treebank; JSON files in a folder may contain anything
TREEBANK_SUFFIXES = frozenset(_BY_SUFFIX) - frozenset(JSON_LINES.suffixes)
#: formats for output -> writer
WRITERS: dict[str, Writer] = {name: _writer(writer) for entry in _TABLE for name, writer in entry.writers}


def suffix_of(path: str) -> str:
    """The suffix of a file name in lower case, without that of a compression: ``.mrg`` for ``a.MRG.gz``."""
    name, end = os.path.splitext(path.lower())
    return os.path.splitext(name)[1] if end in COMPRESSED else end


def format_by_suffix(path: str) -> Format | None:
    """The format that the suffix of a file names, or None."""
    return _BY_SUFFIX.get(suffix_of(path))


def detect(path: AnyPath, *, is_raw: bool = False) -> Format:
    """The format of a file: by its suffix, else by its first lines, else `TEXT`.

    ``is_raw`` says that text will be tokenized. Raises TreebankError, with a remedy, for content that cannot be read,
    such as HTML or a table, and for the content of another format than that of the suffix. A file that cannot be opened
    is `TEXT`, so that its reader reports the error.
    """
    source = Source.of(path)
    by_suffix = format_by_suffix(source.path)
    try:
        data = source.head()
    except (OSError, *DAMAGED):
        return by_suffix or TEXT
    if problem := document_problem(data):
        raise TreebankError(source.path, 0, problem)
    head = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if by_suffix:
        return _refined(source.path, by_suffix, head)
    if lines := content.first_lines(head):
        for entry in _TABLE:
            if entry.matches(lines):
                return entry
    is_table = suffix_of(source.path) in TABLE_SUFFIXES
    if problem := content.text_problem(head, is_raw=is_raw, is_table=is_table):
        raise TreebankError(source.path, 0, problem)
    return TEXT


def _refined(path: str, by_suffix: Format, head: str) -> Format:
    """The format of a suffix that several formats share, by the first lines of the file.

    Raises TreebankError if these evidently have another format.
    """
    if by_suffix is BRACKETS and content.has_corpussearch_marks(head):
        return FORMATS["corpussearch"]
    if by_suffix.name == "conllx" and content.has_conllu_lines(head):
        return FORMATS["conllu"]
    lines = content.first_lines(head)
    if not lines or by_suffix.matches(lines):
        return by_suffix
    other = next((entry for entry in _TABLE if entry.matches(lines)), by_suffix)
    families = ({"brackets", "corpussearch", "cess"}, {"conllu", "conllx"}, {by_suffix.name})
    if not any({by_suffix.name, other.name} <= family for family in families):
        problem = f"the content is {other.name}, not {by_suffix.name} as the suffix says"
        raise TreebankError(path, 0, f"{problem}; rename the file or give --input-format {other.name}")
    is_known = by_suffix.name == "conllx" or by_suffix.matches not in (_never, content.is_jsonl)
    if is_known and other is by_suffix and (problem := content.suffix_problem(head)):
        raise TreebankError(path, 0, problem)
    return by_suffix

"""Detection of formats from the first lines of a file, and of files that are not text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treebank.base.metadata import parse_json

Lines = Sequence[str]  # the first lines of a file that are not blank, without the last one, which may be incomplete

_COLUMNS = re.compile(r"[0-9]+([-.][0-9]+)?\t[^\t\n]+(\t[^\t\n]*){8}")
_COMMENT = re.compile(r"# *(sent_id|text|newdoc|newpar|global\.columns)\b")
_ONLY_CONLLU = re.compile(rb"^(?:# *(?:sent_id|text|newdoc|newpar) ?=?|[0-9]+[-.][0-9]+\t)", re.MULTILINE)
_THREE_COLUMNS = re.compile(r"[^\t\n ]+\t[^\t\n ]+\t[0-9]+")
_SINICA = re.compile(r"#\d+:[^ \[]*\[\d+\] [^ (]*\(")
_BRACKETS = re.compile(r"\(\s*(?:[^\s()]+\s*)?\(\s*[^\s()]+\s*(?:\(|[^\s()]+\s*\))")
#: labels of nodes without words in the format of CorpusSearch, and in Switchboard
CORPUSSEARCH_MARKS = frozenset(("ID", "CODE", "META", "METADATA", "VERSION", "LEMMA", "-DFL-"))
_CORPUSSEARCH = re.compile(rb"\((?:ID|CODE|META|METADATA|VERSION|-DFL-)[\s(]")
_MARK_STARTS = (b"(ID", b"(CODE", b"(META", b"(VERSION", b"(-DFL-")  # searched first, which is faster
_MARKED_BYTES = 1 << 13  # at the beginning of a file, among which there is a mark
_COMMENT_OF_BRACKETS = ("#", "%%", "/*", "/~*", "*x*", "<")
_XML_PROLOG = re.compile(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ELEMENT = re.compile(r"\A\s*<(?:[\w.-]+:)?([\w.-]+)")
INCOMPLETE_JSON = re.compile(r'\s*(?:\[\s*\{?|\{)\s*(?:"[^"]*"\s*:|$)')
_JSON_KEY = re.compile(r'"(\w+)"\s*:')
_BINARY = {
    b"%PDF": "a PDF file",
    b"{\\rtf": "a rich text file",
    b"\xd0\xcf\x11\xe0": "a document of an office program",
    b"\x89PNG": "a picture",
}
PAIR_KEYS = ("sentence1", "sentence2")  # of SNLI and MultiNLI
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
JSON_KEYS = ("words", "spans", "distances", "text", PAIR_KEYS[0])
MIN_TABLE_ROWS = 3


def first_lines(head: str) -> Lines:
    """The complete lines at the beginning of a file that are not blank, or the only, incomplete one."""
    *lines, last = head.replace("\r\n", "\n").split("\n")
    return [line for line in lines if line.strip()] or [last] * bool(last.strip())


def is_sinica(lines: Lines) -> bool:
    """Whether the first line is a tree of the Sinica Treebank."""
    return _SINICA.match(lines[0]) is not None


def is_negra(lines: Lines) -> bool:
    """Whether the first line after comments begins a file or a sentence in the export format of NeGra."""
    first = next((line for line in lines if not line.startswith("%%")), "")
    return first.startswith(("#FORMAT ", "#BOT ", "#BOS "))


def is_tiger(lines: Lines) -> bool:
    """Whether an XML file has the root element of TIGER-XML."""
    return _first_element(lines) == "corpus"


def is_tei(lines: Lines) -> bool:
    """Whether an XML file has the root element of TEI."""
    return _first_element(lines) in ("tei", "teicorpus")


def is_pangloss(lines: Lines) -> bool:
    """Whether an XML file has the root element of Pangloss."""
    return lines[0].startswith("<?xml") and re.search(r"<(?:TEXT|ARCHIVE)[\s>]", "\n".join(lines[:5])) is not None


def _first_element(lines: Lines) -> str:
    """The name of the first element of XML in lower case, without its prefix, or ""."""
    if not lines or not lines[0].lstrip().startswith("<"):
        return ""
    match = _ELEMENT.search(_XML_PROLOG.sub("", "\n".join(lines)))
    return match[1].lower() if match else ""


def is_conllu(lines: Lines) -> bool:
    """Whether all lines are rows of ten columns or comments of CoNLL-U."""
    rows = [line for line in lines if not line.startswith("#")]
    if rows:
        return all(map(_COLUMNS.fullmatch, rows[:5]))
    return any(map(_COMMENT.match, lines))


def has_conllu_lines(head: bytes) -> bool:
    """Whether columns have comments, multiword tokens or empty nodes, which CoNLL-X does not have."""
    return _ONLY_CONLLU.search(head) is not None


def is_dp(lines: Lines) -> bool:
    """Whether all lines have three columns without spaces: word, tag and head."""
    return len(lines) >= MIN_TABLE_ROWS and all(map(_THREE_COLUMNS.fullmatch, lines[:50]))


def has_corpussearch_marks(head: bytes) -> bool:
    """Whether brackets have a node such as ID or CODE, by the first bytes of a file."""
    first = head[:_MARKED_BYTES]
    return any(mark in first for mark in _MARK_STARTS) and _CORPUSSEARCH.search(first) is not None


def is_corpussearch(lines: Lines) -> bool:
    """Whether the lines are brackets with a node such as ID or CODE."""
    return has_corpussearch_marks("\n".join(lines).encode()) and is_bracketed(lines)


def is_bracketed(lines: Lines) -> bool:
    """Whether the first line after comments starts a tree with tags, or each line is one tree without tags."""
    rows = [line for line in lines if not line.lstrip().startswith(_COMMENT_OF_BRACKETS)][:50]
    if _BRACKETS.match("\n".join(rows).lstrip()):
        return True
    return all(map(_is_one_bracket, rows)) and any("(" in row.strip()[1:] for row in rows)


def _is_one_bracket(line: str) -> bool:
    """Whether a line consists of one bracket with its content."""
    depth = 0
    for i, character in enumerate(line.strip(), 1):
        depth += (character == "(") - (character == ")")
        if depth <= 0:
            return depth == 0 and i == len(line.strip()) and i > 1
    return False


def is_jsonl(lines: Lines) -> bool:
    """Whether the first line is a JSON object with words, a tree or text, or the beginning of a long one."""
    value = json_object(lines[0])
    if value is None and len(lines) == 1 and lines[0].lstrip().startswith("{") and INCOMPLETE_JSON.match(lines[0]):
        return any(f'"{key}"' in lines[0] for key in JSON_KEYS)
    return value is not None and any(key in value for key in JSON_KEYS)


def has_arcs(head: bytes) -> bool:
    """Whether the first line of JSON lines, by the first bytes, has heads and no tree."""
    lines = first_lines(head.decode("utf-8", "replace").removeprefix("\ufeff"))
    keys = set(_JSON_KEY.findall(lines[0])) if lines else set()
    return "arcs" in keys and keys.isdisjoint(("spans", "distances"))


def document_problem(head: bytes) -> str:
    """The error message for a document or picture, by its first bytes, or ""."""
    names = (name for magic, name in _BINARY.items() if head.startswith(magic))
    return next((f"this is {name}; save it as plain text (UTF-8) first" for name in names), "")


def is_binary(head: bytes) -> bool:
    """Whether a file is not text in any encoding, by its first bytes."""
    is_text = b"\0" not in head or head.startswith(_BYTE_ORDER_MARKS) or utf16_name(head)
    return bool(document_problem(head)) or not is_text


def utf16_name(data: bytes) -> str:
    """The name of UTF-16 without a byte-order mark if about every other byte is NUL, or ""."""
    pairs = len(data) // 2
    for name, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        if pairs > 1 and zeros.count(0) > 0.4 * pairs and data.count(0) < 1.1 * zeros.count(0):
            return name
    return ""


def json_object(line: str) -> dict[str, object] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None

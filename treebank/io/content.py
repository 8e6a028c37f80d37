"""Detection of formats from the first lines of a file, and of content that cannot be read."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from treebank.base.metadata import parse_json

Lines = Sequence[str]  # the first lines of a file that are not blank, without the last one, which may be incomplete

_COLUMNS = re.compile(r"[0-9]+([-.][0-9]+)?\t[^\t\n]+(\t[^\t\n]*){8}")
_COMMENT = re.compile(r"# *(sent_id|text|newdoc|newpar|global\.columns)\b")
_THREE_COLUMNS = re.compile(r"[^\t\n]+\t[^\t\n]+\t[0-9]+")
_SINICA = re.compile(r"#\d+:[^ \[]*\[\d+\] [^ (]*\(")
_BRACKETS = re.compile(r"\(\s*(?:[^\s()]+\s*)?\(\s*[^\s()]+\s*(?:\(|[^\s()]+\s*\))")
#: labels of nodes without words in the format of CorpusSearch, and in Switchboard
CORPUSSEARCH_MARKS = frozenset(("ID", "CODE", "META", "METADATA", "VERSION", "LEMMA", "-DFL-"))
_CORPUSSEARCH = re.compile(rb"\((?:ID|CODE|META|METADATA|VERSION|-DFL-)[\s(]")
_COMMENT_OF_BRACKETS = ("#", "%%", "/*", "/~*", "*x*", "<")
_MARKUP = re.compile(r"<(?:!doctype|html|head|body|\?xml|TEI|tei|corpus|xces)\b", re.IGNORECASE)
_XML_PROLOG = re.compile(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ELEMENT = re.compile(r"\A\s*<(?:[\w.-]+:)?([\w.-]+)")
_INCOMPLETE_JSON = re.compile(r'\s*(?:\[\s*\{?|\{)\s*(?:"[^"]*"\s*:|$)')
_JSON_KEY = re.compile(r'"(\w+)"\s*:')
_BINARY = {
    b"%PDF": "a PDF file",
    b"{\\rtf": "a rich text file",
    b"\xd0\xcf\x11\xe0": "a document of an office program",
    b"\x89PNG": "a picture",
}
PAIR_KEYS = ("sentence1", "sentence2")  # of SNLI and MultiNLI
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_JSON_KEYS = ("words", "spans", "distances", "text", PAIR_KEYS[0])
_SEPARATORS = {"tabs": "\t", "commas": ",", "semicolons": ";"}
MIN_TABLE_ROWS = 3
AS_TEXT = "to read it as text all the same, give --input-format text"


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


def is_dp(lines: Lines) -> bool:
    """Whether all lines have three columns: word, tag and head."""
    return len(lines) >= MIN_TABLE_ROWS and all(map(_THREE_COLUMNS.fullmatch, lines[:20]))


def has_corpussearch_marks(head: bytes) -> bool:
    """Whether brackets have a node such as ID or CODE, by the first bytes of a file."""
    return _CORPUSSEARCH.search(head) is not None


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
    value = _json_object(lines[0])
    if value is None and len(lines) == 1 and lines[0].lstrip().startswith("{") and _INCOMPLETE_JSON.match(lines[0]):
        return any(f'"{key}"' in lines[0] for key in _JSON_KEYS)
    return value is not None and any(key in value for key in _JSON_KEYS)


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


def problem_of(head: str) -> str:
    """The error message, with a remedy, for text that does not consist of sentences, or ""."""
    lines = first_lines(head)
    return _json_problem(lines[0]) or _markup_problem(lines[0]) or _table_problem(lines) if lines else ""


def _json_object(line: str) -> dict[str, object] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _json_problem(line: str) -> str:
    value = _json_object(line)
    if value is not None and not any(key in value for key in _JSON_KEYS):
        return f'these JSON lines have no "words" and no "text" (but {", ".join(list(value)[:4])}); {AS_TEXT}'
    if value is None and line.lstrip().startswith(("{", "[")) and _INCOMPLETE_JSON.match(line):
        return f"this is JSON over several lines; give one object per line (jq -c '.[]' IN > OUT); {AS_TEXT}"
    return ""


def _markup_problem(line: str) -> str:
    if not _MARKUP.match(line.lstrip()):
        return ""
    return f"this is HTML or XML, not TIGER-XML or TEI; extract its text first, one sentence per line; {AS_TEXT}"


def _table_problem(lines: Lines) -> str:
    """The message for a table: all lines have the same number of cells. A comma before a space is punctuation."""
    if len(lines) < MIN_TABLE_ROWS:
        return ""
    for name, separator in _SEPARATORS.items():
        try:
            rows = list(csv.reader(lines[:50], delimiter=separator))
        except csv.Error:
            continue
        counts = {len(row) for row in rows}
        is_tight = all(not cell.startswith(" ") for row in rows for cell in row[1:])
        has_sentences = any(" " in cell for row in rows for cell in row)  # else the cells may be words
        if len(counts) == 1 and counts != {1} and is_tight and has_sentences:
            problem = f"this looks like a table of {counts.pop()} columns between {name}"
            return f"{problem}; write its column of text into a file, one sentence per line, or {AS_TEXT}"
    return ""

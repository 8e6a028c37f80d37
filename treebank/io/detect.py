"""What a file or stream holds, told by its beginning: text, a treebank, JSON lines, or what cannot be read at all."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from treebank.base.json_text import parse_json
from treebank.io.opening import beginning

TEXT = "text"


class Content(NamedTuple):
    """``kind`` is a name in ``treebank.io.paths.KINDS``; or there is a ``problem``, with its remedy."""

    kind: str = TEXT
    problem: str = ""


_COLUMNS = re.compile(r"[0-9]+([-.][0-9]+)?\t[^\t\n]+(\t[^\t\n]*){8}")
_COMMENT = re.compile(r"# *(sent_id|text|newdoc|newpar|global\.columns)\b")
_THREE = re.compile(r"[^\t\n]+\t[^\t\n]+\t[0-9]+")
_SINICA = re.compile(r"#\d+:[^ \[]*\[\d+\] ")
_BRACKETS = re.compile(r"\(\s*(?:[^\s()]+\s*)?\(\s*[^\s()]+\s*(?:\(|[^\s()]+\s*\))")
_MARKUP = re.compile(r"<(?:!doctype|html|head|body|\?xml|TEI|tei|corpus|xces)\b", re.IGNORECASE)
_BINARY = {"%PDF": "a PDF file", "{\\rtf": "a rich text file", "\x89PNG": "a picture"}
FEWEST_ROWS = 3  # of a table, before text is called one
ANYWAY = "to read it as text all the same, give --as text"


def content_of(path: str) -> Content:
    """What the beginning of a file, or of what waits on standard input, looks like."""
    return content(beginning(path).decode("utf-8", "replace").removeprefix("\ufeff"))


def content(head: str) -> Content:
    """What a text that begins like this looks like. The last line may be cut off."""
    for mark, name in _BINARY.items():
        if head.startswith(mark):
            return Content(problem=f"this is {name}; save it as plain text (UTF-8) first")
    lines = _whole_lines(head)
    if not lines:
        return Content()
    return _columns(lines) or _bracketed(lines) or _json(lines[0]) or _markup(lines) or _table(lines) or Content()


def _whole_lines(head: str) -> list[str]:
    """The lines that are not blank, without the one that is cut off, unless it is all there is."""
    *lines, last = head.replace("\r\n", "\n").split("\n")
    return [line for line in lines if line.strip()] or [last] * bool(last.strip())


def _columns(lines: list[str]) -> Content | None:
    if _SINICA.match(lines[0]):
        return Content("sinica")
    rows = [line for line in lines if not line.startswith("#")]
    if rows and all(map(_COLUMNS.fullmatch, rows[:5])):
        return Content("conllu")
    if not rows and any(map(_COMMENT.match, lines)) and all(line.startswith("#") for line in lines):
        return Content("conllu")
    if len(lines) >= FEWEST_ROWS and all(map(_THREE.fullmatch, lines[:20])):
        return Content("dp")
    return None


def _bracketed(lines: list[str]) -> Content | None:
    """Penn-style trees: brackets with labels, one inside the other, from the first line that is no comment."""
    rows = [line for line in lines if not line.lstrip().startswith(("#", "%%", "/*", "/~*", "*x*", "<"))]
    text = "\n".join(rows[:50]).lstrip()
    return Content("brackets") if _BRACKETS.match(text) else None


def _json(line: str) -> Content | None:
    if not line.lstrip().startswith(("{", "[")):
        return None
    try:
        value = parse_json(line)
    except ValueError:
        if re.match(r'\s*(?:\[\s*\{?|\{)\s*(?:"[^"]*"\s*:|$)', line):
            problem = "this is JSON over several lines; here an object stands on each line (jq -c '.[]' IN > OUT)"
            return Content(problem=f"{problem}; {ANYWAY}")
        return None
    if isinstance(value, dict):
        if any(key in value for key in ("words", "spans", "distances", "text")):
            return Content("jsonl")
        keys = ", ".join(list(value)[:4])
        return Content(problem=f'these JSON lines have no "words" and no "text" (but {keys}); {ANYWAY}')
    return None


def _markup(lines: list[str]) -> Content | None:
    if _MARKUP.match(lines[0].lstrip()):
        problem = "this is HTML or XML; take the text out of it first, one sentence a line"
        return Content(problem=f"{problem}; {ANYWAY}")
    return None


def _table(lines: list[str]) -> Content | None:
    """A refusal if every line has the same number of cells. A comma before a blank is one of the language."""
    if len(lines) < FEWEST_ROWS:
        return None
    for name, sign in (("tabs", "\t"), ("commas", ","), ("semicolons", ";")):
        try:
            rows = list(csv.reader(lines[:50], delimiter=sign))
        except csv.Error:
            continue
        counts = {len(row) for row in rows}
        tight = all(not cell.startswith(" ") for row in rows for cell in row[1:])
        sentences = any(" " in cell for row in rows for cell in row)  # else they may be words between tabs
        if len(counts) == 1 and counts != {1} and tight and sentences:
            problem = f"this looks like a table of {counts.pop()} columns between {name}"
            return Content(problem=f"{problem}; write its column of text into a file, one sentence a line, or {ANYWAY}")
    return None

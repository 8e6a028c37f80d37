"""The rules of the format level of the Universal Dependencies validator: level 1, and of level 2 the text."""

from __future__ import annotations

import re

_ID = re.compile(r"[1-9][0-9]*(?:-[1-9][0-9]*)?|[0-9]+\.[1-9][0-9]*")


def violations(document: str) -> list[str]:
    """Errors of a CoNLL-U document, empty if the format level of the validator accepts it."""
    problems = [] if document.endswith("\n\n") or not document else ["no empty line at the end"]
    problems += ["carriage return"] if "\r" in document else []
    ids_before: set[str] = set()
    for block in re.split(r"\n{2}", document.removesuffix("\n\n")):
        problems += _of_sentence(block.split("\n"), ids_before)
    return problems


def _of_sentence(lines: list[str], ids_before: set[str]) -> list[str]:
    comments = [line for line in lines if line.startswith("#")]
    rows = [line.split("\t") for line in lines[len(comments) :]]
    problems = [f"comment after a row: {row[0]}" for row in rows if row[0].startswith("#")]
    problems += [f"{len(row)} columns: {row}" for row in rows if len(row) != 10]
    if problems or not rows:
        return problems or ["a sentence without rows"]
    for row in rows:
        problems += [f"empty cell: {row}" for cell in row if not cell]
        problems += [f"space at an end: {row}" for cell in row if cell != cell.strip(" ") or "  " in cell]
        problems += [
            f"blank where none may be: {row}" for i, cell in enumerate(row) if i not in (1, 2, 9) and " " in cell
        ]
        problems += [] if _ID.fullmatch(row[0]) else [f"id {row[0]}"]
    words = [row for row in rows if row[0].isdecimal()]
    problems += (
        [] if [row[0] for row in words] == [str(i) for i in range(1, len(words) + 1)] else ["ids do not count up"]
    )
    problems += [f"head {row[6]}" for row in words if not (row[6].isdecimal() and int(row[6]) <= len(words))]
    problems += [f"{row[6]} {row[7]}" for row in words if (row[6] == "0") != (row[7] == "root")]
    problems += [f"head of {row[0]}" for row in rows if not row[0].isdecimal() and (row[6], row[7]) != ("_", "_")]
    return problems + _of_metadata(comments, rows, ids_before)


def _of_metadata(comments: list[str], rows: list[list[str]], ids_before: set[str]) -> list[str]:
    ids = [line.partition("=")[2].strip() for line in comments if re.match(r"# *sent_id *=", line)]
    texts = [line.partition("=")[2].strip() for line in comments if re.match(r"# *text *=", line)]
    if len(ids) != 1 or len(texts) != 1:
        return [f"{len(ids)} sent_id, {len(texts)} text"]
    problems = [f"sent_id {ids[0]} again"] if ids[0] in ids_before else []
    ids_before.add(ids[0])
    covered, surface = 0, ""
    for row in rows:
        if "." in row[0] or (row[0].isdecimal() and int(row[0]) <= covered):
            continue
        covered = int(row[0].rpartition("-")[2]) if "-" in row[0] else covered
        surface += row[1] + ("" if "SpaceAfter=No" in row[9].split("|") else " ")
    return problems if surface.strip() == texts[0] else [*problems, f"text {texts[0]!r} but words {surface!r}"]

"""Signs of damage in a treebank whose sentences are valid, which are reported in notes at the end of a file."""

from __future__ import annotations

from collections.abc import Callable

MAX_IDS = 100_000  # ids of one document that are compared
REPEATED_ID = "this sentence has the id of an earlier one; is a part of the file repeated?"
OTHER_TEXT = "the words are not those of # text; is a line lost, repeated or changed?"

INNER_MARK = "a word of this sentence contains a byte-order mark (U+FEFF), as at the joints of concatenated files"
OUTER_SPACE = "a word of this sentence begins or ends with a space"


class DamageSigns:
    """Signs of damage in one file: the first line and the count of each type."""

    def __init__(self, path: str, notify: Callable[[str], None]) -> None:
        self._path, self._notify = path, notify
        self._lines: dict[str, list[int]] = {}  # sign -> first line, count
        self._ids: set[str] = set()
        self._number = 0

    def add(self, sign: str, line: int) -> None:
        """Count a sign of damage."""
        self._lines.setdefault(sign, [line, 0])[1] += 1

    def add_id(self, name: str, line: int) -> None:
        """Count `REPEATED_ID` if a sentence of this document has the id ``name`` already."""
        if name in self._ids:
            self.add(REPEATED_ID, line)
        elif len(self._ids) < MAX_IDS:
            self._ids.add(name)

    def add_number(self, digits: str, line: int, name: str = "") -> None:
        """Like ``add_id`` for ``name``, by default ``digits``, whose number begins a new document if it is smaller."""
        number = int(digits) if digits.isdecimal() else self._number
        if number < self._number:
            self.begin_document()
        self._number = number
        self.add_id(name or digits, line)

    def begin_document(self) -> None:
        """Forget the ids, which may occur again in another document."""
        self._ids.clear()

    def report(self) -> None:
        """Report each sign with its first line and the number of further lines."""
        for sign, (line, count) in self._lines.items():
            more = f" ({count - 1:,} more like this)" if count > 1 else ""
            self._notify(f"{self._path}:{line}: {sign}{more}")

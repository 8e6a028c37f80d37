"""Minimal pairs: sentences that differ in one thing, of which one is grammatical and the other is not.

Marvin and Linzen (2018), *Targeted Syntactic Evaluation of Language Models*, as converted to columns; BLiMP (Warstadt
et al. 2020), as published; and files of the user's own in either format.
"""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json
from treebank.core.sentence import Sentence
from treebank.io.formats import open_lines
from treebank.io.lines import member_lines
from treebank.io.text import tokenize

FOLDER = "SYNPARSE_PAIRS"  # the environment variable that names the folder of the two collections
#: name -> the files that may hold the collection, in the folder or in one of these below it
COLLECTIONS = {
    "marvin-linzen": ("marvin_linzen_all.tsv.gz", "marvin_linzen_all.tsv", "marvin_linzen_sample.tsv"),
    "blimp": ("BLiMP.zip", "blimp.jsonl", "blimp_sample_20x67.jsonl"),
}
BELOW = {"marvin-linzen": "marvin_linzen", "blimp": "blimp"}
SHORT, LONG = "short-term dependency", "long-term dependency"


class Agreement(NamedTuple):
    """Where the subject of the verb that matters stands: the ``start`` and the end of its phrase, its ``noun``."""

    start: int
    verb: int
    noun: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, what they test, and to which part of the table that belongs; where the subject is, if known."""

    good: Sentence
    bad: Sentence
    phenomenon: str
    group: str = ""
    agreement: Agreement | None = None


class Phenomenon(NamedTuple):
    """A row of table 3 of Shen et al. 2019."""

    title: str
    group: str
    subject: str = ""  # "near": the phrase in front of the verb; "far": the phrase that begins the sentence


#: the names of Marvin and Linzen's templates, without _anim and _inanim
PHENOMENA = {
    "simple_agrmt": Phenomenon("agreement: simple", SHORT, "near"),
    "sent_comp": Phenomenon("agreement: in a sentential complement", SHORT, "near"),
    "vp_coord": Phenomenon("agreement: short VP coordination", SHORT),
    "obj_rel_within": Phenomenon("agreement: in an object relative clause", SHORT, "near"),
    "obj_rel_no_comp_within": Phenomenon("agreement: in an object relative (no that)", SHORT, "near"),
    "simple_reflexives": Phenomenon("reflexives: simple", SHORT),
    "reflexive_sent_comp": Phenomenon("reflexives: in a sentential complement", SHORT),
    "simple_npi": Phenomenon("polarity items: simple", SHORT),
    "long_vp_coord": Phenomenon("agreement: long VP coordination", LONG),
    "prep": Phenomenon("agreement: across a prepositional phrase", LONG, "far"),
    "subj_rel": Phenomenon("agreement: across a subject relative clause", LONG, "far"),
    "obj_rel_across": Phenomenon("agreement: across an object relative clause", LONG, "far"),
    "obj_rel_no_comp_across": Phenomenon("agreement: across an object relative (no that)", LONG, "far"),
    "reflexives_across": Phenomenon("reflexives: across a relative clause", LONG),
    "npi_across": Phenomenon("polarity items: across a relative clause", LONG),
}
AFTER_NOUN = frozenset(["that", "the", "next", "to", "behind", "in", "near", "across", "from", "by", "with"])


class _Entry(NamedTuple):
    """A line of a file: what it tests, and what makes its pairs (cutting into words takes long)."""

    phenomenon: str
    pairs: Callable[[], Iterable[Pair]]


def read_pairs(name: str, *, folder: str | None = None, limit: int | None = None) -> list[Pair]:
    """The pairs of ``marvin-linzen`` or ``blimp``, looked for in ``folder`` or $SYNPARSE_PAIRS, or of a file.

    A file has tab-separated columns, ``good`` and ``bad`` or those that its first line names (``phenomenon``,
    ``config``, ``good``, ``bad``, ``bad2``), or JSON lines with ``sentence_good`` and ``sentence_bad``, alone or in a
    zip. With ``limit`` only about that many pairs of each phenomenon, evenly spread. Raises SynparseError.
    """
    path = _collection(name, folder) if name in COLLECTIONS else name
    if path.endswith(".zip"):
        entries = list(_zipped(path))
    elif path.removesuffix(".gz").endswith((".jsonl", ".json")):
        entries = [_of_json(line, f"{path}:{number}") for number, line in enumerate(_lines(path), 1) if line.strip()]
    else:
        entries = list(_columns(path))
    if not entries:
        raise SynparseError(f"{path}: there is no pair in it")
    return [pair for entry in (entries if limit is None else _thinned(entries, limit)) for pair in entry.pairs()]


def _collection(name: str, folder: str | None) -> str:
    """The file of a collection."""
    given = folder or os.environ.get(FOLDER)
    if not given:
        raise SynparseError(f"{name}: where are its files? Give --pairs-folder DIR or set {FOLDER}")
    for place in (Path(given), Path(given) / BELOW[name]):
        for file in COLLECTIONS[name]:
            if (place / file).is_file():
                return str(place / file)
    raise SynparseError(f"{given}: there is none of {', '.join(COLLECTIONS[name])} in it")


def _lines(path: str) -> Iterator[str]:
    return (line for _, line in open_lines(path))


def _zipped(path: str) -> Iterator[_Entry]:
    """All ``.jsonl`` files of a zip, by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(filter(_holds_pairs, archive.namelist())):
                with archive.open(name) as stream:
                    for number, line in member_lines(stream, f"{path}/{name}"):
                        yield _of_json(line, f"{path}/{name}:{number}")
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise SynparseError(f"{path}: cannot be read as a zip of JSON lines ({error})") from None


def _holds_pairs(name: str) -> bool:
    """Whether a file of a zip is one of JSON lines, and none of those that macOS adds."""
    return name.endswith(".jsonl") and not name.rpartition("/")[2].startswith(".")


def _of_json(line: str, place: str) -> _Entry:
    """A pair of BLiMP, its text split into words as in the Penn Treebank."""
    try:
        entry: Any = parse_json(line)
        good, bad = (str(entry[f"sentence_{name}"]) for name in ("good", "bad"))
    except (ValueError, KeyError, TypeError):
        raise SynparseError(f'{place}: expected an object with "sentence_good" and "sentence_bad"') from None
    phenomenon, group = str(entry.get("UID", "all")), str(entry.get("linguistics_term", ""))

    def pairs() -> Iterator[Pair]:
        one, other = (Sentence(tokenize(text, "english")) for text in (good, bad))
        yield Pair(one, other, phenomenon, group)

    return _Entry(phenomenon, pairs)


def _columns(path: str) -> Iterator[_Entry]:
    """The pairs of a file of columns."""
    names: list[str] = []
    for number, line in enumerate(_lines(path), 1):
        cells = line.rstrip("\r\n").split("\t")
        if number == 1:
            named = {"good", "bad"} <= set(cells)
            names = cells if named else ["good", "bad"]
            if named:
                continue
        row = dict(zip(names, cells, strict=False))
        if not row.get("good", "").strip() or not row.get("bad", "").strip():
            if not line.strip():
                continue
            raise SynparseError(f"{path}:{number}: expected a good and a bad sentence with a tab between them")
        name = row.get("phenomenon", "all")
        known = PHENOMENA.get(name.removesuffix("_anim").removesuffix("_inanim"), Phenomenon(name, ""))
        yield _Entry(known.title, partial(_of_row, row, known))


def _of_row(row: dict[str, str], known: Phenomenon) -> Iterator[Pair]:
    """The pair of a row, or the three of a row with a second bad sentence."""
    good, bad, worse = (Sentence(tuple(row.get(key, "").split())) for key in ("good", "bad", "bad2"))
    if not worse.words:
        yield Pair(good, bad, known.title, known.group, _agreement(good.words, bad.words, known.subject))
        return
    for title, one, other in (
        ("grammatical vs. intrusive", good, bad),
        ("intrusive vs. ungrammatical", bad, worse),
        ("grammatical vs. ungrammatical", good, worse),
    ):
        yield Pair(one, other, f"{known.title} ({title})", known.group)


def _agreement(good: Sequence[str], bad: Sequence[str], subject: str) -> Agreement | None:
    """Where the verb in which the sentences differ stands, and its subject; None where that is not looked at."""
    verb = next((index for index, words in enumerate(zip(good, bad, strict=False)) if words[0] != words[1]), 0)
    if not subject or verb < 2 or "the" not in good[:verb]:
        return None
    if subject == "near":
        start = max(index for index in range(verb) if good[index] == "the")
        return Agreement(start, verb, verb - 1)
    noun = next((index for index in range(2, verb) if good[index] in AFTER_NOUN), verb) - 1
    return Agreement(0, verb, noun)


def _thinned(entries: Sequence[_Entry], limit: int) -> Iterator[_Entry]:
    """About ``limit`` entries of each phenomenon, from all over it."""
    counts = Counter(entry.phenomenon for entry in entries)
    seen: Counter[str] = Counter()
    for entry in entries:
        total, place = counts[entry.phenomenon], seen[entry.phenomenon]
        seen[entry.phenomenon] += 1
        if total <= limit or place * limit // total != (place + 1) * limit // total:
            yield entry

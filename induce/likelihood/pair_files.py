"""Readers of minimal pairs: two sentences with one difference, of which one is grammatical and the other is not.

The collections are Marvin and Linzen (2018), *Targeted Syntactic Evaluation of Language Models*, converted to columns,
and BLiMP (Warstadt et al. 2020) as published. Other files may have either format.
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
from treebank.base.metadata import parse_json
from treebank.core.sentence import Sentence
from treebank.io.lines import member_lines, open_lines
from treebank.io.source import open_zip
from treebank.tokenize import tokenize

FOLDER_VARIABLE = "SYNPARSE_PAIRS"  # environment variable: the folder of the two collections
#: name -> file names of the collection, in the folder or in its subfolder
COLLECTIONS = {
    "marvin-linzen": ("marvin_linzen_all.tsv.gz", "marvin_linzen_all.tsv", "marvin_linzen_sample.tsv"),
    "blimp": ("BLiMP.zip", "blimp.jsonl", "blimp_sample_20x67.jsonl"),
}
#: number of cells -> columns of a file without a header
COLUMNS = {2: ["good", "bad"], 3: ["phenomenon", "good", "bad"]}
HEADER_NAMES = {"grammatical": "good", "ungrammatical": "bad"}  # other names of columns in a header
AFTER_NOUN = frozenset(["that", "the", "next", "to", "behind", "in", "near", "across", "from", "by", "with"])
SHORT, LONG = "short-term dependency", "long-term dependency"


class VerbAgreement(NamedTuple):
    """Word indices of the evaluated ``verb``, and of its subject: first word and head noun of the phrase."""

    start: int
    verb: int
    noun: int

    @classmethod
    def of(cls, good: Sequence[str], bad: Sequence[str], subject: str) -> VerbAgreement | None:
        """The verb in which the sentences differ, and its subject, or None if the phenomenon has no known subject."""
        verb = next((index for index, words in enumerate(zip(good, bad, strict=False)) if words[0] != words[1]), 0)
        if not subject or verb < 2 or "the" not in good[:verb]:
            return None
        if subject == "near":
            start = max(index for index in range(verb) if good[index] == "the")
            return cls(start, verb, verb - 1)
        noun = next((index for index in range(2, verb) if good[index] in AFTER_NOUN), verb) - 1
        return cls(0, verb, noun)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, the phenomenon that they test, its group in the table, and the subject if it is known."""

    good: Sentence
    bad: Sentence
    phenomenon: str
    group: str = ""
    agreement: VerbAgreement | None = None


class Phenomenon(NamedTuple):
    """A row of table 3 of Shen et al. 2019."""

    title: str
    group: str
    subject: str = ""  # "near": the phrase before the verb; "far": the phrase at the start of the sentence


#: names of Marvin and Linzen's templates, without _anim and _inanim
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


class _Entry(NamedTuple):
    """A line of a file: its phenomenon, and a function that makes its pairs (tokenizing is slow)."""

    phenomenon: str
    pairs: Callable[[], Iterable[Pair]]


def read_pairs(name: str, *, folder: str | None = None, limit: int | None = None) -> list[Pair]:
    """The pairs of ``marvin-linzen`` or ``blimp`` in ``folder`` or $SYNPARSE_PAIRS, or of a file.

    A file has tab-separated columns, those of `COLUMNS` or those named in its first line (``phenomenon``, ``config``,
    ``good`` or ``grammatical``, ``bad`` or ``ungrammatical``, ``bad2``), or JSON lines with ``sentence_good`` and
    ``sentence_bad``, possibly in a zip. ``limit`` selects about that many lines of each phenomenon, evenly spread.
    Raises SynparseError if a file is missing, malformed or empty.
    """
    path = _collection(name, folder) if name in COLLECTIONS else name
    if path.endswith(".zip"):
        entries = list(_zipped(path))
    elif path.removesuffix(".gz").endswith((".jsonl", ".json")):
        entries = [_json_entry(line, f"{path}:{number}") for number, line in enumerate(_lines(path), 1) if line.strip()]
    else:
        entries = list(_columns(path))
    if not entries:
        raise SynparseError(f"{path}: contains no pairs")
    return [pair for entry in (entries if limit is None else _sample(entries, limit)) for pair in entry.pairs()]


def _collection(name: str, folder: str | None) -> str:
    """Path of the file of a collection."""
    root = folder or os.environ.get(FOLDER_VARIABLE)
    if not root:
        raise SynparseError(f"{name}: the folder of its files is unknown; use --folder DIR or {FOLDER_VARIABLE}")
    for parent in (Path(root), Path(root) / name.replace("-", "_")):
        for file in COLLECTIONS[name]:
            if (parent / file).is_file():
                return str(parent / file)
    raise SynparseError(f"{root}: contains none of {', '.join(COLLECTIONS[name])}")


def _lines(path: str) -> Iterator[str]:
    return (line for _, line in open_lines(path))


def _zipped(path: str) -> Iterator[_Entry]:
    """The entries of all ``.jsonl`` files of a zip, sorted by file name."""
    try:
        with open_zip(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".jsonl")]
            for name in sorted(name for name in names if not name.rpartition("/")[2].startswith(".")):  # added by macOS
                with archive.open(name) as stream:
                    for number, line in member_lines(stream, f"{path}/{name}"):
                        yield _json_entry(line, f"{path}/{name}:{number}")
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise SynparseError(f"{path}: cannot be read as a zip of JSON lines ({error})") from None


def _json_entry(line: str, location: str) -> _Entry:
    """A pair of BLiMP, its text tokenized as in the Penn Treebank."""
    try:
        entry: Any = parse_json(line)
        good, bad = (str(entry[f"sentence_{name}"]) for name in ("good", "bad"))
    except (ValueError, KeyError, TypeError):
        raise SynparseError(f'{location}: expected an object with "sentence_good" and "sentence_bad"') from None
    phenomenon, group = str(entry.get("UID", "all")), str(entry.get("linguistics_term", ""))

    def pairs() -> Iterator[Pair]:
        good_words, bad_words = (Sentence(tokenize(text, "english")) for text in (good, bad))
        yield Pair(good_words, bad_words, phenomenon, group)

    return _Entry(phenomenon, pairs)


def _columns(path: str) -> Iterator[_Entry]:
    """The entries of a file of columns."""
    names: list[str] = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if not names:
            names = [HEADER_NAMES.get(cell, cell) for cell in cells]
            if {"good", "bad"} <= set(names):
                continue
            names = COLUMNS.get(len(cells), COLUMNS[3])
        row = dict(zip(names, cells, strict=False))
        if len(cells) > len(names) or not row.get("good", "").strip() or not row.get("bad", "").strip():
            expected = "good and bad, or phenomenon, good and bad" if names in COLUMNS.values() else ", ".join(names)
            problem = "an empty sentence" if len(cells) == len(names) else f"{len(cells)} cell{'s' * (len(cells) > 1)}"
            raise SynparseError(f"{path}:{number}: expected {expected}, separated by tabs; found {problem}")
        name = row.get("phenomenon", "all")
        phenomenon = PHENOMENA.get(name.removesuffix("_anim").removesuffix("_inanim"), Phenomenon(name, ""))
        yield _Entry(phenomenon.title, partial(_row_pairs, row, phenomenon))


def _row_pairs(row: dict[str, str], phenomenon: Phenomenon) -> Iterator[Pair]:
    """The pair of a row, or the three pairs of a row with a second bad sentence."""
    good, bad, worse = (Sentence(tuple(row.get(key, "").split())) for key in ("good", "bad", "bad2"))
    if not worse.words:
        agreement = VerbAgreement.of(good.words, bad.words, phenomenon.subject)
        yield Pair(good, bad, phenomenon.title, phenomenon.group, agreement)
        return
    for title, better, other in (
        ("grammatical vs. intrusive", good, bad),
        ("intrusive vs. ungrammatical", bad, worse),
        ("grammatical vs. ungrammatical", good, worse),
    ):
        yield Pair(better, other, f"{phenomenon.title} ({title})", phenomenon.group)


def _sample(entries: Sequence[_Entry], limit: int) -> Iterator[_Entry]:
    """About ``limit`` entries of each phenomenon, evenly spread."""
    counts = Counter(entry.phenomenon for entry in entries)
    indices: Counter[str] = Counter()
    for entry in entries:
        total, index = counts[entry.phenomenon], indices[entry.phenomenon]
        indices[entry.phenomenon] += 1
        if total <= limit or index * limit // total != (index + 1) * limit // total:
            yield entry

"""Speed of the bracket reader against nltk's corpus reader on nltk's WSJ sample (3,914 trees)."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.common import DATA, best_seconds
from treebank.io.bracketed import read_bracketed, read_trees

NLTK = Path(os.environ.get("NLTK_DATA") or DATA / "nltk_data")


def extract(folder: str) -> list[str]:
    """Unpack the .mrg files of the sample into ``folder``, and return their paths in order."""
    with zipfile.ZipFile(NLTK / "corpora/treebank.zip") as archive:
        names = sorted(name for name in archive.namelist() if "/combined/" in name and name.endswith(".mrg"))
        archive.extractall(folder, names)
    return [os.path.join(folder, name) for name in names]


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Seconds of each reader, and how many times as fast as nltk's it is. No tree is kept in memory."""
    import nltk

    nltk.data.path.insert(0, str(NLTK))
    treebank = nltk.corpus.treebank
    treebank.fileids()  # find the corpus before the clock starts
    with tempfile.TemporaryDirectory() as folder:
        files = extract(folder)
        readers: dict[str, Callable[[], Iterable[object]]] = {
            "nltk parsed_sents": treebank.parsed_sents,
            "synparse read_trees": lambda: (tree for path in files for tree in read_trees(path)),
            "synparse read_bracketed": lambda: (sentence for path in files for sentence in read_bracketed(path)),
        }
        runs = {name: lambda read=read: sum(1 for _ in read()) for name, read in readers.items()}
        seconds = best_seconds(runs, 2 if quick else 5)
    base = seconds["nltk parsed_sents"]
    return {name: {"seconds": value, "ratio": base / value} for name, value in seconds.items()}

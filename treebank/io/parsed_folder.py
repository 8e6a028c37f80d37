"""The folder that ``synparse parse --output-dir`` writes, read as one file: its files in the order of their texts.

A note in it names all files that there are to be, so that a batch that was broken off is not taken for a whole one.
"""

from __future__ import annotations

import os
from pathlib import Path

from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json

NOTE = "synparse-batch.json"
FILES = "files"  # in the note: names below the folder


def is_parsed(folder: str | os.PathLike[str]) -> bool:
    """Whether ``parse --output-dir`` has written to this folder."""
    return os.path.isfile(os.path.join(folder, NOTE))


def parsed_files(folder: str) -> list[str]:
    """The files of trees or heads in a folder for which `is_parsed` holds, in order.

    Raises SynparseError if some of them are not there yet, or if the note is damaged.
    """
    try:
        names = [str(name) for name in parse_json(Path(folder, NOTE).read_bytes())[FILES]]
    except (ValueError, KeyError, TypeError):
        raise SynparseError(f"{folder}: {NOTE} is damaged; name the files of trees themselves") from None
    paths = [os.path.join(folder, name) for name in names]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        problem = f"{len(missing):,} of {len(paths):,} files are not whole, such as {missing[0]}"
        raise SynparseError(f"{folder}: {problem}; go on with synparse parse --resume")
    return paths

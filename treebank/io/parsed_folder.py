"""A folder written by ``synparse parse --output-dir``, read as one file: its files in the order of their texts.

A note in the folder names all files, so that an interrupted batch is detected.
"""

from __future__ import annotations

import os
from pathlib import Path

from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json

NOTE = "synparse-batch.json"
FILES = "files"  # key in the note: names of files in the folder


def is_parsed(folder: str | os.PathLike[str]) -> bool:
    """Whether ``parse --output-dir`` has written to this folder."""
    return os.path.isfile(os.path.join(folder, NOTE))


def parsed_files(folder: str) -> list[str]:
    """The files of trees or heads in a folder of parsed text, in order.

    Raises SynparseError if files are missing, or if the note is damaged.
    """
    try:
        names = [str(name) for name in parse_json(Path(folder, NOTE).read_bytes())[FILES]]
    except (ValueError, KeyError, TypeError):
        raise SynparseError(f"{folder}: {NOTE} is damaged; name the files of trees themselves") from None
    paths = [os.path.join(folder, name) for name in names]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        problem = f"{len(missing):,} of {len(paths):,} files are incomplete, such as {missing[0]}"
        raise SynparseError(f"{folder}: {problem}; continue with synparse parse --resume")
    return paths

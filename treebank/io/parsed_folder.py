"""A folder written by ``synparse parse --output-dir``, read as one file: its files in the order of their texts.

A note in the folder names all files, so that an interrupted batch is detected.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treebank.base.errors import SynparseError
from treebank.base.metadata import FileFormat, read_metadata

FORMAT = FileFormat(1, "the note of a batch", "name the files of trees themselves")
NOTE = "synparse-batch.json"


@dataclass(frozen=True, kw_only=True)
class BatchNote:
    """Metadata of a folder of parsed files: its files in the order of the input, and the model that parsed them."""

    files: tuple[str, ...]
    job: dict[str, Any] = field(default_factory=dict)  # model and options

    def __post_init__(self) -> None:
        """Raises ValueError for a file that is not in the folder."""
        for name in self.files:
            if os.path.isabs(name) or ".." in Path(name).parts or not name:
                raise ValueError(f"the file {name!r} is not in this folder")


def read_note(folder: str | os.PathLike[str], remedy: str = FORMAT.remedy) -> BatchNote:
    """The note in a folder of parsed text. Raises MetadataError, with the ``remedy``, if it is missing or damaged."""
    return read_metadata(os.path.join(folder, NOTE), BatchNote, replace(FORMAT, remedy=remedy))


def is_parsed(folder: str | os.PathLike[str]) -> bool:
    """Whether ``parse --output-dir`` has written to this folder."""
    return os.path.isfile(os.path.join(folder, NOTE))


def parsed_files(folder: str) -> list[str]:
    """The files of trees or heads in a folder of parsed text, in order.

    Raises SynparseError if files are missing, or if the note is damaged.
    """
    names = read_note(folder).files
    paths = [os.path.join(folder, name) for name in names]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        problem = f"{len(missing):,} of {len(paths):,} files are incomplete, such as {missing[0]}"
        raise SynparseError(f"{folder}: {problem}; continue with synparse parse --resume")
    return paths

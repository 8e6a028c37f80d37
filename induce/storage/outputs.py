"""The check of an output file against everything that a command reads, including models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from induce.storage.locate import PathType, folder_types, locate
from induce.storage.model_spec import expand_models, parse_model_spec
from treebank.base.errors import SynparseError, UsageError
from treebank.corpora.catalog import is_name
from treebank.io import output_path
from treebank.io.expand import expand
from treebank.io.streams import STDIN

PROTECTED = frozenset({PathType.MODEL, PathType.ENSEMBLE, PathType.CORPUS})


def check_output(
    path: str | None,
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    gold: str | None = None,
    models: Sequence[str] = (),
    suffixes: Iterable[str] = (),
) -> None:
    """Raises SynparseError if ``path`` would replace a file that the command reads, or is inside a model folder.

    ``inputs`` are files, folders and patterns of text or predictions, ``gold`` a treebank and ``models`` specifications
    of models. See `treebank.io.output_path.check_output`.
    """
    output_path.check_output(path, _read_paths(inputs, gold, models), suffixes=suffixes, is_protected=is_protected)


def check_output_folder(folder: str | os.PathLike[str], files: Iterable[str] = (), **reads: Any) -> None:
    """Raises SynparseError if ``folder`` is or would be inside a model folder, or is not a folder.

    ``files`` are names of files to write in it, which are checked as by `check_output` if the folder exists.
    """
    path = os.path.realpath(folder)
    _check_name(folder)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise SynparseError(f"{folder}: this is a file; name a folder to write")
    if is_protected(path) or is_protected(os.path.dirname(path)):
        raise SynparseError(f"{folder}: this folder is a model and cannot contain other files; name another folder")
    if os.path.isdir(path):
        for name in files:
            check_output(os.path.join(folder, name), **reads)


def check_new_folder(
    folder: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    gold: str | None = None,
    models: Sequence[str] = (),
) -> None:
    """Raises SynparseError if ``folder``, which a command creates or replaces, contains a file that the command reads.

    The same for a folder inside a model, an ensemble or a prepared corpus, except inside a job of several runs. The
    other arguments are those of `check_output`.
    """
    _check_name(folder)
    path = Path(os.path.realpath(folder))
    for parent in path.parents:
        if is_protected(str(parent)) and PathType.JOB not in folder_types(parent):
            problem = f"it would be inside {parent}, which is a model or corpus"
            raise SynparseError(f"{os.fspath(folder)}: {problem}; name another folder with -o")
    for name in _read_paths(inputs, gold, models):
        if Path(os.path.realpath(name)).is_relative_to(path):
            problem = f"is read, so the output folder {os.fspath(folder)} cannot replace it"
            raise SynparseError(f"{os.fspath(name)}: {problem}; name another folder with -o")


def _check_name(folder: str | os.PathLike[str]) -> None:
    """Raises SynparseError for the name of standard output."""
    if os.fspath(folder) == STDIN:
        raise UsageError(f"{STDIN}: a folder cannot be written to standard output; name a folder")


def _read_paths(
    inputs: Iterable[str | os.PathLike[str]], gold: str | None, models: Sequence[str]
) -> list[str | os.PathLike[str]]:
    """All files and folders that a command reads."""
    types = {name: locate(name).type for name in inputs if not is_name(os.fspath(name))}
    reads = [name for name, type_ in types.items() if type_ is PathType.CORPUS]
    reads += expand([name for name in types if name not in reads])
    if gold and os.path.lexists(gold):
        reads += expand([gold], trees=True)
    for specifications in expand_models(models).values():
        reads += [locate(parse_model_spec(text).path).path for text in specifications]
    return reads


def is_protected(folder: str) -> bool:
    """Whether a folder contains a model, an ensemble or a prepared corpus."""
    return not PROTECTED.isdisjoint(folder_types(Path(folder)))

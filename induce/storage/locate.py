"""The type of a path: the one place that decides what a name on the command line or in Python refers to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from induce.data.corpus_facts import FACTS as CORPUS
from induce.storage import builtin
from induce.storage.model_file import ENSEMBLE_KEY, MODEL, MODEL_KEY, RESUME, file_key
from treebank.base.arguments import ignore
from treebank.io.parsed_folder import NOTE

DEFAULT_FOLDER = "synparse-model"
MODEL_FILES = (MODEL, RESUME)  # in the folder of a training run, the best model first
ENSEMBLE = "ensemble.json"
FAMILY = "family.json"
PLAN = "plan.json"


class PathType(StrEnum):
    """The types of paths, with the words that messages use for them."""

    MODEL = "a trained model"
    MODEL_FILE = "a model file"
    ENSEMBLE = "an ensemble"
    FAMILY = "a family of seeds"
    JOB = "the job of a recipe"
    PARSED = "parsed text"
    CORPUS = "a prepared corpus"
    FOLDER = "a folder"
    FILE = "a file"
    TREEBANK = "the name of a treebank"
    MISSING = "a missing path"


MARKERS = {
    ENSEMBLE: PathType.ENSEMBLE,
    FAMILY: PathType.FAMILY,
    PLAN: PathType.JOB,
    NOTE: PathType.PARSED,
    CORPUS: PathType.CORPUS,
}  # file in a folder -> the type of the folder
FILE_TYPES = {MODEL_KEY: PathType.MODEL_FILE, ENSEMBLE_KEY: PathType.ENSEMBLE}


@dataclass(frozen=True)
class Located:
    """A path with its type. The path of a built-in model is its file in the package."""

    path: Path
    type: PathType

    @property
    def is_model(self) -> bool:
        """Whether it can be loaded as a parser: the folder or the file of a trained model, or an ensemble."""
        return self.type in (PathType.MODEL, PathType.MODEL_FILE, PathType.ENSEMBLE)


def locate(name: str | os.PathLike[str]) -> Located:
    """The path that ``name`` refers to, with its type. Reads no more than the directory and the start of a file.

    An existing path always comes first, then the built-in models such as ``english``, then the names of treebanks.
    """
    path = Path(name)
    if not os.path.lexists(path):
        if str(name) in builtin.FILES:
            return Located(builtin.FILES[str(name)], PathType.MODEL_FILE)
        from treebank.corpora.catalog import is_name

        return Located(path, PathType.TREEBANK if is_name(str(name)) else PathType.MISSING)
    if path.is_dir():
        return Located(path, next(folder_types(path), PathType.FOLDER))
    key = file_key(path) if path.is_file() else ""  # to open a pipe would disturb its reader
    return Located(path, FILE_TYPES.get(key, PathType.FILE))


def folder_types(folder: Path) -> Iterator[PathType]:
    """The types of everything that synparse has written into ``folder``. The first one decides its type.

    The result of a recipe is a model.
    """
    types = [type_ for name, type_ in MARKERS.items() if os.path.lexists(folder / name)]
    if any(os.path.lexists(folder / name) for name in MODEL_FILES) or is_earlier_model(folder):
        types.insert(types[:1] == [PathType.ENSEMBLE], PathType.MODEL)
    yield from types


def is_earlier_model(folder: Path) -> bool:
    """Whether ``folder`` contains a model in the format of earlier versions, a folder of several files."""
    return any(os.path.lexists(folder / name / "checkpoint.json") for name in ("", "best", "last"))


def default_output() -> str:
    """The model folder to write if no other is given: $SYNPARSE_MODEL, else ./synparse-model."""
    return os.environ.get("SYNPARSE_MODEL") or DEFAULT_FOLDER


def default_model(report: Callable[[str], None] = ignore, *, built_in: str = builtin.NAME) -> str:
    """The model to use if none is given: that of `default_output`, else ``built_in``.

    ``report`` is called with a note if it is the built-in one.
    """
    name = default_output()
    if name != DEFAULT_FOLDER or os.path.lexists(name):
        return name
    origin = builtin.ORIGINS[built_in]
    report(f"no model given and ./{DEFAULT_FOLDER} does not exist; using the built-in {built_in} ({origin})")
    return built_in

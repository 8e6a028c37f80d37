"""Names of models and other paths on the command line and in Python.

`locate` decides what a path is. A model specification (`ModelSpec`) is a path with a name and options:
``NAME=RUN@layer=2,decoder=unbiased,weight=2``.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from induce.storage import builtin
from induce.storage.model_file import ENSEMBLE_KEY, MODEL, MODEL_KEY, RESUME, file_key
from treebank.base.arguments import ignore, nearest, split_name
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.io.read import BATCH_NOTE

DEFAULT_FOLDER = "synparse-model"
MODEL_FILES = (MODEL, RESUME)  # in the folder of a training run, the best model first
ENSEMBLE = "ensemble.json"
FAMILY = "family.json"
CORPUS = "corpus.json"  # `FACTS` of induce.data.prepared, which loads numpy
PLAN = "plan.json"
LOCK = ".synparse-lock"  # of a folder in which a model is trained
BASELINE = "baseline:"
MAX_WEIGHT = 1e9


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
    BATCH_NOTE: PathType.PARSED,
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


OPTIONS: dict[str, Callable[[str], Any]] = {
    "decoder": str,
    "layer": int,
    "distances": str,
    "priors": str,
    "weight": float,
}


def system_name(model: str, folder: str) -> str:
    """Name of a model in results: that before ``=``, else its path, or its type if it has none."""
    return split_name(folder)[0] or folder or model


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model, a file of trees or heads, or a baseline, with its options. An empty option is left to the model."""

    path: str  # a model, a file, or baseline:NAME
    weight: float = 1.0  # in an ensemble
    decoder: str = ""
    layer: int = 0  # from 1; 0: that of the model
    distances: str = ""
    priors: str = ""  # "none", or NAME:STRENGTH with "+" between them
    label: str = ""  # the name in tables and pictures, "" for the type of the model

    def __post_init__(self) -> None:
        """Raises ValueError if the weight or the layer is out of range."""
        if not 0 < self.weight < MAX_WEIGHT:
            raise ValueError(f"a weight is a number above 0, not {self.weight:g}")
        if self.layer < 0:
            raise ValueError(f"layers count from 1, so there is no layer {self.layer}")

    @property
    def options(self) -> dict[str, Any]:
        """The options of the specification by name, without a ``weight`` of 1."""
        values = {name: getattr(self, name) for name in OPTIONS}
        return {name: value for name, value in values.items() if value and (name, value) != ("weight", 1)}

    @property
    def name(self) -> str:
        """The specification as text, which `parse_model_spec` reads."""
        options = ",".join(
            f"{key}={value:.15g}" if key == "weight" else f"{key}={value}" for key, value in self.options.items()
        )
        text = f"{self.path}@{options}" if options else self.path
        return f"{self.label}={text}" if self.label else text

    @property
    def baseline(self) -> str:
        """The name of the baseline, or "" for a model or a file."""
        return self.path.removeprefix(BASELINE) if self.path.startswith(BASELINE) else ""


def parse_model_spec(text: str | os.PathLike[str]) -> ModelSpec:
    """The specification in ``text``. An existing path is never split at its ``@`` or ``=``.

    Raises SynparseError for an unknown option and for a value that is not valid.

    >>> parse_model_spec("runs/a@layer=2,weight=0.5")
    ModelSpec(path='runs/a', weight=0.5, decoder='', layer=2, distances='', priors='', label='')
    """
    label, text = split_name(os.fspath(text))
    path, at, options = text.rpartition("@")
    if not text or (at and not path and "=" in options):
        raise SynparseError(f"{text or repr(text)}: there is no model before the options; write RUN or RUN@layer=2")
    if not at or "=" not in options or os.path.lexists(text):
        return ModelSpec(path=text, label=label)
    values: dict[str, Any] = {}
    for option in options.split(","):
        key, equals, value = option.partition("=")
        if key not in OPTIONS:
            advice = "write '+' between priors" if "priors" in values and not equals else nearest(key, OPTIONS)
            raise UnknownNameError(f"{text}: a model has no option {key!r}; {advice}")
        values[key] = option_value(text, key, value)
    return ModelSpec(path=path, label=label, **values)


def option_value(model: str, name: str, value: object) -> Any:
    """The option ``name`` of ``model`` with the given ``value``. Raises SynparseError if this is not valid."""
    try:
        option = OPTIONS[name](str(value))
        if name == "layer" and option < 1:  # 0 stands for no layer
            raise ValueError(f"layers count from 1, so there is no layer {option}")
        replace(ModelSpec(path=model), **{name: option})
    except ValueError as error:
        reason = f" ({error})" if str(error).startswith(("a weight", "layers")) else ""
        raise SynparseError(f"{model}: {name} cannot be {value!r}{reason}") from None
    return option


def whole_model(text: str | os.PathLike[str]) -> str:
    """The path in a specification. Raises SynparseError if it has options, which concern parsing only."""
    spec = parse_model_spec(text)
    if spec.options:
        problem = "these options concern parsing, and this uses the model itself"
        raise SynparseError(f"{spec.name}: {problem}; leave out @{', @'.join(spec.options)}")
    return spec.path


def is_model(text: str | os.PathLike[str]) -> bool:
    """Whether a model specification names something that can be loaded as a parser."""
    spec = parse_model_spec(text)
    return not spec.baseline and locate(spec.path).is_model


def expand_models(patterns: Sequence[str]) -> dict[str, list[str]]:
    """Each pattern with the specifications of the models that match it, or with itself if it is not a pattern.

    In ``NAME=PATTERN``, the name is the key. The description of a family, which is in the folder of its models, is left
    out. Raises SynparseError if no path matches a pattern, or if two have one name.
    """
    groups: dict[str, list[str]] = {}
    for pattern in dict.fromkeys(patterns):
        key = split_name(pattern)[0] or pattern
        if key in groups:
            raise SynparseError(f"{pattern}: there is another model with this name; choose different names")
        spec = parse_model_spec(pattern)
        if os.path.lexists(spec.path) or not glob.has_magic(spec.path):
            groups[key] = [pattern]
            continue
        paths = sorted(path for path in glob.glob(spec.path) if os.path.basename(path) != FAMILY)
        if not paths:
            raise SynparseError(f"{pattern}: no model folder matches this pattern")
        labels = [f"{spec.label} {os.path.basename(path)}" if spec.label else "" for path in paths]
        groups[key] = [replace(spec, path=path, label=label).name for path, label in zip(paths, labels, strict=True)]
    return groups


def expand_arguments(named: Sequence[str], following: Sequence[str]) -> dict[str, list[str]]:
    """Models by pattern as `expand_models` gives them, for ``-m`` and the arguments after it.

    A shell replaces ``-m runs/seed-*`` by ``-m runs/seed-1 runs/seed-2 …``. Such models in one folder, whose names
    begin alike, have the key ``runs/seed-*``.
    """
    models = [*named, *following]
    start = os.path.commonprefix(models)  # noqa: RUF071 (characters are compared)
    folders = {os.path.dirname(name) for name in models}
    if len(named) == 1 and following and os.path.basename(start) and len(folders) == 1:
        return {f"{start}*": models}
    return expand_models(models)

"""Model specifications: a model with a name and options, ``NAME=RUN@layer=2,decoder=unbiased,weight=2``."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from induce.storage.locate import FAMILY, locate
from treebank.base.arguments import nearest, split_name
from treebank.base.errors import SynparseError, UnknownNameError

BASELINE = "baseline:"
MAX_WEIGHT = 1e9


def _layer(text: str) -> int:
    """The number of a layer. Raises ValueError if it is not a whole number from 1."""
    if (layer := int(text)) < 1:
        raise ValueError(f"layers count from 1, so there is no layer {layer}")
    return layer


OPTIONS: dict[str, Callable[[str], Any]] = {
    "decoder": str,
    "layer": _layer,
    "distances": str,
    "priors": str,
    "weight": float,
}


def system_name(model: str, folder: str, *, alone: bool) -> str:
    """Name of a model in results: that before ``=``, else its type, followed by its folder unless it is ``alone``."""
    if label := split_name(folder)[0]:
        return label
    return model if alone or not folder else f"{model} {folder}"


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
            f"{key}={value:g}" if key == "weight" else f"{key}={value}" for key, value in self.options.items()
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
        groups[key] = _expand(pattern)
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


def _expand(pattern: str) -> list[str]:
    spec = parse_model_spec(pattern)
    if os.path.lexists(spec.path) or not glob.has_magic(spec.path):
        return [pattern]
    paths = sorted(path for path in glob.glob(spec.path) if os.path.basename(path) != FAMILY)
    if not paths:
        raise SynparseError(f"{pattern}: no model folder matches this pattern")
    labels = [f"{spec.label} {os.path.basename(path)}" if spec.label else "" for path in paths]
    return [replace(spec, path=path, label=label).name for path, label in zip(paths, labels, strict=True)]

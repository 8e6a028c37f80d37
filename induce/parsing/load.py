"""Loading of parsers from the folders and files of models, and from ensembles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from induce import registry
from induce.decoding import specification
from induce.parsing.model_parser import ArrayParser, ModelParser
from induce.parsing.parser import Parser, Report
from induce.registry import choose_device
from induce.settings.run import LayerError, entry_of
from induce.storage.checkpoint import Checkpoint, find, read
from induce.storage.locate import ModelSpec, PathType, locate, option_value, parse_model_spec, whole_model
from induce.storage.outputs import resume_command
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, UsageError


def load_parser(
    run: str | os.PathLike[str],
    *,
    device: str = "auto",
    decoder: str | None = None,
    layer: int | None = None,
    distances: str | None = None,
    priors: str | None = None,
    report: Report | None = None,
) -> Parser:
    """The parser of a trained model or an ensemble, from its folder or its file.

    ``run`` is a model specification. Its options, ``decoder``, ``layer``, ``distances`` and ``priors`` come before the
    model's own. ``distances`` is ``lm`` or ``syd`` for a model that learned from trees. ``priors`` is a list such as
    ``brackets:1,branching:0.1``, or ``none``; for an ensemble only ``none``, which holds for all members. ``report`` is
    called with a message about text that does not fit the model, sentences that take long, and sentences that a member
    of an ensemble has no vote for. Raises UsageError if ``run`` and an argument give different values of an option.
    """
    spec, chosen = _spec_and_options(run, decoder=decoder, layer=layer, distances=distances, priors=priors)
    if chosen["decoder"] is not None:
        specification.decoder_entry(chosen["decoder"])
    if locate(spec.path).type is PathType.ENSEMBLE:
        parser: Parser = registry.load_part("ensemble")(Path(spec.path), device=device, report=report, **chosen)
        return parser
    return load_model_parser(spec.path, device=device, report=report, **chosen)


def load_model_parser(
    run: str | os.PathLike[str], *, device: str = "auto", report: Report | None = None, **options: Any
) -> ModelParser:
    """The parser of a trained model. Raises SynparseError for an ensemble, which has no model of its own."""
    spec, chosen = _spec_and_options(run, **options)
    checkpoint = read_trained(spec.path)
    purpose = checkpoint.config.purpose_name
    reads_states = (chosen.get("distances") or "lm") not in ("lm", *entry_of(checkpoint.config).sets)
    try:
        if device in ("auto", "cpu") and not purpose and entry_of(checkpoint.config).arrays and not reads_states:
            return ArrayParser(checkpoint, device="cpu", report=report or ignore, **chosen)
        parser: type[ModelParser] = registry.load(registry.PURPOSES.get(purpose).parser)
        if reads_states:
            parser = registry.load_part("states")
        return parser(checkpoint, device=choose_device(device), report=report or ignore, **chosen)
    except LayerError as error:
        raise SynparseError(f"{spec.path}: {error}") from None


def _spec_and_options(run: str | os.PathLike[str], **options: Any) -> tuple[ModelSpec, dict[str, Any]]:
    """The specification, and ``options`` with those of the specification, which has no weight.

    Raises UsageError if an option has two different values, and SynparseError if a value is not valid.
    """
    spec = parse_model_spec(run)
    for name, value in options.items():
        options[name] = None if value is None else option_value(spec.path, name, value)
    if "weight" in spec.options:
        raise SynparseError(f"{spec.name}: only the members of an ensemble have a weight; leave out @weight")
    for name, value in spec.options.items():
        other = options.get(name)
        if other is not None and str(other).replace("+", ",") != str(value).replace("+", ","):
            raise UsageError(f"{spec.name}: --{name} {other} is another value of @{name}; leave out one of them")
    return spec, options | spec.options


def read_trained(run: str | os.PathLike[str]) -> Checkpoint:
    """The best checkpoint of a model. Raises SynparseError if it has not been trained yet.

    Options in a specification are an error, because they concern parsing only.
    """
    checkpoint = read(find(Path(whole_model(run))))
    if checkpoint.facts.step == 0:
        program = registry.PROGRAM if checkpoint.facts.program_facts else "train"
        command = resume_command(whole_model(run), program=program)
        raise SynparseError(f"{run}: this model has not been trained yet; resume with: {command}")
    return checkpoint

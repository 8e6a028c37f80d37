"""``synparse info``: a trained model, the settings of a model, or what this installation has."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from cli.command import command, option
from cli.commands.data import treebank_lines
from cli.options import MODEL
from cli.output import wrapped
from treebank.base import VERSION
from treebank.base.metadata import MetadataError
from treebank.base.tables import printable

if TYPE_CHECKING:
    from induce.storage.checkpoint import Check

PACKAGES = ("torch", "click", "nltk", "numpy", "rich", "tabulate", "safetensors")
EXAMPLES = [
    ("synparse info -m mine", "Show what a model is and how it was trained."),
    ("synparse info --settings onlstm", "List every setting with its meaning, default and limits."),
    ("synparse info", "List versions, devices, models and presets."),
]


@command(examples=EXAMPLES)
@option("-m", "--model", metavar="PATH", help="Trained model.", group=MODEL)
@option("--settings", "architecture", metavar="NAME", help="List the settings of a model such as onlstm.")
@option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="With --model: lines, or a model card for a repository of models.",
)
def info(model: str | None, architecture: str | None, form: str) -> None:
    """Show a trained model, or versions, devices, presets, decoders and treebanks without --model."""
    if form == "markdown":
        if not model:
            raise click.UsageError("--format markdown requires a model (-m)")
        from induce.reporting.model_card import model_card
        from induce.storage.locate import whole_model

        click.echo(model_card(Path(whole_model(model))), nl=False)
        return
    if model and architecture:
        raise click.UsageError("--model and --settings exclude each other")
    if architecture:
        from induce.settings.presets import explain

        lines: Iterable[str] = explain(architecture)
    elif model:
        from induce.storage.locate import whole_model

        lines = list(_model(Path(whole_model(model))))  # nothing is printed if the model is damaged
    else:
        from induce.decoding.specification import decoders_of
        from induce.registry import DECODERS

        structures = dict.fromkeys(entry.reads for entry in DECODERS.values())  # of other packages, too
        decoders = (f"  {entry.name}: {', '.join(decoders_of((entry,)))}" for entry in structures)
        lines = chain(_machine(), ["decoders:"], decoders, treebank_lines(None))
    for line in lines:
        click.echo(wrapped(printable(line), sys.stdout))  # a model file may contain escape sequences


def _ensemble(run: Path) -> Iterator[str]:
    from induce.ensemble.ensemble_description import EnsembleDescription

    description = EnsembleDescription.read(run)
    members = description.members
    yield f"{run}: ensemble of {len(members)} members, which vote for {description.output}"
    if description.learned_from:
        yield f"learned from: {description.learned_from}"
    votes = "with their probabilities" if description.sums else "with their trees"
    yield f"votes: {votes}, decoder {description.decoder}, threshold {description.threshold:g}"
    if description.priors:
        yield f"priors of the votes: {', '.join(description.priors)}"
    if description.head_style:
        yield f"heads: {description.head_style} words"
    yield f"word normalization: {description.normalization}"
    for member in members:
        yield f"  {member.name}" + (f" (sha256 {member.sha256[:12]}…)" if member.sha256 else "")


def _model(run: Path) -> Iterator[str]:
    from induce.parsing.model_parser import stored_decoder
    from induce.storage.checkpoint import find, read
    from induce.storage.locate import PathType, locate

    if locate(run).type is PathType.ENSEMBLE:
        yield from _ensemble(run)
        return

    checkpoint = read(find(run))
    config, facts = checkpoint.config, checkpoint.facts
    path = checkpoint.path if run.is_dir() else run
    yield f"{path}: model {config.model_name}, preset {config.preset}, by synparse {checkpoint.version}"
    yield from wrap(f"source: {config.source}", width=80, subsequent_indent="  ")
    task = config.purpose_name
    sample = f"generated examples of task {task}" if task else "the built-in sample, which a grammar generated"
    texts = facts.sources or [sample]
    training, units = facts.training, f"{config.data.token}s"
    yield f"trained on: {', '.join(texts)} ({training.sentences:,} sentences, {training.words:,} {units})"
    if recipe := facts.recipe:
        state = "" if recipe.finished else ", incomplete"
        models = ", ".join(recipe.models)
        yield f"recipe: {recipe.name}, seed {recipe.seed}, {recipe.minutes:g} minutes for {models}{state}"
    elif facts.teachers:
        yield f"learned from {facts.annotation} of teachers: {', '.join(facts.teachers)}"
    if trees := facts.trees:
        size = ", ".join(filter(None, [f"{trees.sentences:,} sentences", trees.note]))
        yield f"trained with {trees.kind} trees: {trees.name} ({size})"
    yield f"text sha256: {training.sha256}"
    if facts.development.sentences:
        yield f"development text: {facts.development.sentences:,} sentences"
    unknown = "" if facts.unknown_share is None else f"; {facts.unknown_share:.1%} of the text is unknown"
    yield f"vocabulary: {len(checkpoint.vocabulary):,} {units}{unknown}"
    yield f"weights: {checkpoint.weight_count:,}"
    if decoder := stored_decoder(checkpoint):
        yield f"decoder: {decoder}"
    yield f"steps: {facts.step:,} in {facts.seconds / 60:.1f} minutes, on {facts.device}"
    yield from _interruption(checkpoint.path)
    for line in (*facts.direction.lines(), facts.direction.evidence()) if facts.direction else ():
        yield from wrap(line, width=80, subsequent_indent="  ")
    yield "settings:"
    for table in checkpoint.settings():
        yield from wrap(" ".join(table), width=80, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    yield from _checks(facts.history)


def _interruption(path: Path) -> Iterator[str]:
    """A line if the run with the model file ``path`` can be continued, or if its state is damaged."""
    from induce.storage.checkpoint import read
    from induce.storage.model_file import MODEL, RESUME
    from induce.storage.outputs import resume_command

    state = path.with_name(RESUME)
    if path.name not in (MODEL, RESUME) or not state.exists():
        return
    try:
        facts = read(state).facts
    except MetadataError as error:
        yield f"state to resume from: {error}"
    else:
        if not facts.finished and not facts.program_facts:
            yield f"interrupted: at step {facts.step:,}; continue with: {resume_command(path.parent)}"


def _checks(history: Sequence[Check]) -> Iterator[str]:
    measure = history[0].measure if history else "perplexity"
    accuracy = bool(history) and history[0].development_accuracy is not None
    yield f"development {'accuracy' if accuracy else measure} by epoch:"
    for check in history:
        best = " (best so far)" if check.best else ""
        bits = check.development_bits
        per_character = f", {bits:.3f} bits per character" if isinstance(bits, float) else ""
        value = f"{check.development_perplexity:.2f}"
        if accuracy:
            value = f"{check.development_accuracy:.2%}"
        elif measure != "perplexity":
            value = f"{check.development_loss:.4f}"
        yield f"  {check.epoch:4d}  {value}{per_character}{best}"


def _machine() -> Iterator[str]:
    from importlib.metadata import PackageNotFoundError, version

    yield f"synparse {VERSION}, Python {sys.version.split()[0]}"
    for name in PACKAGES:
        try:
            yield f"  {name} {version(name)}"
        except PackageNotFoundError:
            yield f"  {name} is missing"
    try:
        import torch
    except ModuleNotFoundError:  # the light installation
        yield "without torch: the built-in models english and english-heads parse; training needs torch"
        return
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    yield f"devices: cpu ({torch.get_num_threads()} threads)" + "".join(
        f", cuda:{i} ({gpu})" for i, gpu in enumerate(gpus)
    )
    from induce.settings.presets import preset_names

    yield f"presets: {', '.join(preset_names())}"

"""Announcement of the model that is used if none is named: its text, its development score, and whether it is whole."""

from __future__ import annotations

from pathlib import Path

from induce.storage import builtin, locate
from treebank.base.errors import SynparseError


def announcement(name: str, built_in: str = builtin.NAME) -> str:
    """The line about the model ``name``, or "" if it cannot be read, which the command reports as an error."""
    from induce.storage.checkpoint import find, read
    from induce.storage.outputs import resume_command

    path = Path(name)
    if locate.locate(path).type is locate.PathType.ENSEMBLE:
        return f"no model given; using the ensemble {name}"
    try:
        model = read(find(path))
        latest = read(find(path, locate.MODEL_FILES[::-1])).facts
    except (SynparseError, OSError):
        return ""
    facts, recipe = model.facts, model.facts.recipe
    name_and_recipe = f"{model.config.model_name}, recipe {recipe.name}" if recipe else model.config.model_name
    texts = ", ".join(facts.sources) or "the built-in sample, which a grammar generated"
    score = min((check.development_perplexity for check in facts.history), default=0.0)
    parts = [name_and_recipe, f"trained on {texts}, {facts.training.words:,} words"]
    parts += [f"development perplexity {score:.1f}"] if score else []
    line = f"no model given; using {name} ({'; '.join(parts)})"
    epochs = model.config.train.epochs
    if recipe and not recipe.finished:
        line += f"; its training was interrupted: continue with {resume_command(name)}, or use -m {built_in}"
    elif not recipe and 0 < latest.epoch < epochs:
        line += f"; it has seen {latest.epoch} of {epochs} passes over its text; the built-in model is -m {built_in}"
    return line

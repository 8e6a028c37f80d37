"""``synparse analyze``: properties of trained models, and differences between models."""

from __future__ import annotations

from cli.command import group

SUBCOMMANDS = {
    "agreement": ("cli.commands.analyze.agreement:agreement", "Agreement of models, without gold trees."),
    "sharpness": ("cli.commands.analyze.agreement:sharpness", "Certainty of models, without gold trees."),
    "gaps": ("cli.commands.analyze.channels:gaps", "Agreement of distances with word or chunk boundaries."),
    "channels": ("cli.commands.analyze.channels:channels", "Correlation of attention channels with relations."),
    "grammar": ("cli.commands.analyze.grammar:grammar", "Word classes and arcs of a grammar."),
    "classes": ("cli.commands.analyze.grammar:classes", "Word classes induced from a text."),
    "sweep": ("cli.commands.analyze.sweep:sweep_scores", "Scores of models by the value of a setting."),
}


@group(SUBCOMMANDS)
def analyze() -> None:
    """Analyze trained models."""

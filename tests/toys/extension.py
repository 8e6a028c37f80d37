"""The function of the entry point of a package that adds models, a decoder, a prior and a task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from induce.registry import (
    DECODERS,
    MODELS,
    PRIORS,
    PURPOSES,
    DecoderEntry,
    DecoderOption,
    ModelEntry,
    PriorEntry,
)
from tests.toys.toy_structure import PhraseEdges

TOYS = [f"toy_{name}" for name in ("brackets", "distances", "fitted", "heads", "rules", "spans", "structure")]


def add() -> None:
    """Add all that is in this folder. The presets are in the current folder."""
    for name in TOYS:
        MODELS.add(name, ModelEntry(f"tests.toys.{name}:Toy", str(Path(f"{name}.toml").resolve())))
    edges = "tests.toys.toy_structure:edges_to_tree"
    options = (DecoderOption("end_weight"),)
    DECODERS.add(
        "edges",
        DecoderEntry(edges, PhraseEdges, options=options, k_best_location="tests.toys.toy_structure:k_best_trees"),
    )
    PRIORS.add("first-words", PriorEntry("tests.toys.toy_structure:first_words", PhraseEdges))
    parity = replace(PURPOSES.get("listops"), location="tests.toys.task_parity:Parity", preset="parity.toml")
    PURPOSES.add("parity", parity)

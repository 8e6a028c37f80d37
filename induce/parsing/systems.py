"""From model folders to systems that can be scored: which runs are meant, and a parser for each."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence

from treebank.errors import SynparseError
from treebank.metrics.systems import ParsedHeads, ParsedTrees, parsed_by


def find_runs(patterns: Sequence[str]) -> dict[str, list[str]]:
    """Pattern -> the model folders that it names, or the one folder. Raises SynparseError if no folder fits one."""
    return {pattern: _folders(pattern) for pattern in patterns}


def _folders(pattern: str) -> list[str]:
    if os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    folders = sorted(glob.glob(pattern))
    if not folders:
        raise SynparseError(f"{pattern}: no model folder fits this pattern")
    return folders


def load_systems(
    groups: Mapping[str, Sequence[str]],
    *,
    device: str = "auto",
    decoder: str | None = None,
    layer: int | None = None,
    distances: str | None = None,
) -> list[ParsedTrees | ParsedHeads]:
    """The models in the folders of ``groups`` as systems; they parse when they are scored.

    A system is called by its model, with the folder where there are several. Raises SynparseError for a model of
    characters, as gold trees are over words.
    """
    folders = dict.fromkeys(folder for group in groups.values() for folder in group)
    if not folders:
        return []
    from induce.parsing.load import load_parser  # here, because it loads torch

    systems = []
    for folder in folders:
        parser = load_parser(folder, device=device, decoder=decoder, layer=layer, distances=distances)
        if parser.token != "word":
            problem = (
                f"{folder}: the trees of this model are over {parser.token}s, and those of the treebank over words"
            )
            raise SynparseError(f"{problem}; to score trees, train with data.token=word")
        name = f"{parser.name} {folder}" if len(folders) > 1 else parser.name
        systems.append(parsed_by(parser, name=name, model=folder, learned_from=parser.learned_from))
    return systems

"""``synparse cite``: BibTeX entries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cli.command import command, option
from cli.options import MODEL

EXAMPLES = [
    ("synparse cite", "Cite this program."),
    ("synparse cite -m mine --gold wsj10 --convention km", "Cite everything that a table of scores relies on."),
    ("synparse cite --convention evalb", "Cite an evaluation convention."),
]


@command(examples=EXAMPLES)
@option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="PATH",
    help="Model or ensemble whose papers and treebanks are cited (repeatable).",
    group=MODEL,
)
@option("--gold", "golds", multiple=True, metavar="NAME", help="Treebank of an evaluation, such as wsj10 (repeatable).")
@option("--convention", "conventions", multiple=True, metavar="NAME", help="Evaluation convention (repeatable).")
@option("--distances", "measures", multiple=True, metavar="NAME", help="Distances of decode --from (repeatable).")
def cite(models: Sequence[str], golds: Sequence[str], conventions: Sequence[str], measures: Sequence[str]) -> None:
    """Print BibTeX entries for this program, models, treebanks, evaluation conventions and distances."""
    from induce.citation import citations, model_keys
    from induce.states.state_trees import parse_source
    from induce.storage.checkpoint import find, read
    from induce.storage.locate import PathType, locate, parse_model_spec
    from treebank.corpora.catalog import check_known
    from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS, find_convention

    for name in conventions:
        if name not in ATTACHMENT_CONVENTIONS:
            find_convention(name)  # reports an unknown name
    for name in golds:
        check_known(name)
    distances, treebanks = [parse_source(name).measure for name in measures], list(golds)
    keys: tuple[str, ...] = ()
    for model in models:
        spec = parse_model_spec(model)
        distances.append(spec.distances.partition(":")[0])
        paths = [spec.path]
        if locate(spec.path).type is PathType.ENSEMBLE:
            from induce.ensemble.ensemble_description import models_of

            paths = models_of(spec.path)
        for path in paths:
            checkpoint = read(find(Path(path)))
            keys += model_keys(checkpoint)
            treebanks += [checkpoint.facts.trees.name] if checkpoint.facts.trees else []
    for entry in citations(tuple(dict.fromkeys(keys)), treebanks, conventions, distances):
        click.echo(f"{entry}\n")

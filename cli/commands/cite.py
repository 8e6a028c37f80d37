"""``synparse cite``: what to cite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cli.help import command


@command()
@click.option("-m", "--run", metavar="RUN", help="A model, whose paper and treebank are cited too.")
@click.option("--gold", "golds", multiple=True, metavar="NAME", help="A treebank that it was scored on, such as wsj10.")
@click.option("--convention", "conventions", multiple=True, metavar="NAME", help="A way of counting, such as on-lstm.")
def cite(run: str | None, golds: Sequence[str], conventions: Sequence[str]) -> None:
    """Print BibTeX for this tool, a model's paper, the Penn Treebank where it was used, and ways of counting."""
    from induce.citation import bibtex, references
    from induce.storage.checkpoint import find, read
    from treebank.corpora.catalog import check_known
    from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS, find_convention

    for name in conventions:
        if name not in ATTACHMENT_CONVENTIONS:
            find_convention(name)  # an unknown one is told
    for name in golds:
        check_known(name)
    model, treebanks = "", list(golds)
    if run:
        checkpoint = read(find(Path(run)))
        model = checkpoint.config.model_name
        treebanks += [str(checkpoint.facts.get("trees", {}).get("name", ""))]
    for entry in bibtex(references(model, treebanks, conventions)):
        click.echo(f"{entry}\n")

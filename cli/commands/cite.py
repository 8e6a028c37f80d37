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
]


@command(examples=EXAMPLES)
@option("-m", "--model", metavar="PATH", help="Trained model, whose paper and treebank are cited too.", group=MODEL)
@option("--gold", "golds", multiple=True, metavar="NAME", help="Treebank of an evaluation, such as wsj10 (repeatable).")
@option("--convention", "conventions", multiple=True, metavar="NAME", help="Evaluation convention (repeatable).")
def cite(model: str | None, golds: Sequence[str], conventions: Sequence[str]) -> None:
    """Print BibTeX entries for this program, a model, treebanks and evaluation conventions."""
    from induce.citation import citations
    from induce.storage.checkpoint import find, read
    from treebank.corpora.catalog import check_known
    from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS, find_convention

    for name in conventions:
        if name not in ATTACHMENT_CONVENTIONS:
            find_convention(name)  # reports an unknown name
    for name in golds:
        check_known(name)
    model_name, treebanks = "", list(golds)
    if model:
        checkpoint = read(find(Path(model)))
        model_name = checkpoint.config.model_name
        treebanks += [checkpoint.facts.trees.name] if checkpoint.facts.trees else []
    for entry in citations(model_name, treebanks, conventions):
        click.echo(f"{entry}\n")

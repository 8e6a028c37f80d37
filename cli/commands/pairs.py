"""``synparse pairs``: how often models prefer the grammatical one of two sentences."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cli.command import command, number_option, option
from cli.options import INPUT, SCORING, default_models, device_option, format_option, models_option
from cli.views import FORMATS, show
from induce.storage import builtin

EXAMPLES = [
    ("synparse pairs marvin-linzen -m mine --folder pairs", "Accuracy on subject-verb agreement and other phenomena."),
    ("synparse pairs pairs.tsv -m mine --ngram-text corpus.txt", "Your own pairs, next to an n-gram model."),
    ("synparse pairs blimp -m 'runs/seed-*' --format csv", "Several seeds on BLiMP, as a table for other programs."),
]


@command(examples=EXAMPLES)
@click.argument("name", metavar="PAIRS")
@models_option
@device_option
@option("--folder", metavar="DIR", help="Folder of marvin-linzen and blimp (default: $SYNPARSE_PAIRS).", group=INPUT)
@number_option("--limit", help="Use about N pairs of each phenomenon.", group=INPUT)
@option("--ngram-text", metavar="FILE", help="Also score a unigram and a 5-gram model of this text.", group=SCORING)
@format_option(*FORMATS, default="table")
def pairs(
    name: str,
    models: Sequence[str],
    device: str,
    folder: str | None,
    limit: int | None,
    ngram_text: str | None,
    form: str,
) -> None:
    """Score models on minimal pairs: how often the grammatical sentence is more probable.

    PAIRS is marvin-linzen, blimp, or a file with the columns phenomenon, grammatical and ungrammatical sentence,
    separated by tabs. The phenomenon may be left out.
    """
    from induce.likelihood.minimal_pairs import evaluate_pairs
    from induce.storage.locate import expand_models

    groups = expand_models(default_models(models, built_in=builtin.GRAMMAR))
    evaluation = evaluate_pairs(name, groups, folder=folder, limit=limit, ngram_text=ngram_text, device=device)
    show(evaluation, form)

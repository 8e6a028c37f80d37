"""``synparse pairs``: how often models prefer the grammatical one of two sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.command import command, option
from cli.options import INPUT, SCORING, default_models, device_option, format_option, models_option
from cli.output import print_json, print_table

if TYPE_CHECKING:
    from induce.likelihood.minimal_pairs import Accuracy, PairEvaluation

EXAMPLES = [
    ("synparse pairs marvin-linzen -m mine --folder pairs", "Accuracy on subject-verb agreement and other phenomena."),
    ("synparse pairs pairs.tsv -m mine --ngram-text corpus.txt", "Your own pairs, next to an n-gram model."),
]


@command(examples=EXAMPLES)
@click.argument("name", metavar="PAIRS")
@models_option
@device_option
@option("--folder", metavar="DIR", help="Folder of marvin-linzen and blimp (default: $SYNPARSE_PAIRS).", group=INPUT)
@option("--limit", type=click.IntRange(min=1), metavar="N", help="Use N pairs of each phenomenon.", group=INPUT)
@option("--ngram-text", metavar="FILE", help="Also score a unigram and a 5-gram model of this text.", group=SCORING)
@format_option("table", "json", default="table")
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

    PAIRS is marvin-linzen, blimp, or a file with the columns phenomenon, grammatical and ungrammatical sentence.
    """
    from induce.likelihood.minimal_pairs import evaluate_pairs
    from induce.storage.model_spec import expand_models

    groups = expand_models(default_models(models))
    evaluation = evaluate_pairs(name, groups, folder=folder, limit=limit, ngram_text=ngram_text, device=device)
    if form == "json":
        print_json(evaluation.to_json())
    else:
        _print_scores(evaluation)


def _print_scores(evaluation: PairEvaluation) -> None:
    """Print one row per phenomenon and one column per system, then means and notes."""
    scores = evaluation.scores
    several = len({score.run for score in scores if score.run}) > 1
    systems = [f"{score.system} {score.run}" if several and score.run else score.system for score in scores]
    first = scores[0]
    rows = []
    for group in dict.fromkeys([*first.by_group, ""]):
        names = dict.fromkeys(pair.phenomenon for pair in first.pairs if pair.group == group)
        rows += [_row(name, [score.by_phenomenon[name] for score in scores]) for name in names]
        if group:
            rows.append(_row(f"= {group}", [score.by_group[group] for score in scores]))
    rows.append(["= mean of phenomena", "", *(f"{score.mean:.1f}" for score in scores)])
    rows.append(_row("= all pairs", [score.overall for score in scores]))
    if any(any(score.with_unknown) for score in scores) and any(score.known for score in scores):
        rows.append(["= pairs without an unknown word", "", *(_subset(score.known) for score in scores)])
    for title, connected in (("own tree connects verb and subject", True), ("own tree does not", False)):
        if any(score.by_connection(connected) for score in scores):
            rows.append([title, "", *(_subset(score.by_connection(connected)) for score in scores)])
    rows.append(["% of pairs with an unknown word", "", *(f"{score.unknown_percent:.1f}" for score in scores)])
    rows.append(["% of pairs that are tied", "", *(f"{score.tied_percent:.1f}" for score in scores)])
    print_table(["Phenomenon", "Pairs", *systems], rows)
    click.echo("\nAccuracy in percent, 95 % interval in brackets; chance is 50.")
    for pattern, runs in evaluation.spreads.items():
        click.echo(f"{pattern} (mean of {len(runs.values)}): {runs.mean:.1f} ± {runs.deviation:.1f}")
    for signature in dict.fromkeys(score.signature for score in scores):
        click.echo(signature)


def _row(name: str, accuracies: Sequence[Accuracy]) -> list[str]:
    return [name, str(accuracies[0].pairs), *map(_cell, accuracies)]


def _cell(accuracy: Accuracy) -> str:
    low, high = accuracy.interval
    return f"{accuracy.value:.1f} [{round(low)}, {round(high)}]"


def _subset(accuracy: Accuracy | None) -> str:
    """Accuracy on a subset of the pairs, with its size."""
    return f"{accuracy.value:.1f} of {accuracy.pairs}" if accuracy else "-"

"""``synparse eval --text``: the perplexity of a text under one model or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cli.commands.eval_pairs import check_pairs
from cli.options import Decorated
from cli.output import print_json, print_table
from cli.status import Meter

if TYPE_CHECKING:
    from induce.likelihood.cache import Cache
    from induce.likelihood.comparison import TextComparison
    from induce.likelihood.perplexity import Perplexity, TextEvaluation

HEADER = ["System", "PPL", "Nats", "Bits/char.", "Unk. %", "Words", "Vocab."]
DIFFERENCES = ["Models", "Units", "Number", "Diff.", "95 % int.", "p (boot.)", "p (perm.)"]
CACHE = ("cache", "cache_theta", "cache_lambda")
TEXT = ("tokenize", "batch_size", *CACHE)  # options that go with --text only
WITH_TEXT = ("text", "runs", "device", "compare", *TEXT)


def text_options(command: Decorated) -> Decorated:
    """``command`` with ``--text`` and the options that go with it."""
    share = click.FloatRange(min=0, max=1, max_open=True)
    for option in (
        click.option("--cache-lambda", type=share, metavar="L", help="The cache's part in a probability, 0.1."),
        click.option("--cache-theta", type=click.FloatRange(min=0), metavar="T", help="Sharpness of the cache, 1."),
        click.option(
            "--cache",
            type=click.IntRange(1, 100_000),
            is_flag=False,
            flag_value=500,
            metavar="[N]",
            help="With --text: mix in a continuous cache of the last N words (500 if no number is given).",
        ),
        click.option(
            "--batch-size", type=click.IntRange(min=1), metavar="B", help="With --text: read it in B columns, faster."
        ),
        click.option("--tokenize", is_flag=True, help="With --text: split it into sentences and words."),
        click.option("--text", metavar="FILE", help="Instead of --gold: the perplexity of this text, or of sample."),
    ):
        command = option(command)
    return command


def check_usage(context: click.Context, given: Mapping[str, Any]) -> None:
    """Raises UsageError for options that do not fit together: scores of trees here, of a text there."""
    names = {
        parameter.name: parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.name.upper()
        for parameter in context.command.params
        if parameter.name and context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    }
    names = {name: option for name, option in names.items() if not name.startswith("as_")}
    if given["form"]:
        names["form"] = f"--{given['form']}"  # one of three
    check_pairs(names)
    if "text" not in names:
        alone = [name for name in TEXT if name in names]
        if alone:
            raise click.UsageError(f"{names[alone[0]]} goes with --text")
        if not {"gold", "task", "pairs"} & set(names):
            raise click.UsageError("name a treebank with --gold, a text with --text, pairs with --pairs, or a --task")
        return
    wrong = [option for name, option in names.items() if name not in WITH_TEXT and option != "--json"]
    if wrong:
        raise click.UsageError(f"{wrong[0]} does not go with --text")
    if "cache" not in names and any(name in names for name in CACHE):
        raise click.UsageError("--cache-theta and --cache-lambda go with --cache")
    if "compare" in names and "batch_size" in names:
        raise click.UsageError("--compare goes without --batch-size")
    for name in CACHE:
        if name in names and not given[name] < math.inf:  # NaN is not, either
            raise click.UsageError(f"{names[name]}: {given[name]} is no number to count with")


def show_text(text: str, groups: Mapping[str, Sequence[str]], form: str | None, given: Mapping[str, Any]) -> None:
    """Score ``text`` under the models in the folders of ``groups`` and print a table, or JSON."""
    from induce.likelihood.perplexity import evaluate_text

    meter = Meter("scoring", "tokens")
    try:
        evaluation = evaluate_text(
            text,
            groups,
            device=given["device"],
            batch_size=given["batch_size"],
            cache=_cache(given),
            tokenize=given["tokenize"],
            compare=given["compare"],
            watch=Scored(meter, sum(map(len, groups.values()))),
        )
    finally:
        meter.end()
    if form == "json":
        print_json(evaluation.to_json())
        return
    _print(evaluation)
    if not evaluation.comparable:
        click.echo(
            "note: these models have different vocabularies or mask rates, or count different tokens, so their "
            "perplexities do not compare",
            err=True,
        )


class Scored:
    """Passes on to a meter how far the scoring of one text under several models has come."""

    def __init__(self, meter: Meter, models: int) -> None:
        self.meter, self.models = meter, models
        self._behind: dict[str, int] = {}  # model -> its tokens that are scored

    def __call__(self, run: str, done: int, total: int) -> None:
        """Of ``total`` tokens ``done`` are scored under the model in ``run``."""
        more = done - self._behind.get(run, 0)
        self._behind[run] = done
        everything = total * max(self.models, len(self._behind))
        self.meter.step(lambda: min(1.0, self.meter.count / everything), by=more)


def _cache(given: Mapping[str, Any]) -> Cache | None:
    """The cache that was asked for."""
    if given["cache"] is None:
        return None
    from induce.likelihood.cache import Cache

    named = {"size": given["cache"], "theta": given["cache_theta"], "share": given["cache_lambda"]}
    return Cache(**{name: value for name, value in named.items() if value is not None})


def _print(evaluation: TextEvaluation) -> None:
    """A table, the signatures below it."""
    scores = evaluation.scores
    rows = [_row(score, f"{score.model} {score.run}" if len(scores) > 1 else score.model) for score in scores]
    for pattern, runs in evaluation.spreads.items():
        mean = f"{pattern} (mean of {len(runs.values)})"
        rows.append([mean, f"{runs.mean:.2f}", f"± {runs.deviation:.2f}", "", "", "", ""])
    print_table(HEADER, rows)
    click.echo()
    if evaluation.comparisons:
        click.echo("Difference of perplexity from the first model: paired bootstrap, paired permutation of 10,000")
        print_table(DIFFERENCES, [_difference(one) for one in evaluation.comparisons], text_columns=2)
        click.echo()
    for signature in dict.fromkeys(score.signature for score in scores):
        same = [score for score in scores if score.signature == signature]
        click.echo(str(same[0]) if len(same) == 1 else signature)


def _difference(one: TextComparison) -> list[str]:
    return [
        f"{one.second} - {one.first}",
        one.units,
        str(one.count),
        f"{one.difference:+.2f}",
        "[{:+.2f}, {:+.2f}]".format(*one.interval),
        f"{one.bootstrap:.4f}",
        f"{one.permutation:.4f}",
    ]


def _row(score: Perplexity, name: str) -> list[str]:
    bits = score.bits_per_character
    return [
        name,
        f"{score.value:.2f}",
        f"{score.nats:.4f}",
        "-" if bits is None else f"{bits:.4f}",
        f"{score.unknown_percent:.2f}",
        str(score.words),
        str(len(score.vocabulary)),
    ]

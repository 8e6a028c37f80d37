"""``synparse perplexity``: likelihood of a text, of its sentences or of its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from cli.command import command, number_option, option
from cli.options import (
    SCORING,
    default_models,
    device_option,
    format_option,
    input_paths,
    models_option,
    note,
    output_option,
    reading_options,
)
from cli.progress import Counter
from cli.text_call import TextCall
from cli.views import FORMATS, show
from induce.storage import builtin
from treebank.base.errors import SynparseError
from treebank.base.metadata import json_text

if TYPE_CHECKING:
    from induce.likelihood.language_model import SentenceLikelihood
    from induce.likelihood.units import Cache
    from treebank.io.read import InputOptions

EXAMPLES = [
    ("synparse perplexity -m mine input.txt", "Perplexity of a text."),
    ("synparse perplexity -m mine input.txt --per word", "Surprisal of each word in bits."),
    ("synparse perplexity -m runs/seed-1 -m runs/seed-2 input.txt --compare", "Test the difference of two models."),
]


@command(examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@models_option
@device_option
@reading_options
@option(
    "--per",
    type=click.Choice(["text", "sentence", "word"]),
    default="text",
    show_default=True,
    help="Unit to score: the whole text, or each sentence or word by itself.",
    group=SCORING,
)
@option("--compare", is_flag=True, help="Test the difference of each model from the first one.", group=SCORING)
@number_option("--batch-size", metavar="B", help="Read the text in B columns.", group=SCORING)
@option(
    "--cache",
    type=click.IntRange(1, 100_000),
    is_flag=False,
    flag_value=500,
    metavar="[N]",
    help="Mix in a continuous cache of the last N words (500 without a number).",
    group=SCORING,
)
@option(
    "--cache-theta",
    type=click.FloatRange(min=0),
    metavar="T",
    help="Sharpness of the cache (default: 1).",
    group=SCORING,
)
@option(
    "--cache-lambda",
    type=click.FloatRange(min=0, max=1, max_open=True),
    metavar="L",
    help="Weight of the cache (default: 0.1).",
    group=SCORING,
)
@output_option
@format_option(*FORMATS, default="table")
def perplexity(
    text: Sequence[str],
    models: Sequence[str],
    device: str,
    input_options: InputOptions,
    per: str,
    compare: bool,
    batch_size: int | None,
    cache: int | None,
    cache_theta: float | None,
    cache_lambda: float | None,
    output: str | None,
    form: str,
) -> None:
    """Compute the perplexity of TEXT, or the probability of each sentence or word.

    TEXT is a file, folder or pattern, sample, or - for standard input (the default). With --per sentence, a line has
    the log-probability in nats, the number of words and the number of unknown words, separated by tabs; sentences are
    scored independently. With --per word, a line has a word, its surprisal in bits, and <unk> if it is unknown; an
    empty line ends each sentence. Masked language models give the pseudo-log-likelihood: each word is masked in turn.
    """
    if per != "text":
        if compare or batch_size or cache:
            raise click.UsageError("--compare, --batch-size and --cache require --per text")
        _score_units(per, text, models, device, input_options, output, form)
        return
    if compare and batch_size:
        raise click.UsageError("--compare excludes --batch-size")
    from induce.likelihood.perplexity import NOT_COMPARABLE, evaluate_text
    from induce.storage.locate import expand_models

    models = default_models(models, built_in=builtin.GRAMMAR)
    path, groups = _single_text(text, output, models), expand_models(models)
    counter = Counter("scoring", "tokens")
    try:
        evaluation = evaluate_text(
            path,
            groups,
            device=device,
            batch_size=batch_size,
            cache=_cache(cache, cache_theta, cache_lambda),
            input_options=input_options,
            compare=compare,
            watch=_ModelProgress(counter, sum(map(len, groups.values()))),
        )
    finally:
        counter.close()
    show(evaluation, form, output)
    if form == "json" and not evaluation.comparable:
        note(NOT_COMPARABLE.removeprefix("note: "))


def _single_text(text: Sequence[str], output: str | None, models: Sequence[str]) -> str:
    """The one text to score as a whole. Raises SynparseError if the output would replace a file that is read."""
    from induce.storage.outputs import check_output

    paths = input_paths(text)
    if len(paths) > 1:
        raise click.UsageError("--per text takes one TEXT")
    check_output(output, inputs=paths, models=models)
    return paths[0]


class _ModelProgress:
    """Callback that adds up the progress of several models on one text."""

    def __init__(self, counter: Counter, models: int) -> None:
        self.counter, self.models = counter, models
        self._scored: dict[str, int] = {}  # number of tokens scored by each model

    def __call__(self, run: str, done: int, total: int) -> None:
        """Called when the model in ``run`` has scored ``done`` of ``total`` tokens."""
        new = done - self._scored.get(run, 0)
        self._scored[run] = done
        all_tokens = total * max(self.models, len(self._scored))
        self.counter.step(min(1.0, (self.counter.count + new) / all_tokens), by=new)


def _cache(size: int | None, theta: float | None, share: float | None) -> Cache | None:
    """The continuous cache, or None. Raises UsageError for parameters without a cache or infinite ones."""
    parameters = {name: value for name, value in (("theta", theta), ("share", share)) if value is not None}
    if size is None and parameters:
        raise click.UsageError("--cache-theta and --cache-lambda require --cache")
    if not all(value < math.inf for value in parameters.values()):  # also excludes NaN
        raise click.UsageError("--cache-theta and --cache-lambda must be finite numbers")
    if size is None:
        return None
    from induce.likelihood.units import Cache

    return Cache(size=size, **parameters)


def _score_units(
    per: str,
    text: Sequence[str],
    models: Sequence[str],
    device: str,
    input_options: InputOptions,
    output: str | None,
    form: str,
) -> None:
    """Write one line per sentence, or per word with an empty line after each sentence."""
    if form not in ("table", "json"):
        raise click.UsageError(f"--per {per} writes lines of columns or, with --format json, JSON, but not {form}")
    from induce.likelihood.language_model import SentenceScorer

    runs = default_models(models, built_in=builtin.GRAMMAR)
    if len(runs) > 1:
        raise click.UsageError(f"--per {per} takes one model")
    call = TextCall("scoring", text, output, models=runs)
    scorer = SentenceScorer(runs[0], device=device)
    if per == "word" and not scorer.gives_words:
        raise SynparseError(f"model {scorer.name!r} has no probabilities of words; use --per sentence")
    line = (lambda score: json_text(score.to_json())) if form == "json" else LINES[per]
    call.write(map(line, scorer.score(call.sentences(scorer.input_options(input_options)))))


def _sentence_line(score: SentenceLikelihood) -> str:
    value = "-" if score.log_probability is None else f"{score.log_probability:.4f}"
    return f"{value}\t{len(score.sentence.words)}\t{score.sentence.unknown}"


def _word_lines(score: SentenceLikelihood) -> str:
    """One line per word, with ``<unk>`` after unknown words, and an empty line."""
    rows = zip(score.surprisals, [*score.sentence.is_unknown, False], strict=False)
    return "".join(f"{word}\t{bits:.4f}" + "\t<unk>" * is_unknown + "\n" for (word, bits), is_unknown in rows)


LINES: dict[str, Callable[[SentenceLikelihood], str]] = {"sentence": _sentence_line, "word": _word_lines}

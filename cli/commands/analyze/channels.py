"""``synparse analyze channels`` and ``gaps``: numbers in models, compared with relations or boundaries of gold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from cli.command import command, number_option, option
from cli.options import (
    SCORING,
    default_model,
    default_models,
    device_option,
    format_option,
    gold_option,
    model_option,
    models_option,
    parsing_options,
    ptb_option,
    reading_options,
)
from cli.plot_options import check_plot, plot_option
from cli.progress import reading
from cli.views import FORMATS, show
from treebank.io.read import InputOptions

CHANNELS_EXAMPLES = [
    ("synparse analyze channels -m heads --gold gold.conllu", "Find the best channel for each relation."),
    (
        "synparse analyze channels -m heads --gold wsj --ptb WSJ --min-count 10",
        "Derive relations from the trees of the Penn Treebank, and include rarer ones.",
    ),
    (
        "synparse analyze channels -m heads --gold gold.conllu --plot map.svg",
        "Also draw relations and channels as a heat map.",
    ),
]


@command("channels", examples=CHANNELS_EXAMPLES)
@models_option
@device_option
@option(
    "--gold",
    required=True,
    metavar="GOLD",
    help="Treebank with relations, or Penn trees: name, file, folder or pattern.",
)
@ptb_option
@number_option("--min-count", default=50, help="Leave out relations with fewer arcs.", group=SCORING)
@option("--subtypes", is_flag=True, help="Keep relation subtypes such as nmod:poss.", group=SCORING)
@option("--controls", is_flag=True, help="Add controls: an untrained model and permuted relations.", group=SCORING)
@format_option(*FORMATS, default="table")
@plot_option("Also draw relations and channels as a heat map")
def channels(
    models: Sequence[str],
    gold: str,
    ptb: str | None,
    min_count: int,
    subtypes: bool,
    controls: bool,
    form: str,
    plot: str | None,
    device: str,
) -> None:
    """Correlate channels of UDGN, or attention heads of StructFormer and Transformer, with dependency relations.

    "PCC" is Pearson's correlation, over all gold arcs, between the weight of a channel from dependent to head and the
    relation of the arc; for each relation, the channel with the highest value is listed. "Partial" is its partial
    correlation given direction and distance of the arc. Layers and channels count from 1. For several models, mean and
    standard deviation over the models of each type are given. Penn trees get heads and relations by the head rules
    "stanford".
    """
    from induce.analysis.channels import ChannelComparison, correlate_channels
    from induce.storage.locate import expand_models
    from treebank.corpora.catalog import files_of, read_input
    from treebank.io.read import DEFAULT_INPUT

    folders = [folder for group in expand_models(default_models(models)).values() for folder in group]
    if plot and len(folders) > 1:
        raise click.UsageError("--plot draws the channels of one model")
    check_plot(plot, gold=gold, models=folders)
    correlate = partial(
        correlate_channels, data=gold, minimum=min_count, subtypes=subtypes, device=device, controls=controls
    )
    reports, files = [], files_of([gold], trees=True)
    for folder in folders:
        with reading("parsing", files, DEFAULT_INPUT) as counted:
            reports.append(correlate(folder, read_input([gold], input_options=counted, trees=True, ptb=ptb)))
    if plot:
        from induce.reporting.plots import plot_channels
        from treebank.draw.picture_files import write_scenes

        write_scenes([plot_channels(reports[0])], plot)
    show(reports[0] if len(reports) == 1 else ChannelComparison(reports), form)


GAPS_EXAMPLES = [
    ("synparse analyze gaps -m spelling input.txt", "Word boundaries in a model of characters."),
    ("synparse analyze gaps -m mine --gold gold.mrg", "Chunk boundaries in a model of words."),
    (
        "synparse analyze gaps -m spelling input.txt --decoder segments",
        "Score the boundaries that the model itself gives.",
    ),
]


@command("gaps", examples=GAPS_EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@model_option
@parsing_options
@gold_option()
@reading_options
@format_option(*FORMATS, default="table")
def gaps(
    text: Sequence[str], model: str | None, gold: str | None, form: str, input_options: InputOptions, **parsing: Any
) -> None:
    """Compare syntactic distances with boundaries: the largest gaps between characters with the ends of words, or
    those between words with the ends of chunks.

    TEXT is for models of characters, --gold for models of words; chunks are the lowest constituents of gold trees. F1
    is computed with as many gaps as there are boundaries, next to the F1 of random gaps; "Wider" is the probability
    that the gap at a boundary is larger than another gap. With --decoder segments, "Own F1" uses the gaps that the
    model itself considers boundaries.
    """
    if bool(text) == (gold is not None):
        raise click.UsageError("give a TEXT, for the ends of words, or --gold, for the ends of chunks")
    from induce.analysis.gaps import chunk_boundaries, word_boundaries
    from induce.parsing.load import load_model_parser
    from treebank.corpora.catalog import load_gold, read_input

    folder = default_model(model)
    parser = load_model_parser(folder, **parsing)
    if gold is not None:
        score = chunk_boundaries(parser, folder, load_gold(gold, input_options=input_options))
    else:
        score = word_boundaries(parser, folder, read_input(text, input_options=parser.input_options(input_options)))
    show(score, form)

"""``synparse analyze sharpness`` and ``boundaries``: numbers about models that need no gold tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.help import command
from cli.options import decoder_option, default_model, device_option, layer_option, seeds_option
from cli.output import print_json, print_table
from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json

if TYPE_CHECKING:
    from induce.analysis.correlation import Correlation


@command("sharpness")
@seeds_option
@click.option("--text", required=True, metavar="TEXT", help="Sentences to look at; annotation in it is not looked at.")
@click.option(
    "--scores", metavar="FILE", help="What eval --json wrote of these models: do the sharper ones have higher scores?"
)
@click.option("--metric", default="", metavar="NAME", help="Which scores of that file: UF1, UAS, UUAS; the first ones.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of tables.")
@decoder_option
@layer_option
@device_option
def sharpness(runs: Sequence[str], text: str, scores: str | None, metric: str, as_json: bool, **parsing: Any) -> None:
    """How decided models are about their trees, without gold trees.

    Of heads: the entropy of a word's head. Of distances: how far the widest gap of a bracket is ahead of the next one,
    and the entropy of where a bracket is split. Of span scores: the entropy of whether a span is a constituent.
    """
    from induce.analysis.sharpness import measure, scores_of, with_scores
    from induce.parsing.load import load_model_parser
    from induce.storage.model_spec import expand_models
    from treebank.io.read import read_sentences

    folders = [folder for found in expand_models(runs or [default_model()]).values() for folder in found]
    measured = []
    for folder in folders:
        parser = load_model_parser(folder, **parsing)
        sentences = read_sentences([text], input_options=parser.input_options())
        measured.append(measure(parser, folder, sentences))
    name, correlations = metric, {}
    if scores is not None:
        try:
            name, by_run = scores_of(parse_json(Path(scores).read_text(encoding="utf-8")), metric)
        except ValueError as error:
            raise SynparseError(f"{scores}: {error}") from None
        correlations = with_scores(measured, by_run)
    if as_json:
        found = {key: {"spearman": one._asdict(), "pearson": two._asdict()} for key, (one, two) in correlations.items()}
        print_json({"systems": [one.to_json() for one in measured], "metric": name, "correlations": found})
        return
    names = list(dict.fromkeys(key for one in measured for key in one.values))
    rows = [
        [f"{one.model} {one.run}", *(f"{one.values[key]:.3f}" if key in one.values else "-" for key in names)]
        for one in measured
    ]
    print_table(["System", *names], rows)
    click.echo()
    if correlations:
        click.echo(f"Correlation with {name} over {len(measured)} models")
        print_table(
            ["Number", "Spearman", "95 % int.", "Pearson", "95 % int."],
            [[key, *_shown(one), *_shown(two)] for key, (one, two) in correlations.items()],
        )
        click.echo()
    for one in measured:
        click.echo(one.signature)


def _shown(one: Correlation) -> list[str]:
    return [f"{one.value:.2f}", f"[{one.low:.2f}, {one.high:.2f}]"]


@command("boundaries")
@click.option("-m", "--run", metavar="RUN", help="The folder of a model with distances, ./synparse-model by default.")
@click.option("--text", metavar="TEXT", help="For a model of characters: sentences, words separated by spaces.")
@click.option("--gold", metavar="GOLD", help="For a model of words: a treebank with trees, a file or a name.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a line.")
@decoder_option
@layer_option
@device_option
def boundaries(
    run: str | None, text: str | None, gold: str | None, as_json: bool, decoder: str | None, **parsing: Any
) -> None:
    """Whether the widest gaps between characters are the ends of words, or those between words the ends of chunks.

    F1 where as many gaps are taken as there are ends, beside that of gaps taken at random; and the chance that the gap
    at an end is wider than another one. Chunks are the lowest constituents of gold trees; with the decoder segments,
    there is also F1 of the gaps that the model itself finds likelier than not to be ends.
    """
    if (text is None) == (gold is None):
        raise click.UsageError("name a --text, for ends of words, or a --gold treebank, for ends of chunks")
    from induce.analysis.gaps import chunk_boundaries, word_boundaries
    from induce.parsing.load import load_model_parser
    from treebank.corpora.catalog import load_gold
    from treebank.io.read import read_sentences

    folder = run or default_model()
    parser = load_model_parser(folder, decoder=decoder, **parsing)
    if text is None:
        assert gold is not None
        score = chunk_boundaries(parser, folder, load_gold(gold))
    else:
        score = word_boundaries(parser, folder, read_sentences([text], input_options=parser.input_options()))
    if as_json:
        print_json(score.to_json())
        return
    titles = {"value": "F1", "chance": "At random", "above": "Wider, %", "own": "Own F1", "own_chance": "At random"}
    columns = [titles[name] for name in score.values]
    print_table(["System", *columns], [[score.model, *(f"{value:.1f}" for value in score.values.values())]])
    click.echo()
    click.echo(score.signature)

"""``synparse generate``: sentences and trees drawn from a grammar."""

from __future__ import annotations

from cli.command import command, number_option
from cli.options import default_model, format_option, model_option, output_option, seed_option
from cli.output import open_output
from induce.storage import builtin
from treebank.base.errors import SynparseError

EXAMPLES = [
    ("synparse generate -m grammar --limit 5", "Draw five trees."),
    ("synparse generate -m grammar --limit 1000 --format text -o drawn.txt", "Draw a text."),
    ("synparse generate -m heads --format conllu --max-length 10", "Draw short sentences with heads."),
]


@command(examples=EXAMPLES)
@model_option
@seed_option
@number_option("--limit", default=10, help="Number of sentences.")
@number_option(
    "--max-length", low=2, default=40, help="Maximum number of words per sentence; longer sentences are drawn again."
)
@output_option
@format_option(
    "brackets",
    "text",
    "conllu",
    help="Output format: brackets (default), text or conllu (default for models of heads alone).",
)
def generate(model: str | None, seed: int, limit: int, max_length: int, output: str | None, form: str | None) -> None:
    """Draw sentences with their trees or heads from a grammar.

    The model is a neural PCFG of any type, dmv or ndmv. The same seed gives the same sentences. Nonterminals are NT0,
    NT1, …, preterminals T0, T1, …, and word classes C0, C1, …
    """
    from itertools import chain

    from induce.analysis.induced_grammar import generate as draw
    from induce.storage.outputs import check_output
    from treebank.io.write import write_brackets, write_conllu, write_text

    run = default_model(model, built_in=builtin.GRAMMAR)
    check_output(output, models=[run])
    writers = {"brackets": write_brackets, "text": write_text, "conllu": write_conllu}
    sentences = draw(run, seed=seed, limit=limit, max_length=max_length, with_heads=form == "conllu")
    first = next(sentences)
    if form == "brackets" and first.tree is None:
        raise SynparseError(f"{run}: this model draws heads, not trees; choose --format conllu or text")
    writer = writers[form or ("brackets" if first.tree else "conllu")]
    with open_output(output) as write:
        for line in writer(chain([first], sentences), ""):
            write(line)

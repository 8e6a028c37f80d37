"""``synparse convert``: treebanks in other formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, option
from cli.options import (
    SkippedSentences,
    format_option,
    label_options,
    label_seed,
    max_length_option,
    note,
    on_error_option,
    output_option,
    ptb_option,
    reading_options,
)
from cli.text_call import TextCall
from treebank.core.head_rules import DEFAULT_RULES, HEAD_RULES
from treebank.io.formats import WRITERS

if TYPE_CHECKING:
    from induce.labels.induced_labels import PhraseLabeler, RelationLabeler
    from treebank.convert.convert import Direction, Relabel, Treebanks
    from treebank.io.read import InputOptions

CHANGES = "Changes"
CONCAT_SYN = "ptb-concat-syn"  # words as in the language-modeling files of the Penn Treebank
LABELED_TREES = ("brackets", "spans", "negra", "tiger")
LABELED_FORMATS = (*LABELED_TREES, "conllu")
STRIPPED = ("traces", "functions", "punctuation", "labels", "unary")

EXAMPLES = [
    (
        "synparse convert gold.mrg --strip traces --strip functions -o plain.mrg",
        "Delete empty elements and function tags.",
    ),
    ("synparse convert gold.mrg --format conllu --head-rules collins", "Derive heads from trees."),
    ("synparse convert book.txt --tokenizer unicode --format text", "Split raw text into sentences and tokens."),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@reading_options
@on_error_option("stop", "skip")
@max_length_option
@ptb_option
@option(
    "--strip",
    type=click.Choice(STRIPPED),
    multiple=True,
    help="Delete empty elements, function tags, tokens that are not scored, labels and tags, or unary brackets "
    "(repeatable).",
    group=CHANGES,
)
@option(
    "--binarize", type=click.Choice(["left", "right"]), help="Allow at most two children per bracket.", group=CHANGES
)
@option(
    "--phrases-of-heads",
    is_flag=True,
    help="Give sentences with heads a bracket around each head with the words below it, as gold trees of eval.",
    group=CHANGES,
)
@option(
    "--head-rules",
    type=click.Choice(list(HEAD_RULES)),
    help=f"Head rules for trees without heads, for --format conllu (default {DEFAULT_RULES}).",
    group=CHANGES,
)
@option(
    "--normalize",
    type=click.Choice([CONCAT_SYN]),
    help="Normalize words as in the language-modeling files of the Penn Treebank.",
    group=CHANGES,
)
@option(
    "--vocabulary-of",
    multiple=True,
    metavar="INPUT",
    help="With --normalize: count the vocabulary in this corpus instead (repeatable).",
    group=CHANGES,
)
@option(
    "--align-with",
    multiple=True,
    metavar="FILE",
    help="With --normalize: give each sentence the words of the next line of a language-modeling file (repeatable).",
    group=CHANGES,
)
@label_options("the trees", CHANGES)
@output_option
@format_option(*WRITERS, default="brackets")
def convert(
    input: Sequence[str],
    output: str | None,
    form: str,
    head_rules: str | None,
    normalize: str | None,
    vocabulary_of: Sequence[str],
    align_with: Sequence[str],
    on_error: str,
    ptb: str | None,
    input_options: InputOptions,
    strip: Sequence[str],
    binarize: Direction | None,
    phrases_of_heads: bool,
    max_length: int | None,
    **labeling: Any,
) -> None:
    """Convert treebanks to another format, one sentence per line.

    INPUT is any number of treebank files (brackets, CoNLL-U), JSON lines (.jsonl), folders, patterns, treebank names
    such as wsj10, or - for standard input (the default).
    """
    for name, paths in (("--vocabulary-of", vocabulary_of), ("--align-with", align_with)):
        if paths and not normalize:
            raise click.UsageError(f"{name} requires --normalize {CONCAT_SYN}")
    from treebank.convert.convert import Conversion, Transformation, Treebanks
    from treebank.convert.convert import convert as converted

    _check_form(form, head_rules, strip, binarize, labeling["labels"], phrases_of_heads)
    labeling["seed"] = label_seed(**labeling)
    reads = [*vocabulary_of, *align_with, *labeling["labels_of"]]
    call = TextCall("converting", input, output, reads=reads, trees=not input_options.is_raw_text)
    transformation = Transformation(tuple(strip), binarize, max_length, phrases_of_heads)
    on_bad = SkippedSentences() if on_error == "skip" else None
    treebanks = Treebanks(call.paths, ptb, on_bad, call.counted(input_options))
    rules = head_rules or DEFAULT_RULES
    relabel = _learn_labels(treebanks, rules if form == "conllu" else "", **labeling) if labeling["labels"] else None
    conversion = Conversion(form, transformation, rules, normalize is not None, vocabulary_of, align_with, relabel)
    lines = converted(treebanks, conversion, report=lambda line: click.echo(line, err=True))
    call.write(lines, max_length=max_length)


def _check_form(
    form: str,
    head_rules: str | None,
    strip: Sequence[str],
    binarize: str | None,
    labels: str | None,
    phrases_of_heads: bool,
) -> None:
    """Raises UsageError for options that have no effect on the output format ``form``, or on each other."""
    if phrases_of_heads and form in ("text", "conllu"):
        raise click.UsageError(f"--phrases-of-heads does not apply to --format {form}, which has no brackets")
    if head_rules and form != "conllu":
        raise click.UsageError("--head-rules requires --format conllu")
    if labels and form not in LABELED_FORMATS:
        raise click.UsageError(f"--format {form} has no labels; choose {', '.join(LABELED_FORMATS)}")
    if labels and "labels" in strip:
        raise click.UsageError("--labels and --strip labels exclude each other")
    changes = [f"--strip {name}" for name in ("functions", "unary") if name in strip] + ["--binarize"] * bool(binarize)
    if form == "text" and changes:
        raise click.UsageError(f"{changes[0]} does not apply to --format text, which has words only")
    if "labels" in strip and form not in LABELED_TREES:
        raise click.UsageError(f"--strip labels does not apply to --format {form}; choose {', '.join(LABELED_TREES)}")


def _learn_labels(
    treebanks: Treebanks,
    head_rules: str,
    labels: str,
    label_count: int | None,
    labels_of: Sequence[str],
    seed: int,
) -> Relabel:
    """Labels that are learned from the treebanks, or from those in ``labels_of``, in a first reading.

    With ``head_rules``, relations instead. The rules give the heads of trees.
    """
    from induce.labels.induced_labels import learn_labels, learn_relations
    from treebank.core.relations import with_relations

    source = replace(treebanks, paths=labels_of or treebanks.paths).silently()
    if head_rules:
        heads = (with_relations(sentence, head_rules) for sentence in source.sentences())
        labeler: PhraseLabeler | RelationLabeler = learn_relations(heads, labels=label_count, seed=seed)
    else:
        labeler = learn_labels(source.sentences(), labels=label_count, seed=seed)
    for line in labeler.legend:
        note(line)
    return labeler

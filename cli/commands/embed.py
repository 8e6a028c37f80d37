"""``synparse embed``: a vector of each sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.help import command
from cli.options import default_model, device_option, inputs, reading_options
from cli.output import opened
from cli.status import reading
from treebank.base.atomic_write import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from induce.analysis.vectors import SentenceVector
    from treebank.io.read import InputOptions

DIGITS = 6  # behind the point, in JSON lines


@command()
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", metavar="RUN", help="The model folder, ./synparse-model by default.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE; arrays of numpy if it ends in .npz.")
@reading_options
@device_option
def embed(
    input: Sequence[str],
    run: str | None,
    output: str | None,
    input_options: InputOptions,
    device: str,
) -> None:
    """Write a vector of each sentence: the mean of the final states of its words.

    Of a model of next words it is the mean of the vectors that the output layer reads behind each word. A line of
    JSON a sentence has its words after normalisation and the vector; a file .npz has the array "vectors", a row a
    sentence, and "words", how many words each has. A sentence without a word has zeros.
    """
    from induce.analysis.vectors import Embedder
    from treebank.io.expand import expand
    from treebank.io.output_path import check_output
    from treebank.io.read import read_sentences

    paths = inputs(input)
    files = expand(paths)  # a misspelt path is told before a model is loaded
    check_output(output, paths)
    embedder = Embedder(run or default_model(), device=device)
    options, shown = embedder.input_options(input_options), not output and sys.stdout.isatty()
    with reading("reading", files, options, results_shown=shown) as counted:
        found = embedder.embed(read_sentences(paths, input_options=counted))
        if output and output.lower().endswith(".npz"):
            write_whole(output, _arrays(found))
            return
        with opened(output) as write:
            for one in found:
                vector = [round(value, DIGITS) for value in one.vector.tolist()]
                write(json.dumps({"words": list(one.words), "vector": vector}, ensure_ascii=False))


def _arrays(found: Iterable[SentenceVector]) -> bytes:
    """The file .npz."""
    from io import BytesIO

    import numpy as np

    rows = list(found)
    vectors = np.stack([one.vector for one in rows]) if rows else np.zeros((0, 0), np.float32)
    stream = BytesIO()
    np.savez(stream, vectors=vectors, words=np.array([len(one.words) for one in rows], np.int64))
    return stream.getvalue()

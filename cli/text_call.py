"""A call that reads texts and writes lines, with a progress display."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cli.options import input_paths, note
from cli.output import open_output
from cli.progress import Counter, FilePositions
from treebank.core.sentence import Location, Sentence
from treebank.io.read import InputOptions


class TextCall:
    """Texts to read, lines to write, and the display of their progress."""

    def __init__(
        self,
        activity: str,
        texts: Sequence[str],
        output: str | None,
        *,
        models: Sequence[str] = (),
        reads: Sequence[str] = (),
        folder: str | None = None,
        trees: bool = False,
    ) -> None:
        """Check all paths before a model is loaded.

        The texts may be names of treebanks such as ``wsj10``. ``models`` and ``reads`` are models and other files that
        the call reads. ``folder`` is the output folder if there is one. ``trees``: the texts are treebanks; with
        ``models``, they may be plain text as well. Raises SynparseError if a text is missing or the output would
        replace a file that is read.
        """
        from induce.storage.outputs import check_output, check_output_folder
        from treebank.corpora.catalog import files_of

        self.paths, self.output, self.folder = input_paths(texts), output, folder
        self._positions = FilePositions(files_of(self.paths, trees=(trees and not models) or None))
        if folder:
            check_output_folder(folder)
        else:
            check_output(output, inputs=[*self.paths, *reads], models=models)
        self.counter = Counter(activity, hidden=not output and not folder and sys.stdout.isatty())

    def count(self, position: Location) -> None:
        """Count a sentence."""
        self.counter.step(self._positions.fraction(*position))

    def counted(self, input_options: InputOptions) -> InputOptions:
        """``input_options`` that count each sentence as it is read."""
        return replace(input_options, on_sentence=self.count)

    def sentences(self, input_options: InputOptions) -> Iterator[Sentence]:
        """The sentences of the texts, counted as they are read."""
        from treebank.corpora.catalog import read_input

        return read_input(self.paths, input_options=self.counted(input_options))

    def write(
        self,
        lines: Iterable[str],
        *,
        may_be_empty: bool = False,
        max_length: int | None = None,
        colored: bool = False,
    ) -> int:
        """Write lines to the output and return their number. If there are none, a note gives the reason.

        ``colored``: the lines have colors, and no other control characters.
        ``may_be_empty``: sentences need not have lines, so no such note is printed. ``max_length``: the limit that
        leaves out longer sentences.
        """
        count = 0
        try:
            with open_output(self.output, colored=colored) as write:
                for line in lines:
                    write(line)
                    count += 1
        finally:
            self.counter.close()
        if not count and not may_be_empty:
            names = ["standard input" if path == "-" else path for path in self.paths]
            reason = "there are no sentences"
            if max_length is not None and self.counter.count:
                reason = f"no sentence has at most {max_length:,} word{'s' * (max_length > 1)}"
            note(f"{', '.join(names)}: {reason}, so there is no output")
        return count

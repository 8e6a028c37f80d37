"""Options of commands that read a corpus: treebanks, parsed text, or text that a model parses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from cli.command import option, stacked
from cli.options import (
    MODEL,
    SkippedSentences,
    check_parsing_options,
    note,
    on_error_option,
    parsing_options,
    ptb_option,
    reading_options,
)
from cli.text_call import TextCall

if TYPE_CHECKING:
    from induce.search.parsed_corpus import Corpus
    from treebank.io.read import InputOptions


text_model_option = option(
    "-m",
    "--model",
    metavar="PATH",
    help="Trained model for text without trees or heads, such as english or mine (default: none, for trees and heads).",
    group=MODEL,
)


@dataclass(frozen=True)
class CorpusOptions:
    """Values of the options. ``parsing`` are options for loading the model."""

    model: str | None
    input_options: InputOptions
    on_error: str
    ptb: str | None
    parsing: dict[str, Any]

    def call(self, activity: str, paths: Sequence[str], output: str | None, reads: Sequence[str] = ()) -> TextCall:
        """The call that reads the corpus in ``paths`` and the files ``reads``, and writes ``output``."""
        models = [self.model] if self.model else []
        return TextCall(activity, paths, output, models=models, reads=reads, trees=True)

    def open(self, call: TextCall, *, keep_annotation: bool = False) -> Corpus:
        """The corpus of ``call``, with the names of sentences and documents if ``keep_annotation`` is true.

        Raises UsageError for a decoder or priors without a model.
        """
        from induce.search.parsed_corpus import Corpus

        parser = None
        if not self.model:
            check_parsing_options(self.parsing)
        else:
            from induce.parsing.load import load_parser

            parser = load_parser(self.model, report=note, **self.parsing)
        on_bad = SkippedSentences() if self.on_error == "skip" else None
        options = call.counted(replace(self.input_options, keep_annotation=keep_annotation))
        return Corpus(call.paths, model=parser, input_options=options, ptb=self.ptb, on_bad=on_bad)


def corpus_options(command: Any) -> Any:
    """Add the options, which the command receives as one argument ``options``."""

    @wraps(command)
    def wrapper(
        *arguments: Any, model: str | None, input_options: InputOptions, on_error: str, ptb: str | None, **others: Any
    ) -> Any:
        parsing = {name: others.pop(name) for name in ("decoder", "priors", "device")}
        options = CorpusOptions(model, input_options, on_error, ptb, parsing)
        return command(*arguments, options=options, **others)

    error_option = on_error_option("stop", "skip")
    return stacked(text_model_option, parsing_options, reading_options, error_option, ptb_option)(wrapper)

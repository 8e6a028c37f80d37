"""Python interface of synparse: one function for each main command.

>>> import synparse
>>> parser = synparse.load("english")  # the built-in model; synparse.train("corpus.txt") trains another one
>>> print(next(parser.parse("the cat saw a dog")))
(X (X (W the) (W cat)) (X (W saw) (X (W a) (W dog))))
"""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__" or [*map(os.path.basename, sys.argv[:1])] == ["synparse"]:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during loading ends the command without a traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any


def _check_own_packages() -> None:
    """Raises ImportError if a file or folder outside synparse hides one of its packages."""
    home = Path(__file__).resolve().parent
    for name in ("treebank", "induce", "cli"):
        spec = find_spec(name)
        location = spec and (spec.origin or next(iter(spec.submodule_search_locations or ()), None))
        if location and home not in Path(location).resolve().parents:
            raise ImportError(f"{location}: hides synparse's package {name!r}; rename it or work in another folder")


try:
    _check_own_packages()
except ImportError as _problem:
    if __name__ != "__main__" and not sys.argv[0].endswith("synparse"):
        raise
    sys.exit(f"synparse: {_problem}")

from treebank.base import VERSION as __version__  # noqa: E402
from treebank.base.arguments import STRING, as_list, check_minutes, check_type, plain_options  # noqa: E402
from treebank.base.errors import SynparseError  # noqa: E402
from treebank.core.tree import Tree  # noqa: E402

if TYPE_CHECKING:
    from induce.ensemble.ensemble import Ensemble
    from induce.parsing.parser import Parser
    from induce.search.parsed_corpus import Corpus
    from induce.training.events import Event
    from induce.training.loop import Trainer
    from induce.training.request import RunRequest, Text
    from treebank.core.sentence import Sentence
    from treebank.draw.notebook import Drawing
    from treebank.evaluate.evaluate import Evaluation
    from treebank.search.phrases import PhraseTable
    from treebank.search.search import Match


def _register_display() -> None:
    """Make a notebook display trees and sentences as pictures."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        from treebank.draw.notebook import register_display

        register_display(shell)


_register_display()

__all__ = [
    "Corpus",
    "SynparseError",
    "Tree",
    "__version__",
    "browse",
    "combine",
    "draw",
    "evaluate",
    "load",
    "phrases",
    "read",
    "report",
    "search",
    "train",
    "trainer",
]


def __getattr__(name: str) -> Any:
    """The class ``Corpus``, which is imported when it is used."""
    if name == "Corpus":
        from induce.search.parsed_corpus import Corpus

        return Corpus
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def train(
    text: Path | Text | Sequence[Path | Text] | None = None,
    *,
    run: str = "synparse-model",
    max_minutes: float | None = None,
    show: Callable[[Event], None] | None = None,
    heads: str = "",
    **options: Any,
) -> Parser:
    """Train a parser as ``synparse train`` does and return it.

    ``text`` is a path, a list of paths, or a list of sentences, each a list of words. Without it, the parser is trained
    on the built-in sample, which a grammar generated. ``run`` is the model folder to write, and ``max_minutes`` limits
    the training time. ``show`` is called with every event; without it, a notebook shows the progress. ``heads`` is the
    style of a parser of heads (``"content"`` or ``"function"``). ``options`` are ``model``, ``preset``, ``settings`` (a
    list of ``"table.key=value"``), ``trees``, ``teachers``, ``task``, ``dev``, ``seed``, ``resume``, ``overwrite`` and
    ``device``, and ``branching``, the known direction, and ``tokenizer``, the rule for raw text. Without the first six
    of them, the best recipe for the text is trained. Raises SynparseError if the parser cannot be trained.
    """
    from cli.training_progress import with_progress
    from induce.parsing.load import load_model_parser, load_parser
    from induce.registry import PROGRAMS
    from induce.registry import load as load_object
    from induce.storage.locate import PathType, locate
    from induce.storage.outputs import resumable
    from induce.training.events import PartProgress

    check_minutes("max_minutes", max_minutes)
    shows_progress = show is None and _in_notebook()
    names = ("model", "preset", "settings", "trees", "teachers", "task")
    is_single = any(options.get(name) for name in names) or (options.get("resume") and resumable(Path(run)))
    if heads and is_single:
        raise SynparseError("heads trains several models; for one, use the preset dmv-content or dmv-function")
    check_type("heads", heads, (str,), "a string")
    with ExitStack() as stack:  # of the lock of the folder
        if is_single:
            events: Iterator[Event] = trainer(text, run=run, **options).train(max_minutes=max_minutes)
            stack.enter_context(closing(events))
        else:
            program = load_object(PROGRAMS.get("recipe").location)
            recipe = f"heads:{heads}" if heads else None
            named = program(_request(text, run, options), recipe, max_minutes=max_minutes)
            stack.enter_context(closing(named))
            events = (event for _, event in named if not shows_progress or isinstance(event, PartProgress))
        for event in with_progress(events) if shows_progress else events:
            if show:
                show(event)
    is_vote = locate(run).type is PathType.ENSEMBLE
    return load_parser(run) if is_vote else load_model_parser(run)


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def trainer(
    text: Path | Text | Sequence[Path | Text] | None = None, *, run: str = "synparse-model", **options: Any
) -> Trainer:
    """The trainer that `train` uses.

    Its method ``train()`` yields the events of training; to stop early, leave the loop over them. Raises SynparseError
    as `train` does.
    """
    from induce.training.prepare import prepare_run

    return prepare_run(_request(text, run, options))


def _request(text: Any, run: str, options: dict[str, Any]) -> RunRequest:
    """The request of a training with the arguments of `train`."""
    from induce.training.request import RunRequest
    from treebank.io.read import DEFAULT_INPUT

    check_type("run", run, (str, os.PathLike), STRING)
    if text is not None:
        options["text"] = as_list(text, "text")
        if not options["text"]:
            raise SynparseError("text is empty; give paths or sentences, or leave it out to train on the sample")
    for name in ("branching", "tokenizer"):
        check_type(name, options.get(name, ""), (str,), "a string")
    if branching := options.pop("branching", ""):
        options["settings"] = [*as_list(options.get("settings", ()), "settings"), f"parse.branching={branching}"]
    if tokenizer := options.pop("tokenizer", ""):
        options["input_options"] = replace(options.get("input_options", DEFAULT_INPUT), tokenize=tokenizer)
    plain = plain_options(options)
    return RunRequest(run=run, purpose=plain.pop("task", ""), **plain)


def load(run: str | os.PathLike[str] | None = None, **options: Any) -> Parser:
    """The parser of the model or ensemble in the folder ``run``.

    Without ``run``, the model is that of $SYNPARSE_MODEL, else that in ./synparse-model, else the built-in model of
    English, whose name is ``"english"``. ``options`` are ``decoder``, ``layer``, ``distances`` and ``device``, as for
    ``synparse parse``.
    """
    from induce.parsing.load import load_parser
    from induce.storage.locate import default_model

    run = default_model() if run is None else run
    check_type("run", run, (str, os.PathLike), STRING)
    return load_parser(run, **options)


def combine(members: str | Sequence[str], run: str, **options: Any) -> Ensemble:
    """An ensemble of ``members``, written to ``run`` as ``synparse combine`` does.

    Members are written as for the command: models, files of trees, ``"baseline:right"``. ``options`` are ``heads``,
    ``threshold``, ``sums``, ``overwrite``, ``decoder``, ``normalization``. Raises SynparseError if
    the members cannot be combined.
    """
    from induce.ensemble.combine import combine as make

    check_type("run", run, (str, os.PathLike), STRING)
    return make(as_list(members, "members"), run, **plain_options(options))


def evaluate(gold: Any, *systems: Any, **options: Any) -> Evaluation:
    """Score ``systems`` on ``gold`` as ``synparse eval`` does.

    ``gold`` is a path, a name such as ``"wsj10"``, a `Treebank`, or a list of trees. A system is a parser, the path of
    a model folder or of a file of trees, the name of a baseline such as ``"right"``, or a list of trees: `Tree`
    objects, nltk trees or strings in brackets. A dictionary has systems by name. ``options`` are ``conventions``,
    ``max_length`` and the other fields of `EvaluationPlan`. Raises SynparseError if something cannot be scored.

    >>> [report] = evaluate("sample", "right", conventions=["on-lstm"]).scores
    >>> round(report.value, 1)
    39.6
    """
    from induce.parsing.systems import evaluate_systems

    return evaluate_systems(gold, systems, **plain_options(options))


def draw(analyses: Any, *others: Any, gold: Any = ()) -> Drawing:
    """Drawing of trees, sentences or pairs of words and heads.

    A notebook shows the drawing, and its method ``save(path)`` writes it to a file. A string is a tree in brackets, or
    a sentence, which the default model parses. ``others`` are analyses of the same sentences by other systems, and
    ``gold`` are the analyses to compare with. A dictionary has analyses by name. Heads need not form a tree. Raises
    SynparseError for anything else, for other numbers of sentences, and if the words of ``gold`` differ.

    >>> print(draw((["the", "cat", "sat"], [1, 2, -1])).to_latex().splitlines()[0])
    \\begin{dependency}
    """
    from treebank.draw.notebook import draw as make_drawing

    if isinstance(analyses, str) and not analyses.lstrip().startswith("("):
        analyses = list(load().parse(analyses))
    return make_drawing(analyses, *others, gold=gold)


def report(*runs: str | os.PathLike[str], gold: Any = None, **options: Any) -> str:
    """The HTML page that ``synparse report`` writes about trained models.

    ``gold`` is a path, a name such as ``"wsj10"``, or a `Treebank`. ``options`` are fields of `ReportPlan`: ``text``,
    ``baselines``, ``conventions``, ``max_length``, ``pictures``, ``title``.
    """
    from induce.reporting.report import Report, ReportPlan

    return Report(ReportPlan(runs=as_list(runs, "runs"), **plain_options({"gold": gold, **options}))).html()


def read(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Iterator[Sentence]:
    """Sentences of a text or a treebank in any format, or of a list of them, with their annotation."""
    from treebank.corpora.catalog import read_input

    return read_input(as_list(path, "path"))


def search(pattern: str, source: Any, *, model: Any = None, **options: Any) -> Iterator[Match]:
    """The sentences of ``source`` that match a pattern, as ``synparse search`` finds them.

    ``source`` is a `Corpus`, a path or name of a treebank, a tree, or a list of them; a string that begins with a
    bracket is a tree. ``model`` parses plain text. ``options`` are ``invert``, ``context`` (the number of
    sentences around each match), ``limit``, ``sample`` and ``seed``.
    Raises SynparseError for a malformed pattern, with the position of the error.

    >>> [match.phrases for match in search("NP < DT", "(S (NP (DT the) (NN cat)) (VP (VBD sat)))")]
    [[('the', 'cat')]]
    """
    return _corpus(source, model).search(pattern, **options)


def phrases(source: Any, *, against: Any = None, model: Any = None, **filters: Any) -> PhraseTable:
    """The phrases or arcs of ``source`` with their frequencies, as ``synparse phrases`` lists them.

    ``source`` and ``against``, a second corpus, are as for `search`. ``filters`` are the fields of `PhraseFilter`:
    ``min_length``, ``max_length``, ``min_count``, ``labels``, ``pattern``, ``limit``. The method ``records()`` of the
    result gives dictionaries, for example for ``pandas.DataFrame``.

    >>> [row.words for row in phrases("(S (NP (DT the) (NN cat)) (VP (VBD sat)))", min_count=1, max_length=2)]
    ['the cat']
    """
    return _corpus(source, model).phrases(against=against, **filters)


def browse(source: Any, *, model: Any = None, **options: Any) -> str:
    """The HTML page that ``synparse browse`` writes, in which ``source`` can be searched without a network.

    ``source`` is as for `search`. ``options`` are ``title``, ``sample`` and ``seed``. Raises SynparseError for more
    than 50,000 sentences.
    """
    from induce.reporting.corpus_page import corpus_page

    return corpus_page(_corpus(source, model), **plain_options(options))


def _corpus(source: Any, model: Any) -> Corpus:
    """``source`` as a corpus."""
    from induce.search.parsed_corpus import Corpus

    return source if isinstance(source, Corpus) else Corpus(source, model=model)


def main() -> None:
    """The command ``synparse``."""
    from cli.start import main as command

    command()


if __name__ == "__main__":
    main()

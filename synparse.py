"""The public face: everything that a command does, in a call.

>>> import synparse
>>> parser = synparse.load("english")  # the built-in model; synparse.train("corpus.txt") gives one of your own
>>> print(next(parser.parse("the cat saw a dog")))
(X (X (W the) (W cat)) (X (W saw) (X (W a) (W dog))))
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any


def _check_own_packages() -> None:
    """Raises ImportError if a file or folder of somebody else's stands before a package of synparse."""
    home = Path(__file__).resolve().parent
    for name in ("treebank", "induce", "cli"):
        spec = find_spec(name)
        place = spec and (spec.origin or next(iter(spec.submodule_search_locations or ()), None))
        if place and home not in Path(place).resolve().parents:
            raise ImportError(f"{place}: stands in the way of synparse's own {name!r}; rename it, or work elsewhere")


try:
    _check_own_packages()
except ImportError as _problem:
    if __name__ != "__main__" and not sys.argv[0].endswith("synparse"):
        raise
    sys.exit(f"synparse: {_problem}")

from treebank.base.errors import SynparseError  # noqa: E402
from treebank.base.version import VERSION as __version__  # noqa: E402

if TYPE_CHECKING:
    import os

    from induce.data.sources import Text
    from induce.parsing.ensemble import Ensemble
    from induce.parsing.parser import ModelParser
    from induce.training.events import Event
    from induce.training.loop import Trainer
    from treebank.core.sentence import Sentence
    from treebank.draw.notebook import Drawing
    from treebank.evaluate.evaluate import Evaluation


def _register_display() -> None:
    """Make a notebook display trees and sentences as pictures."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        from treebank.draw.notebook import register_display

        register_display(shell)


_register_display()

__all__ = [
    "SynparseError",
    "__version__",
    "combine",
    "draw",
    "evaluate",
    "load",
    "read",
    "report",
    "train",
    "trainer",
]


def train(
    text: Text | Sequence[Text] = (),
    *,
    run: str = "synparse-model",
    max_minutes: float | None = None,
    show: Callable[[Event], None] | None = None,
    **options: Any,
) -> ModelParser:
    """Train a model as ``synparse train`` does and return its parser.

    ``text`` is a path, a list of paths, or a list of sentences, each a list of words; without it the model learns from
    the built-in sample. ``run`` is the folder to write, ``max_minutes`` bounds the training, and ``show`` hears every
    event; without it a notebook shows them by itself. ``options`` are those of the command: ``model``, ``preset``,
    ``settings`` (a list of ``"table.key=value"``), ``dev``, ``trees``, ``task``, ``seed``, ``resume``, ``overwrite``,
    ``device``.
    Raises SynparseError for what cannot be trained.
    """
    from cli.training_progress import with_progress

    events: Iterator[Event] = trainer(text, run=run, **options).train(max_minutes=max_minutes)
    for event in with_progress(events) if show is None and _in_notebook() else events:
        if show:
            show(event)
    from induce.parsing.load import load_model_parser

    return load_model_parser(run)


def _in_notebook() -> bool:
    """Whether this program runs in a notebook, where training shows its progress."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def trainer(text: Text | Sequence[Text] = (), *, run: str = "synparse-model", **options: Any) -> Trainer:
    """What `train` trains with: its ``train()`` yields the events one by one, and can be left at any of them."""
    from induce.training.request import RunRequest
    from induce.training.run import prepare_run

    texts = [text] if isinstance(text, str) else list(text)
    return prepare_run(RunRequest(run=run, text=texts, **options))


def load(run: str | os.PathLike[str] | None = None, **options: Any) -> ModelParser | Ensemble:
    """The trained model in the folder ``run``, or the ensemble, ready to parse.

    Without ``run`` it is that of $SYNPARSE_MODEL, else that in ./synparse-model; where nothing was trained, it is the
    built-in model of English, which is also called ``"english"``. ``options``: ``decoder``, ``layer``, ``distances``,
    ``device``, as of ``synparse parse``.
    """
    from induce.parsing.load import load_parser
    from induce.storage.locate import default_model

    return load_parser(default_model() if run is None else run, **options)


def combine(members: Sequence[str], run: str, **options: Any) -> Ensemble:
    """An ensemble of ``members``, written to the folder ``run`` as ``synparse combine`` does.

    Members are spelt as of the command: models, files of trees, ``"baseline:right"``. ``options``: ``heads``,
    ``threshold``, ``sums``, ``pack``, ``overwrite``, ``decoder``, ``normalization``. Raises SynparseError for what
    does not fit.
    """
    from induce.parsing.combine import combine as make

    return make(members, run, **options)


def evaluate(gold: Any, *systems: Any, **options: Any) -> Evaluation:
    """Score ``systems`` on ``gold`` as ``synparse eval`` does.

    ``gold`` is a path, a name such as ``"wsj10"``, a `Treebank`, or a list of trees. A system is a parser, the path of
    a model folder or of a file of trees, the name of a baseline such as ``"right"``, or a list of trees: `Tree`
    objects, nltk trees or strings in brackets. ``options`` are ``conventions``, ``max_length`` and the other fields of
    `EvaluationPlan`. Raises SynparseError if something cannot be scored.

    >>> [report] = evaluate("sample", "right", conventions=["on-lstm"]).scores
    >>> round(report.value, 1)
    39.6
    """
    from induce.parsing.systems import evaluate_systems

    return evaluate_systems(gold, systems, **options)


def draw(what: Any, *others: Any, gold: Any = ()) -> Drawing:
    """Pictures of trees, sentences or pairs of words and heads, which a notebook shows; ``save(path)`` writes a file.

    A string is a tree in brackets, or a sentence that the default model parses. ``others`` are analyses of the same
    sentences by other systems, ``gold`` the analyses that all are compared with. Raises SynparseError if the words of
    gold differ.

    >>> print(draw((["the", "cat", "sat"], [1, 2, -1])).to_latex().splitlines()[0])
    \\begin{dependency}
    """
    from treebank.draw.notebook import draw as drawn

    if isinstance(what, str) and not what.lstrip().startswith("("):
        what = list(load().parse(what))
    return drawn(what, *others, gold=gold)


def report(*runs: str | os.PathLike[str], gold: Any = None, **options: Any) -> str:
    """The page of HTML that ``synparse report`` writes about these runs.

    ``gold`` is a path, a name such as ``"wsj10"``, or a `Treebank`. ``options`` are fields of `ReportPlan`: ``text``,
    ``baselines``, ``conventions``, ``max_length``, ``pictures``, ``title``.
    """
    from induce.reporting.report import Report, ReportPlan

    return Report(ReportPlan(runs=[str(run) for run in runs], gold=gold, **options)).html()


def read(path: str) -> Iterator[Sentence]:
    """The sentences of a text or a treebank, whatever its format, with the annotation that it holds."""
    from treebank.io.read import read_sentences

    return read_sentences([path])


def main() -> None:
    """The command ``synparse``."""
    from cli.start import main as command

    command()


if __name__ == "__main__":
    main()

"""``synparse train``: a model of plain text."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from cli.options import default_run, device_option
from induce import registry
from treebank.errors import SynparseError, placed
from treebank.formats import expand

if TYPE_CHECKING:
    from induce.config import RunConfig
    from treebank.sentence import Treebank

MODELS = ("best", "last")  # the folders in a run's folder
FILES = ("checkpoint.json", "vocabulary.txt", "weights.safetensors")  # what these hold
SUFFIXES = ("", ".new", ".old")  # the last two only while one of them is written


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option("--model", metavar="NAME", help=f"The model: {', '.join(registry.MODELS)}; onlstm by default.")
@click.option("--task", metavar="NAME", default="", help="Learn a task instead of text: listops or logic.")
@click.option("--preset", metavar="NAME", help="A named set of settings, such as onlstm-small or onlstm-ptb.")
@click.option(
    "--set", "settings", multiple=True, metavar="TABLE.KEY=VALUE", help="Change one setting; may be repeated."
)
@click.option(
    "--trees",
    metavar="TREEBANK",
    help="Trees that onlstm-syd and prpn-syd learn from, beside TEXT: a file, folder or glob, or a name such as "
    "wsj-train.",
)
@click.option("--dev", multiple=True, metavar="FILE", help="Development text; otherwise a share of TEXT is set aside.")
@click.option("--tokenize", is_flag=True, help="TEXT is not tokenised: split it into sentences and words.")
@click.option("-o", "--output", "run", metavar="RUN", help="The folder to write, ./synparse-model by default.")
@click.option("--resume", is_flag=True, help="Go on with the run in RUN.")
@click.option("--overwrite", is_flag=True, help="Replace the run in RUN.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Short for --set train.seed=N.")
@click.option("--max-minutes", type=click.FloatRange(min=0, min_open=True), metavar="M", help="Stop after M minutes.")
@device_option
@click.pass_context
def train(context: click.Context, text: tuple[str, ...], run: str | None, **options: Any) -> None:
    """Train a model on plain text: one sentence a line, words separated by spaces.

    TEXT are files, folders, patterns or - for standard input; treebanks are read for their words only, unless they are
    named by --trees. Without TEXT the model learns from the built-in sample. With --task, TEXT are files in the
    published format of that task, and without TEXT expressions are generated. Ctrl-C stops and keeps the model;
    --resume goes on.
    """
    if options["resume"] and options["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other")
    if options["max_minutes"] is not None and not options["max_minutes"] > 0:  # NaN is neither
        raise click.UsageError("--max-minutes: give a number of minutes above 0")
    folder = Path(run or default_run())
    resume = options["resume"] and _resumable(folder, begin=bool(text))
    stored: dict[str, Any] = {}
    if resume:
        config, stored = _stored(folder, options)
        text = text or tuple(stored.get("texts", ()))
    else:
        config = _resolve(text, options)
        expand([*text, *options["dev"]])  # a misspelt path is told before a folder is made
    dev = options["dev"] or tuple(stored.get("development_texts", ()))
    tokenize = options["tokenize"] or bool(stored.get("tokenize"))
    trees = options["trees"] or stored.get("trees", {}).get("name")
    _check_trees(config, bool(text), trees)
    treebank = _treebank(config, text, trees)
    if not resume:
        _check_free(folder, options["overwrite"])
    training, development = _read(config, text, dev, tokenize, treebank)

    from cli.progress import shown
    from induce.parsing.parser import choose_device
    from induce.training.loop import Finished, Trainer

    facts: dict[str, Any] = {"texts": list(text), "development_texts": list(dev), "tokenize": tokenize}
    if treebank:
        about = {"name": trees or "sample", "note": treebank.note, "kind": config.data.trees}
        facts["trees"] = {**about, "sentences": len(treebank)}
    trainer = Trainer(
        config, training, development, folder, device=choose_device(options["device"]), facts=facts, resume=resume
    )
    if not resume:
        _clear(folder)
    with _stop_on_signal() as stop:
        for event in shown(trainer.train(max_minutes=options["max_minutes"], stop=stop)):
            if isinstance(event, Finished) and event.reason == "interrupted":
                context.exit(130)


def _resolve(text: Sequence[str], options: dict[str, Any]) -> RunConfig:
    """The settings that the options ask for; --seed counts as the last --set."""
    from induce.config import resolve

    settings = list(options["settings"])
    if options["seed"] is not None:
        settings.append(f"train.seed={options['seed']}")
    sample, task = not text and not options["trees"], options["task"]
    return resolve(model=options["model"], preset=options["preset"], settings=settings, sample=sample, task=task)


def _check_trees(config: RunConfig, text: bool, trees: str | None) -> None:
    """Raises SynparseError for trees without a model that learns from them, or the other way round."""
    from induce.registry import SUPERVISED

    name = config.model_name
    if trees and name not in SUPERVISED:
        raise SynparseError(f"model {name!r} learns from plain text alone; --trees is for {' and '.join(SUPERVISED)}")
    if text and not trees and name in SUPERVISED:
        raise SynparseError(f"model {name!r} also learns from trees; give them with --trees TREEBANK")


def _resumable(folder: Path, *, begin: bool) -> bool:
    """Whether ``folder`` holds a state to go on from; if not and ``begin``, says that training starts anew."""
    from induce.checkpoint import recover

    recover(folder / "last")
    if (folder / "last").exists():
        return True
    if (folder / "best").exists():
        raise SynparseError(f"{folder}: holds a model but no state to go on from; train anew with --overwrite")
    if not begin:
        raise SynparseError(f"{folder}: there is no run to go on with; to begin one, leave out --resume")
    click.echo(f"{folder}: nothing to resume, so training starts from the beginning", err=True)
    return False


def _stored(folder: Path, options: dict[str, Any]) -> tuple[RunConfig, dict[str, Any]]:
    """Settings and facts of the run in ``folder``. Only how long to train may change."""
    from induce.checkpoint import find, read
    from induce.config import changed

    given = [name for name in ("model", "preset", "seed") if options[name] is not None]
    given += ["task"] if options["task"] else []
    if given:
        raise click.UsageError(f"--{given[0]} cannot change on --resume: the run keeps its settings")
    checkpoint = read(find(folder, ("last",)))
    for change in options["settings"]:
        if change.partition("=")[0].strip() != "train.epochs":
            raise click.UsageError(f"--set {change}: on --resume only train.epochs can change")
    return changed(checkpoint.config, options["settings"]), dict(checkpoint.facts)


def _check_free(folder: Path, overwrite: bool) -> None:
    """Raises SynparseError if there is a run in ``folder`` that was not to be replaced, or it cannot be written."""
    there = [folder / (name + suffix) for name in MODELS for suffix in SUFFIXES if (folder / (name + suffix)).exists()]
    if there and not overwrite:
        raise SynparseError(
            f"{folder}: there is a model already; go on with --resume, replace it with --overwrite, "
            "or name another folder with -o"
        )
    for path in there:
        if not path.is_dir() or (any(path.iterdir()) and not any((path / name).exists() for name in FILES)):
            raise SynparseError(f"{path}: this is no model, so it is not overwritten; name another folder with -o")
    if folder.is_file():
        raise SynparseError(f"{folder}: this is a file; name a folder with -o")
    folder.mkdir(parents=True, exist_ok=True)
    with placed(folder), TemporaryFile(dir=folder):
        pass


def _clear(folder: Path) -> None:
    """Remove the run in ``folder``, and nothing else."""
    from shutil import rmtree

    for name in MODELS:
        for suffix in SUFFIXES:
            rmtree(folder / (name + suffix), ignore_errors=True)
    (folder / "log.jsonl").unlink(missing_ok=True)


def _treebank(config: RunConfig, text: Sequence[str], trees: str | None) -> Treebank | None:
    """What the model learns trees from, if it does: the one named, or the built-in sample where there is no text."""
    from induce.registry import SUPERVISED
    from treebank.catalog import load_whole
    from treebank.sample import sample_treebank

    if config.model_name not in SUPERVISED:
        return None
    if trees in (None, "sample") and not text:
        return sample_treebank("train")
    found = sample_treebank("train") if trees == "sample" else load_whole(str(trees))
    for sentence in found.sentences:
        if sentence.tree is None:
            raise SynparseError(f"{sentence.place}: this sentence has no tree to learn from")
    return found


def _read(
    config: RunConfig, text: Sequence[str], dev: Sequence[str], tokenize: bool, treebank: Treebank | None
) -> tuple[Any, Any]:
    """Training and development text, normalised, without any annotation but the trees of ``treebank``; or examples."""
    if config.data.task:
        from induce.tasks.examples import load_examples

        return load_examples(config.data, text, dev)
    from dataclasses import replace
    from itertools import chain

    from induce.data.batching import read_corpora
    from induce.data.supervision import supervised
    from treebank.formats import read_sentences
    from treebank.sample import sample_treebank

    recipe, unit = config.data.normalization, config.data.unit
    sample = not text and (treebank is None or treebank.name == "sample-train")
    plain = () if not text else read_sentences(text, tokenize=tokenize)
    if treebank is None:
        sentences = sample_treebank("train").sentences if sample else plain
    else:
        given = supervised(treebank.sentences, config.data, seed=config.train.seed)
        sentences = chain((replace(one, tree=None) for one in plain), given)
    share = 0.0 if dev or sample else config.data.development_share
    learns = treebank is not None
    corpora = read_corpora(sentences, recipe, unit=unit, development_share=share, with_trees=learns)
    if dev:
        development, _ = read_corpora(read_sentences(dev, tokenize=tokenize), recipe, unit=unit)
        if not development.words:
            raise SynparseError(f"{' '.join(dev)}: the development text holds no words")
    elif sample:
        development, _ = read_corpora(sample_treebank("dev").sentences, recipe, unit=unit)
    else:
        return corpora
    return corpora[0], development


@contextmanager
def _stop_on_signal() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C or SIGTERM came; only a second Ctrl-C does not wait for the step."""
    came: list[int] = []
    told: list[bool] = []

    def note(number: int, frame: object) -> None:
        if came and number == signal.SIGINT:
            raise KeyboardInterrupt
        came.append(number)

    def stop() -> bool:
        if came and not told:  # not in the handler, which may interrupt another line of output
            told.append(True)
            print("stopping, and keeping the model …", file=sys.stderr, flush=True)  # above the bar, if there is one
        return bool(came)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

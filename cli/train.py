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
from treebank.errors import SynparseError, placed
from treebank.formats import expand

if TYPE_CHECKING:
    from induce.config import RunConfig

MODELS = ("best", "last")  # the folders in a run's folder
FILES = ("checkpoint.json", "vocabulary.txt", "weights.safetensors")  # what these hold
SUFFIXES = ("", ".new", ".old")  # the last two only while one of them is written


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option("--model", metavar="NAME", help="The model: onlstm (the default) or prpn.")
@click.option("--task", metavar="NAME", default="", help="Learn a task instead of text: listops or logic.")
@click.option("--preset", metavar="NAME", help="A named set of settings, such as onlstm-small or onlstm-ptb.")
@click.option(
    "--set", "settings", multiple=True, metavar="TABLE.KEY=VALUE", help="Change one setting; may be repeated."
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

    TEXT are files, folders, patterns or - for standard input; treebanks are read for their words only. Without TEXT the
    model learns from the built-in sample. With --task, TEXT are files in the published format of that task, and without
    TEXT expressions are generated. Ctrl-C stops and keeps the model; --resume goes on.
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
        _check_free(folder, options["overwrite"])
    dev = options["dev"] or tuple(stored.get("development_texts", ()))
    tokenize = options["tokenize"] or bool(stored.get("tokenize"))
    training, development = _read(config, text, dev, tokenize)

    from cli.progress import shown
    from induce.parser import choose_device
    from induce.training.loop import Finished, Trainer

    facts = {"texts": list(text), "development_texts": list(dev), "tokenize": tokenize}
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
    task = options["task"]
    return resolve(model=options["model"], preset=options["preset"], settings=settings, sample=not text, task=task)


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


def _read(config: RunConfig, text: Sequence[str], dev: Sequence[str], tokenize: bool) -> tuple[Any, Any]:
    """Training and development text, normalised, without any annotation; of a task, its examples."""
    if config.data.task:
        from induce.tasks.examples import load_examples

        return load_examples(config.data, text, dev)
    from induce.batching import read_corpora
    from treebank.formats import read_sentences

    recipe, share = config.data.normalization, config.data.development_share
    if not text:
        from treebank.sample import sample_treebank

        training, _ = read_corpora(sample_treebank("train").sentences, recipe)
        development, _ = read_corpora(sample_treebank("dev").sentences, recipe)
    elif not dev:
        return read_corpora(read_sentences(text, tokenize=tokenize), recipe, development_share=share)
    else:
        training, _ = read_corpora(read_sentences(text, tokenize=tokenize), recipe)
    if dev:
        development, _ = read_corpora(read_sentences(dev, tokenize=tokenize), recipe)
        if not development.words:
            raise SynparseError(f"{' '.join(dev)}: the development text holds no words")
    return training, development


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

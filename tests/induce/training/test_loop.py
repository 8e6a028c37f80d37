"""Runs that are stopped, killed and resumed, and their files."""

from __future__ import annotations

import inspect
import json
import math
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from induce.data.corpus import read_corpora
from induce.data.loaders import MASKINGS, MaskedLoader
from induce.data.vocabulary import Vocabulary
from induce.layers.products import MKL, ONEDNN
from induce.storage import checkpoint
from induce.storage.checkpoint import Check
from induce.training import loop
from induce.training.events import Event
from induce.training.prepare import prepare_run
from induce.training.request import RunRequest
from tests.support.fork_server import Call
from tests.support.tiny import (
    SETTINGS,
    assert_equal_weights,
    corpora,
    make_trainer,
    sentences,
    settings,
    stop_after,
    train,
    trainer,
    weights,
)
from treebank.base.errors import NotANumberError, SynparseError
from treebank.core.sentence import Sentence

KILLS = int(os.environ.get("SYNPARSE_KILLS", "5"))  # set it to 20 for a thorough run


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "nt-asgd"])
def test_stopped_run_is_resumed_bit_by_bit(tmp_path: Path, optimizer: str) -> None:
    """The run is stopped in its first step and in two later epochs."""
    changes = {
        "adam": ["optimizer.learning_rate=0.01"],
        "sgd": ["optimizer.learning_rate=1.0"],
        "nt-asgd": ["optimizer.learning_rate=1.0", "optimizer.nonmonotone=1"],
    }
    config = settings("onlstm", f"optimizer.name={optimizer}", *changes[optimizer], "train.epochs=4")
    train(config, tmp_path / "whole")
    run, resumed_at = tmp_path / "cut", []
    for steps in (1, 11, 11, 10**9):
        first, *_, finished = trainer(config, run, resume=run.exists()).train(stop=stop_after(steps))
        assert finished.reason == ("interrupted" if steps < 10**9 else "epochs")
        resumed_at.append(first.resumed_at)
    assert 0 < resumed_at[1] < resumed_at[2] < resumed_at[3]
    assert_equal_weights(tmp_path / "whole", run)


def test_masked_sentences_come_in_a_new_order_in_each_pass_and_are_checked_alike() -> None:
    config = settings("udgn")
    text = corpora(config)[0]
    corpus = text.encode(Vocabulary.from_counts(text.word_counts(), size=100, minimum_count=1))
    loader = MaskedLoader(corpus, config.loader, device="cpu")
    rng = np.random.RandomState(1)
    passes = [[step.batch.tokens for step in loader.steps(rng, 0)] for _ in range(2)]
    for result in passes:
        assert sum(int((tokens > 0).sum()) for tokens in result) == text.words
        assert max(int((tokens > 0).sum()) for tokens in result) < config.loader.batch_words
    first, second = ([hash(tuple(tokens.flatten().tolist())) for tokens in result] for result in passes)
    assert first != second
    assert sorted(first) == sorted(second)
    checks = [list(loader.check()) for _ in range(2)]
    assert len(checks[0]) == MASKINGS * len(first)
    for item, other in zip(*checks, strict=True):
        assert torch.equal(item.uniforms, other.uniforms)
    assert not torch.equal(checks[0][0].uniforms, checks[0][len(first)].uniforms)  # one batch, masked in another way


def test_run_killed_at_random_moments_is_resumed_bit_by_bit(tmp_path: Path, warm: str) -> None:
    """Kill -9 in the middle of anything (writing included), again and again, then compare."""
    program = (
        "import sys; from pathlib import Path; from tests.support.tiny import settings, trainer; "
        "from induce.training import loop; import torch; torch.set_num_threads(1); loop.SAVE_SECONDS = 0.02; "
        "run = Path(sys.argv[1]); resume = (run / 'resume.safetensors').exists(); "
        "print('ready', flush=True); "
        "[None for _ in trainer(settings('onlstm', 'train.epochs=20'), run, resume=resume).train()]; "
        "print('done', flush=True)"
    )
    assert Call(warm, [str(tmp_path / "whole")], program=program).wait() == 0
    draw, kills = random.Random(7), 0
    for _ in range(60 + KILLS):
        reading, writing = os.pipe()
        process = Call(warm, [str(tmp_path / "cut")], program=program, streams=(0, writing, 2))
        os.close(writing)
        with open(reading, encoding="utf-8") as lines:
            lines.readline()
            if kills < KILLS:
                time.sleep(draw.uniform(0.02, 0.25))
                with suppress(ProcessLookupError):  # the run has ended
                    os.kill(process.pid, signal.SIGKILL)
            rest = lines.read()
        code = process.wait()
        if "done" in rest:
            break
        kills += code == -signal.SIGKILL
    assert kills >= min(3, KILLS), "the run ended before it could be killed"
    assert_equal_weights(tmp_path / "whole", tmp_path / "cut")
    logs = [[json.loads(line) for line in (tmp_path / run / "log.jsonl").open()] for run in ("whole", "cut")]
    steps = [[event["step"] for event in log if event["event"] == "check"] for log in logs]
    assert steps[0] == steps[1]


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    """Folder and events of a run of three epochs, which tests only read."""
    run = tmp_path_factory.mktemp("complete") / "run"
    return run, train(settings("onlstm"), run)


def test_every_check_is_logged_once(complete: tuple[Path, list[Event]]) -> None:
    run, events = complete
    logged = [json.loads(line)["event"] for line in (run / "log.jsonl").open()]
    assert logged.count("check") == sum(isinstance(event, Check) for event in events) == 3
    assert logged[0] == "started"
    assert logged[-1] == "finished"


@pytest.mark.parametrize(
    ("reason", "changes"),
    [("epochs", ()), ("no more progress", ("train.epochs=50", "optimizer.learning_rate=0.2", "optimizer.decays=1"))],
)
def test_resuming_a_finished_run_changes_nothing(tmp_path: Path, reason: str, changes: tuple[str, ...]) -> None:
    run, config = tmp_path / "run", settings("onlstm", *changes)
    whole = train(config, run)
    before = weights(run)
    started, finished = trainer(config, run, resume=True).train()
    assert (whole[-1].reason, finished.reason) == (reason, reason)
    assert (whole[-1].step, finished.step) == (started.resumed_at, started.resumed_at)
    for name, value in before.items():
        assert torch.equal(value, weights(run)[name])


def test_finished_run_is_resumed_with_more_epochs_bit_by_bit(
    tmp_path: Path, complete: tuple[Path, list[Event]]
) -> None:
    train(settings("onlstm", "train.epochs=1"), tmp_path / "cut")
    list(trainer(settings("onlstm"), tmp_path / "cut", resume=True).train())
    assert_equal_weights(complete[0], tmp_path / "cut")


def test_resuming_with_another_text_is_refused(complete: tuple[Path, list[Event]]) -> None:
    run, config = complete[0], settings("onlstm")
    training, development = corpora(config)
    for name, texts in (("training", (development, development)), ("development", (training, training))):
        with pytest.raises(SynparseError, match=f"the {name} text is not the one that this run began with"):
            make_trainer(config, *texts, run, device="cpu", resume=True)


def test_infinite_loss_is_reported(tmp_path: Path) -> None:
    explosive = (
        "optimizer.name=nt-asgd",
        "optimizer.learning_rate=1e6",
        "optimizer.weight_decay=1e3",
        "optimizer.clip=1e9",
    )
    config = settings("onlstm", *explosive)
    with pytest.raises(SynparseError, match=r"no longer a number at step \d+; lower optimizer.learning_rate"):
        train(config, tmp_path / "run")


def test_development_loss_that_is_nan_is_reported_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_a_number(*arguments: object) -> Iterator[int]:
        yield 0
        raise NotANumberError

    monkeypatch.setattr(loop, "score_text", not_a_number)
    with pytest.raises(SynparseError, match=r"the development loss is no longer a number .* train --resume"):
        train(settings("onlstm", "train.epochs=1"), tmp_path / "run")


def test_same_seed_same_weights_other_seed_others(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train(settings("onlstm", "train.epochs=1", f"train.seed={seed}"), tmp_path / name)
    item, same, other = (weights(tmp_path / name)["embedding.weight"] for name in "abc")
    assert torch.equal(item, same)
    assert not torch.equal(item, other)


def test_normalization_by_tags_ignores_foreign_tag_sets() -> None:
    foreign = [Sentence(("Das", "Haus", "steht", "."), ("ART", "NN", "VVFIN", "$."))] * 3
    assert read_corpora(foreign, "ptb")[0].words == 9
    penn = [Sentence(("%", "of", "it", "."), ("NN", "IN", "PRP", "."))] * 3  # a word by its tag, none by its letters
    assert read_corpora(penn, "ptb")[0].words == 9
    assert read_corpora(penn, "words")[0].words == 6


def test_resumed_run_uses_the_matrix_library_of_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "choose_library", lambda compute: ONEDNN)
    config = settings("onlstm", "train.epochs=2")
    train(config, tmp_path / "whole")
    assert checkpoint.read(tmp_path / "whole" / "resume.safetensors").facts.matrix_library == ONEDNN
    stops = iter(range(5))
    list(trainer(config, tmp_path / "cut").train(stop=lambda: next(stops, None) is None))
    monkeypatch.setattr(loop, "choose_library", lambda compute: MKL)
    list(trainer(config, tmp_path / "cut", resume=True).train())
    assert checkpoint.read(tmp_path / "cut" / "resume.safetensors").facts.matrix_library == ONEDNN
    assert_equal_weights(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize("name", ["npcfg", "onlstm"])
def test_two_frames_are_between_the_loop_and_the_loss(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = trainer(settings(name, "train.products=mkl"), tmp_path / "run")
    model, stacks = training.run.model, list[list[str]]()
    loss = model.loss

    def watched(batch: Any, state: Any = None) -> Any:
        stacks.append([frame.function for frame in inspect.stack(0)[1:]])
        return loss(batch, state)

    monkeypatch.setattr(model, "loss", watched)
    list(training.train(stop=stop_after(1)))
    assert stacks[0][:3] == ["step", "updates", "_learn"]


def test_trial_step_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers, buffers and gradients are as they were."""
    monkeypatch.setattr(loop, "choose_library", lambda compute: compute() or MKL)
    for name in ("npcfg", "onlstm", "prpn", "udgn"):
        train(settings(name, "train.epochs=1"), tmp_path / "tried" / name)
        train(settings(name, "train.epochs=1", "train.products=mkl"), tmp_path / "set" / name)
        assert_equal_weights(tmp_path / "tried" / name, tmp_path / "set" / name)


def test_last_model_is_kept_if_no_word_of_the_development_text_is_scored(tmp_path: Path) -> None:
    text, changes = [sentence.words for sentence in sentences(60)], (*SETTINGS["udgn"], "train.epochs=2")
    unknown = [("xyzzy", "qwerty", "plugh")]
    request = RunRequest(
        run=str(tmp_path / "run"), text=text, dev=unknown, model="udgn", settings=changes, device="cpu"
    )
    checks = [event for event in prepare_run(request).train() if isinstance(event, Check)]
    assert [(check.development_perplexity, check.best) for check in checks] == [(math.inf, True)] * 2
    assert "no word of the development text is scored" in checks[-1].note
    assert checkpoint.read(checkpoint.find(tmp_path / "run")).facts.step == checks[-1].step

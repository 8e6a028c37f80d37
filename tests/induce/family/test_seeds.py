"""Several seeds with one text in memory: the weights of each seed by itself, in copies, stopped and resumed."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from induce.family import seeds as family
from induce.family.seeds import StoredFamily, parse_seeds, train_family
from induce.storage.checkpoint import find, read
from induce.training import parallel
from induce.training.events import Finished, Progress
from induce.training.prepare import prepare_run
from induce.training.request import RunRequest
from tests.support.calls import Caller
from tests.support.model_files import MODEL, RESUME, weights_of
from tests.support.tiny import SETTINGS, sentences
from treebank.base.errors import SynparseError, UsageError
from treebank.base.metadata import write_metadata

TEXT = [sentence.words for sentence in sentences(60)]
SHORT = [*SETTINGS["onlstm"], "train.epochs=1", "parse.layer=1"]


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in TEXT), encoding="utf-8")
    return str(path)


def request(run: Path, text: str, **options: object) -> RunRequest:
    return RunRequest(run=str(run), text=(text,), settings=SHORT, device="cpu", **options)  # type: ignore[arg-type]


def weights(run: Path) -> bytes:
    return weights_of(find(run))


@pytest.mark.parametrize("count", [1, 2])
def test_each_seed_is_as_by_itself(count: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "worker_count", lambda device: count)
    events = list(train_family(request(tmp_path / "family", text), [3, 5, 8]))
    ends = Counter(name for name, event in events if isinstance(event, Finished))
    assert ends == {"seed 3": 1, "seed 5": 1, "seed 8": 1}
    list(prepare_run(request(tmp_path / "alone", text, seed=5)).train())
    assert weights(tmp_path / "family" / "seed-5") == weights(tmp_path / "alone")
    assert weights(tmp_path / "family" / "seed-3") != weights(tmp_path / "alone")
    assert read(find(tmp_path / "family" / "seed-8")).config.train.seed == 8


def test_seed_without_training_state_cannot_be_resumed(text: str, tmp_path: Path) -> None:
    list(train_family(request(tmp_path / "family", text), [3, 5]))
    (tmp_path / "family" / "seed-5" / RESUME).unlink()
    with pytest.raises(SynparseError, match="seed-5: holds a model but no state to resume from"):
        list(train_family(replace(request(tmp_path / "family", text), resume=True), []))


def test_it_can_be_stopped_while_a_text_is_parsed(text: str, tmp_path: Path) -> None:
    list(prepare_run(request(tmp_path / "teacher", text)).train())
    requested = replace(request(tmp_path / "family", text), preset="npcfg-small", settings=SETTINGS["npcfg"])
    requested = replace(requested, teachers=(str(tmp_path / "teacher"),))
    with pytest.raises(KeyboardInterrupt):
        list(train_family(requested, [1, 2], stop=lambda: True))
    assert not (tmp_path / "family").exists()


def test_stopped_family_is_resumed_with_the_remaining_seeds(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "worker_count", lambda device: 2)
    run, names_seen = tmp_path / "family", list[object]()
    for item in train_family(request(run, text), [1, 2, 3], stop=lambda: bool(names_seen)):
        names_seen.append(item)
    assert not (run / "seed-3").exists()
    again = RunRequest(run=str(run), resume=True, device="cpu")
    ends = [(name, event.reason) for name, event in train_family(again, []) if isinstance(event, Finished)]
    assert sorted(ends) == [("seed 1", "epochs"), ("seed 2", "epochs"), ("seed 3", "epochs")]
    list(train_family(request(tmp_path / "whole", text), [1, 2, 3]))
    for seed in (1, 2, 3):
        assert weights(run / f"seed-{seed}") == weights(tmp_path / "whole" / f"seed-{seed}")


def test_dead_process_is_reported(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(family, "worker_count", lambda device: 2)
    monkeypatch.setattr(parallel, "prepare_run", lambda *arguments, **options: os._exit(9))
    with pytest.raises(SynparseError, match=r"seed [12]: a worker process ended with code 9; continue with --resume"):
        list(train_family(request(tmp_path / "family", text), [1, 2]))


def test_error_of_a_seed_is_reported(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "worker_count", lambda device: 2)
    (tmp_path / "family" / "seed-2" / MODEL).mkdir(parents=True)
    with pytest.raises(SynparseError, match=r"seed 2: .*not a model"):
        list(train_family(request(tmp_path / "family", text, overwrite=True), [1, 2]))


def test_seeds_join_a_resumed_family(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "worker_count", lambda device: 1)
    run = tmp_path / "family"
    list(train_family(request(run, text), [1]))
    before = weights(run / "seed-1")
    again = RunRequest(run=str(run), resume=True, device="cpu")
    list(train_family(again, [3]))
    ends = [name for name, event in train_family(again, []) if isinstance(event, Finished)]
    assert ends == ["seed 1", "seed 3"]
    assert weights(run / "seed-1") == before


def describe(run: Path, text: str, *seeds: int) -> None:
    """Write the description of a family without its runs."""
    run.mkdir()
    stored = StoredFamily(request=request(run, text).stored(), seeds=seeds)
    write_metadata(run / "family.json", stored, family.FORMAT)


def test_seeds_do_not_join_another_training(text: str, tmp_path: Path) -> None:
    run = tmp_path / "family"
    for seed in (1, 2):
        (run / f"seed-{seed}").mkdir(parents=True)
    for overwrite, names in ((False, "seed-1, seed-2"), (True, "seed-1")):
        with pytest.raises(
            SynparseError, match=f"holds {names}; continue or add seeds with --resume, name all of them"
        ):
            list(train_family(request(run, text, overwrite=overwrite), [2, 3]))
    assert not (run / "family.json").exists()


@pytest.mark.parametrize(("text", "seeds"), [("1-3", [1, 2, 3]), ("7", [7]), ("4,1-2", [4, 1, 2])])
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "3-1", "a", "1,1", "1-", "-1", "1-99999"])
def test_no_seeds(text: str) -> None:
    with pytest.raises(SynparseError, match="seeds"):
        parse_seeds(text)


def test_progress_comes_from_copies(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "worker_count", lambda device: 2)
    requested = replace(request(tmp_path / "family", text), settings=[*SHORT, "loader.batch_size=2"])
    events = train_family(requested, [1, 2])
    assert {name for name, event in events if isinstance(event, Progress)} == {"seed 1", "seed 2"}


def test_family_is_resumed_with_equal_options_only(text: str, tmp_path: Path) -> None:
    run = tmp_path / "family"
    describe(run, text, 1)
    resumed = request(run, text, resume=True)
    with pytest.raises(UsageError, match=r"--model cannot change on --resume: the run keeps none"):
        list(train_family(replace(resumed, model="prpn"), []))
    with pytest.raises(UsageError, match=r"--dev cannot change on --resume: the run keeps none"):
        list(train_family(replace(resumed, dev=("dev.txt",)), []))
    assert {name for name, _ in train_family(resumed, [])} == {"seed 1"}


def test_seed_joins_no_family_of_another_text(text: str, tmp_path: Path) -> None:
    requested = request(tmp_path / "family", text)
    list(train_family(requested, [1]))
    other = tmp_path / "other.txt"
    other.write_text(Path(text).read_text(encoding="utf-8") + "a cat ran\n" * 9, encoding="utf-8")
    resumed = replace(requested, resume=True)
    with pytest.raises(SynparseError, match="family: the training text is not the one"):
        list(train_family(replace(resumed, text=(str(other),)), [2]))
    Path(text).write_text(other.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(SynparseError, match="family: the training text is not the one"):
        list(train_family(resumed, [2]))


def test_seed_of_a_resumed_family_is_refused(call: Caller, text: str, tmp_path: Path) -> None:
    run = tmp_path / "family"
    describe(run, text, 1)
    assert "the models of several seeds are named by --seeds" in call.usage("train", "--resume", "-o", run, "--seed", 6)


def test_more_epochs_can_be_asked_of_a_resumed_family(text: str, tmp_path: Path) -> None:
    run = tmp_path / "family"
    list(train_family(request(run, text), [1, 2]))
    shutil.rmtree(run / "seed-2")
    resumed = replace(request(run, text, resume=True), settings=("train.epochs=2",))
    list(train_family(resumed, []))
    epochs = [read(find(run / name)).config.train.epochs for name in ("seed-1", "seed-2")]
    assert epochs == [2, 2]
    list(train_family(replace(resumed, settings=()), []))
    with pytest.raises(UsageError, match=r"--set model\.layers=3: on --resume only train\.epochs"):
        list(train_family(replace(resumed, settings=("model.layers=3",)), []))


def test_random_trees_are_the_same_for_all_seeds(tmp_path: Path) -> None:
    trees = tmp_path / "gold.mrg"
    trees.write_text("(S (N a) (X (N b) (X (N c) (N d))))\n" * 20, encoding="utf-8")
    settings = (*SETTINGS["onlstm-syd"], "train.epochs=1", "data.trees=random")
    new = RunRequest(run=str(tmp_path / "fam"), trees=str(trees), model="onlstm-syd", settings=settings, device="cpu")
    list(train_family(new, [2]))
    list(train_family(replace(new, resume=True), [3]))
    alone = replace(new, run=str(tmp_path / "alone"), seed=3)
    list(prepare_run(alone).train())
    assert weights(tmp_path / "fam" / "seed-3") == weights(tmp_path / "alone")

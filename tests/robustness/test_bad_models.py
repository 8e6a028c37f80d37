"""Damaged, missing and existing models are reported in one line and are not changed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import TINY, Caller, reseal, sealed_json, toy_text
from tests.support.working_folder import contents, write

pytestmark = pytest.mark.usefixtures("working_folder")


def test_no_model(call: Caller, trained: Path) -> None:
    text = trained / "text.txt"
    hint = "train one with: synparse train -o"
    assert call.refusal("parse", "-m", "none", text) == f"none: there is no such model; {hint} none"
    remedy = "make it one with: synparse combine baseline:right -o FOLDER"
    assert call.refusal("draw", "-m", "baseline:right", text) == f"baseline:right: a baseline is not a model; {remedy}"
    problem = "file: not a packed model, or a damaged one (File is not a zip file); -m takes the folder of a model"
    assert call.refusal("info", "-m", write("file", "x")).startswith(problem)
    Path("empty").mkdir()
    assert call.refusal("extract", "-m", "empty", text) == f"empty: this folder holds no model; {hint} empty"
    call.result("data", "prepare", text, "-o", "corpus")
    remedy = "train a model on it with: synparse train corpus -o FOLDER"
    assert call.refusal("info", "-m", "corpus") == f"corpus: this is a prepared corpus; {remedy}"


def edit(**changes: Any) -> Callable[[bytes], bytes]:
    """A function that sets values of checkpoint.json, or deletes keys of value ``...`` (``a__b`` is in a table)."""

    def changed(content: bytes) -> bytes:
        document = json.loads(content)
        for key, value in changes.items():
            *tables, last = key.split("__")
            table = document
            for name in tables:
                table = table[name]
            if value is ...:
                del table[last]
            else:
                table[last] = value
        return sealed_json(document)

    return changed


JSON_CHANGES = [
    *(edit(format=99), edit(format=...), edit(settings=[]), edit(settings=...), edit(settings__data=[])),
    *(edit(settings__train__epochs="many"), edit(settings__train__new=1), edit(settings__loader__batch_size=0)),
    *(edit(settings__model__hidden_size="big"), edit(settings__model__hidden_size=20), edit(settings__model__new=1)),
    *(edit(settings__model__layers=...), edit(settings__model__chunk_size=5), edit(settings__model_name="onlstn")),
    *(edit(settings__parse__decoder="none"), edit(settings__parse__layer=9), edit(vocabulary_size=3)),
    *(edit(settings__data__normalization="word"), edit(files={}), edit(**{"files__weights.safetensors": ...})),
    *(edit(history=[1]), edit(training={}), edit(step="x"), edit(texts="a.txt")),
]


def cut(content: bytes) -> bytes:
    """The first half of a file."""
    return content[: len(content) // 2]


DAMAGES: list[tuple[str, Callable[[bytes], bytes | None]]] = [
    *(("checkpoint.json", change) for change in JSON_CHANGES),
    *(("checkpoint.json", lambda content, new=new: new) for new in (b"", b"[]", b"[" * 100_000, b"\xff\xfe", b"null")),
    ("vocabulary.txt", lambda content: content + b"more\n"),
    ("vocabulary.txt", lambda content: content.replace(b"<eos>", b"<end>")),
    ("vocabulary.txt", lambda content: content.replace(b"dog\n", b"cat\n")),
    *(
        (name, damage)
        for name in ("checkpoint.json", "vocabulary.txt", "weights.safetensors", "trainer.pt")
        for damage in (lambda content: None, cut, lambda content: b"\x80garbage\xff" * 99, lambda content: b"")
    ),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES, ids=[f"{i}-{name}" for i, (name, _) in enumerate(DAMAGES)])
def test_a_damaged_model(
    call: Caller, copy: Path, trained: Path, name: str, damage: Callable[[bytes], bytes | None]
) -> None:
    for folder in (copy / "best", copy / "last"):
        path = folder / name
        if path.exists():
            damaged = damage(path.read_bytes())
            path.unlink() if damaged is None else path.write_bytes(damaged)
    before = contents(copy)
    calls: list[tuple[object, ...]] = [("train", "--resume", "-o", copy)]
    if name != "trainer.pt":
        calls += [("parse", "-m", copy, trained / "text.txt"), ("extract", "-m", copy, trained / "text.txt")]
        calls += [("eval", "--gold", write("gold.mrg", "(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n"), "-m", copy)]
    if name in ("checkpoint.json", "vocabulary.txt"):
        calls += [("info", "-m", copy)]
    for arguments in calls:
        if arguments[0] == "info" and call(*arguments)[0] == 0:
            continue  # only the model itself can detect this
        message = call.refusal(*arguments)
        assert message.startswith(str(copy)), message
        assert len(message) < 600
    assert contents(copy) == before


def test_newer_format_is_refused(call: Caller, copy: Path) -> None:
    path = copy / "best" / "checkpoint.json"
    path.write_bytes(edit(format=99, synparse="7.0")(path.read_bytes()))
    message = call.refusal("info", "-m", copy)
    assert re.fullmatch(
        rf"{re.escape(str(path))}: format 99 is unknown to synparse [0-9.]+, which reads format 2; "
        r"it was written by synparse 7\.0",
        message,
    )


@pytest.mark.parametrize("command", [("parse", "text.txt"), ("info",)])
def test_damaged_best_model_is_not_replaced_by_the_last_one(call: Caller, copy: Path, command: tuple[str, ...]) -> None:
    write("text.txt", toy_text(3))
    path = copy / "best" / "checkpoint.json"
    path.write_bytes(b"")
    message = call.refusal(*command, "-m", copy)
    assert message == f"{path}: missing or empty; repair it, or remove {path.parent} to use the other model in {copy}"
    path.unlink()
    assert call.refusal(*command, "-m", copy) == message


def test_broken_link_to_a_model_is_reported(call: Caller, copy: Path, trained: Path) -> None:
    path = copy / "best" / "checkpoint.json"
    path.unlink()
    path.symlink_to("gone.json")
    message = f"{path}: this link leads nowhere; repair it, or remove {path.parent} to use the other model in {copy}"
    assert call.refusal("parse", "-m", copy, trained / "text.txt") == call.refusal("info", "-m", copy) == message
    shutil.rmtree(path.parent)
    call.result("parse", "-m", copy, trained / "text.txt")


def test_a_model_without_training(call: Caller, copy: Path, trained: Path) -> None:
    path = copy / "best" / "checkpoint.json"
    path.write_bytes(edit(step=0)(path.read_bytes()))
    message = call.refusal("parse", "-m", copy, trained / "text.txt")
    assert message == f"{copy}: this model has not been trained yet; resume with: synparse train --resume -o {copy}"


def test_weights_that_are_nan_are_refused(call: Caller, copy: Path, trained: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    path = copy / "best" / "weights.safetensors"
    weights = load_file(path)
    next(iter(weights.values())).view(-1)[0] = torch.nan
    save_file(weights, path)
    assert "differs from the saved file" in call.refusal("parse", "-m", copy, trained / "text.txt")
    reseal(path.parent)
    assert "contains weights that are not finite" in call.refusal("parse", "-m", copy, trained / "text.txt")


def test_a_layer_out_of_range(call: Caller, trained: Path) -> None:
    run, text = trained / "run", trained / "text.txt"
    problem = f"{run}: there is no layer 3; this 'onlstm' has layers 1 to 2"
    assert call.refusal("parse", text, "-m", f"{run}@layer=3") == problem
    problem = "english: there is no layer 9; this 'chart' has one set of trees, as layer 1"
    assert call.refusal("parse", text, "-m", "english@layer=9") == problem
    assert "layer cannot be 'x'" in call.refusal("extract", text, "-m", f"{run}@layer=x")
    assert "No such option" in call.usage("extract", text, "-m", run, "--layer", 1)
    message = call.refusal("train", trained / "text.txt", "-o", "new", "--set", "parse.layer=9", code=2)
    assert message == "setting parse.layer = 9: there is no layer 9; this 'onlstm' has layers 1 to 3"


def test_existing_model_is_not_replaced(call: Caller, copy: Path, trained: Path) -> None:
    before = contents(copy)
    assert "there is a model already; continue with --resume" in call.refusal("train", trained / "text.txt", "-o", copy)
    write("empty.txt", "\n")
    call.refusal("train", "empty.txt", "-o", copy, "--overwrite")  # training that cannot start replaces nothing
    call.refusal("train", "none.txt", "-o", copy, "--overwrite")
    call.refusal("train", trained / "text.txt", "-o", copy, "--overwrite", "--set", "model.hidden_size=33", code=2)
    write("other.txt", toy_text(150))
    message = call.refusal("train", "other.txt", "-o", copy, "--resume")
    assert "the training text is not the one that this run began with" in message
    assert "only train.epochs and optimizer.learning_rate can change" in call.usage(
        "train", "-o", copy, "--resume", "--set", "optimizer.decay=1"
    )
    assert "--seed cannot change on --resume" in call.usage("train", "-o", copy, "--resume", "--seed", "2")
    problem = call.refusal("train", "-o", copy, "--resume", "--set", "train.epochs=0", code=2)
    assert "train.epochs = 0 must lie" in problem
    assert contents(copy) == before


def test_other_folders_are_not_overwritten(call: Caller, trained: Path) -> None:
    Path("best").mkdir()
    write("best/photo.jpg", "mine")
    write("notes.txt", "mine, too")
    text = trained / "text.txt"
    assert "not a model, so it is not overwritten" in call.refusal("train", text, "-o", ".", "--overwrite")
    assert contents(Path()).keys() == {"best/photo.jpg", "notes.txt"}


def test_folder_contains_only_one_type_of_output(call: Caller, trained: Path) -> None:
    """Otherwise a command would use one of them and silently ignore the other."""
    text = trained / "text.txt"
    call.result("combine", trained / "run", "baseline:right", "-o", "vote")
    Path("seeds").mkdir()
    Path("parsed").mkdir()
    Path("job").mkdir()
    write("seeds/family.json", "{}")
    write("job/plan.json", "{}")
    write("parsed/synparse-batch.json", "{}")
    before = contents(Path())
    kinds = {"vote": "an ensemble", "seeds": "a family of seeds", "parsed": "parsed text", "job": "the job of a recipe"}
    for folder, kind in kinds.items():
        for more in ((), ("--overwrite",)):
            assert f"{folder}: this folder holds {kind}" in call.refusal("train", text, "-o", folder, *more)
    assert "holds a family of seeds" in call.refusal("combine", trained / "run", "-o", "seeds", "--overwrite")
    assert "holds an ensemble" in call.refusal("train", text, "-o", "vote", "--seeds", "1,2")
    assert "this folder holds a trained model" in call.refusal("train", text, "-o", trained / "run", "--seeds", "1,2")
    assert "this folder holds a trained model" in call.refusal("train", text, "-o", trained / "run", "--best")
    assert contents(Path()) == before


def test_nothing_to_resume(call: Caller, trained: Path) -> None:
    message = call.refusal("train", "--resume", "-o", "none")
    assert message == "none: there is no run to resume; to begin one, leave out --resume"
    assert call.refusal("task", "train", "listops", "--resume", "-o", "none") == message
    for option, job in (("--seeds=1,2", "family of seeds"), ("--best", "job")):
        message = call.refusal("train", "--resume", option, "-o", "none")
        assert message == f"none: there is no {job} to resume; to begin one, leave out --resume"
    assert not Path("none").exists()
    code, out, err = call("train", trained / "text.txt", "--resume", "-o", "new", *TINY)
    assert (code, out) == (0, "")
    assert err.startswith("new: nothing to resume, so training starts from the beginning\n")


def test_model_without_training_state_cannot_be_resumed(call: Caller, copy: Path) -> None:
    shutil.rmtree(copy / "last")
    problem = "holds a model but no state to resume from; train again with --overwrite, or delete this folder"
    assert call.refusal("train", "--resume", "-o", copy) == f"{copy}: {problem}"

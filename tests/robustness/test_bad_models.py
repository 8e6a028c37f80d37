"""Damaged, missing and existing models are reported in one line and are not changed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import TINY, Caller, toy_text
from tests.support.model_files import MODEL, RESUME, rewrite
from tests.support.working_folder import contents, write

pytestmark = pytest.mark.usefixtures("working_folder")


def test_no_model(call: Caller, trained: Path) -> None:
    text = trained / "text.txt"
    hint = "train one with: synparse train -o"
    assert call.refusal("parse", "-m", "none", text) == f"none: there is no such model; {hint} none"
    remedy = "make it one with: synparse combine baseline:right -o FOLDER"
    assert call.refusal("draw", "-m", "baseline:right", text) == f"baseline:right: a baseline is not a model; {remedy}"
    assert call.refusal("info", "-m", write("file", "x")).startswith("file: not a model of synparse")
    Path("empty").mkdir()
    assert call.refusal("extract", "-m", "empty", text) == f"empty: this folder holds no model; {hint} empty"
    shutil.copy(trained / "run" / MODEL, "empty/other.safetensors")
    assert call.refusal("info", "-m", "empty").endswith("name the file: -m empty/other.safetensors")
    Path("killed").mkdir()
    write("killed/.synparse-lock", "")
    assert "training has begun in this folder and has saved no model yet" in call.refusal("info", "-m", "killed")
    Path("job").mkdir()
    write("job/plan.json", "{}")
    assert "not finished; continue with: synparse train --resume -o job" in call.refusal("info", "-m", "job")
    call.result("data", "prepare", text, "-o", "corpus")
    remedy = "train a model on it with: synparse train corpus -o FOLDER"
    assert call.refusal("info", "-m", "corpus") == f"corpus: this is a prepared corpus; {remedy}"


def edit(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """A function that sets values of the header, or deletes keys of value ``...`` (``a__b`` is in a table)."""

    def change(content: dict[str, Any]) -> None:
        for key, value in changes.items():
            *tables, last = key.split("__")
            table = content
            for name in tables:
                table = table[name]
            if value is ...:
                del table[last]
            else:
                table[last] = value

    return change


CHANGES = [
    *(edit(format=99), edit(format="x"), edit(settings=[]), edit(settings=...), edit(settings__data=[])),
    *(edit(settings__train__epochs="many"), edit(settings__train__new=1), edit(settings__loader__batch_size=0)),
    *(edit(settings__model__hidden_size="big"), edit(settings__model__hidden_size=20), edit(settings__model__new=1)),
    *(edit(settings__model__layers=...), edit(settings__model__chunk_size=5), edit(settings__model_name="onlstn")),
    *(
        edit(settings__parse__decoder="none"),
        edit(settings__parse__layer=9),
        edit(settings__data__normalization="word"),
    ),
    *(edit(settings__parse__priors=[1.5]), edit(facts=...), edit(facts=[]), edit(facts__x=1)),
    *(edit(facts__history=[1]), edit(facts__training={}), edit(facts__step="x"), edit(facts__texts="a.txt")),
]
DAMAGES: list[Callable[[Path], Any]] = [
    *(lambda path, change=change: rewrite(path, content=change) for change in CHANGES),
    *(
        lambda path, words=words: rewrite(path, words="\n".join(words))
        for words in ([], ["<eos>"], ["<eos>", "<unk>", "a", "a"], ["<eos>", "<unk>", "a", "b"])
    ),
    lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    lambda path: path.write_bytes(b"\x80garbage\xff" * 99),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(path.read_bytes() + b"x"),
]


@pytest.mark.parametrize("number", range(len(DAMAGES)))
def test_a_damaged_model(call: Caller, copy: Path, trained: Path, number: int) -> None:
    for name in (MODEL, RESUME):
        DAMAGES[number](copy / name)
    before, gold = contents(copy), write("gold.mrg", "(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n")
    calls: list[tuple[object, ...]] = [("train", "--resume", "-o", copy), ("info", "-m", copy)]
    calls += [(name, "-m", copy, trained / "text.txt") for name in ("parse", "extract")]
    for arguments in (*calls, ("eval", "--gold", gold, "-m", copy)):
        if arguments[0] == "info" and call(*arguments)[0] == 0:
            continue  # only the model itself can detect this
        message = call.refusal(*arguments)
        assert message.startswith(str(copy)), message
        assert len(message) < 600
    assert contents(copy) == before


def test_missing_model_is_that_of_the_latest_state(call: Caller, copy: Path, trained: Path) -> None:
    """A training that is killed before its first check has no best model yet."""
    (copy / MODEL).unlink()
    call.result("parse", "-m", copy, trained / "text.txt")
    (copy / RESUME).unlink()
    assert "holds no model" in call.refusal("parse", "-m", copy, trained / "text.txt")


def test_newer_and_older_formats_are_refused(call: Caller, copy: Path) -> None:
    rewrite(copy / MODEL, content=edit(format=99, synparse="7.0"))
    message = call.refusal("info", "-m", copy)
    assert re.fullmatch(
        rf"{re.escape(str(copy / MODEL))}: format 99 is unknown to synparse [0-9.]+, which reads format 3; "
        r"it was written by synparse 7\.0; install a newer synparse",
        message,
    )
    for name in ("best/checkpoint.json", "checkpoint.json"):
        old = Path(name[:1], name)
        old.parent.mkdir(parents=True)
        old.write_text("{}")
        message = call.refusal("info", "-m", name[:1])
        assert message == (
            f"{name[:1]}: this model was written by an earlier version of synparse; train it again with --overwrite"
        )
    Path("old.synparse").write_bytes(b"PK\3\4" * 30)
    assert "old.synparse: not a model of synparse" in call.refusal("info", "-m", "old.synparse")


def test_damaged_best_model_is_not_replaced_by_the_last_one(call: Caller, copy: Path) -> None:
    path, text = copy / MODEL, write("text.txt", toy_text(3))
    path.write_bytes(b"")
    assert call.refusal("parse", "-m", copy, text).startswith(f"{path}: not a model of synparse")
    path.unlink()
    path.symlink_to("gone")
    message = f"{path}: this link leads nowhere; repair it, or remove it to use the other model in {copy}"
    assert call.refusal("parse", "-m", copy, text) == call.refusal("info", "-m", copy) == message


def test_a_model_without_training(call: Caller, copy: Path, trained: Path) -> None:
    rewrite(copy / MODEL, content=edit(facts__step=0))
    message = call.refusal("parse", "-m", copy, trained / "text.txt")
    assert message == f"{copy}: this model has not been trained yet; resume with: synparse train --resume -o {copy}"


def test_weights_that_are_nan_are_refused(call: Caller, copy: Path, trained: Path) -> None:
    def spoil(weights: dict[str, Any]) -> dict[str, Any]:
        next(iter(weights.values())).view(-1)[0] = float("nan")
        return weights

    rewrite(copy / MODEL, weights=spoil)
    assert "contains weights that are not finite" in call.refusal("parse", "-m", copy, trained / "text.txt")


def test_interrupted_training_is_reported(call: Caller, trained: Path) -> None:
    assert "interrupted" not in call.result("info", "-m", trained / "run")
    call("train", trained / "text.txt", "-o", "run", *TINY, "--max-minutes", "0.00001")
    for name in ("run", f"run/{MODEL}", f"run/{RESUME}"):
        assert "continue with: synparse train --resume -o run\n" in call.result("info", "-m", name)
    Path("run", RESUME).write_bytes(b"")
    assert f"state to resume from: run/{RESUME}: not a model" in call.result("info", "-m", "run")


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


def test_other_files_are_not_overwritten(call: Caller, trained: Path) -> None:
    Path(MODEL).mkdir()
    write(f"{MODEL}/photo.jpg", "mine")
    write("notes.txt", "mine, too")
    text = trained / "text.txt"
    assert "not a model, so it is not overwritten" in call.refusal("train", text, "-o", ".", "--overwrite")
    assert contents(Path()).keys() == {f"{MODEL}/photo.jpg", "notes.txt"}


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
            assert f"{folder}: this folder holds {kind}" in call.refusal(
                "train", text, "--model", "onlstm", "-o", folder, *more
            )
    assert "holds a family of seeds" in call.refusal("combine", trained / "run", "-o", "seeds", "--overwrite")
    assert "holds an ensemble" in call.refusal("train", text, "-o", "vote", "--model", "npcfg", "--seeds", "1,2")
    assert "this folder holds a trained model" in call.refusal(
        "train", text, "-o", trained / "run", "--model=npcfg", "--seeds=1"
    )
    assert "there is a model already" in call.refusal("train", text, "-o", trained / "run")
    assert contents(Path()) == before


def test_nothing_to_resume(call: Caller, trained: Path) -> None:
    message = call.refusal("train", "--resume", "-o", "none")
    assert message == "none: there is no run to resume; to begin one, leave out --resume"
    assert call.refusal("task", "train", "listops", "--resume", "-o", "none") == message
    message = call.refusal("train", "--resume", "--seeds=1,2", "-o", "none")
    assert message == "none: there is no family of seeds to resume; to begin one, leave out --resume"
    assert not Path("none").exists()
    code, out, err = call("train", trained / "text.txt", "--resume", "-o", "new", *TINY)
    assert (code, out) == (0, "")
    assert err.startswith("new: nothing to resume, so training starts from the beginning\n")


def test_model_without_training_state_cannot_be_resumed(call: Caller, copy: Path) -> None:
    (copy / RESUME).unlink()
    problem = "holds a model but no state to resume from; train again with --overwrite, or delete this folder"
    assert call.refusal("train", "--resume", "-o", copy) == f"{copy}: {problem}"

"""Unusual words, numbers and training states do not truncate text, print escape sequences or raise tracebacks."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from cli.output import open_output
from tests.support.calls import TINY, Caller, reseal, sealed_json
from tests.support.file_faults import limited_memory

pytestmark = pytest.mark.usefixtures("working_folder")


def test_two_calls_that_write_one_file() -> None:
    with open_output("trees.txt") as later:
        later("later")
        with open_output("trees.txt") as first:
            first("first")
            later("still later")
        assert Path("trees.txt").read_text() == "first\n"
    assert Path("trees.txt").read_text() == "later\nstill later\n"


def test_the_end_mark_as_a_word_of_the_text(call: Caller, model: Path) -> None:
    """An end-of-sentence token in the text does not end a sentence and is an unknown word."""
    Path("marks.txt").write_text("the <eos> dog\n<eos>\n")
    Path("words.txt").write_text("the qqq dog\nqqq\n")
    marks, words = (
        call.result("perplexity", "--per", "sentence", "-m", model, name) for name in ("marks.txt", "words.txt")
    )
    assert marks == words
    assert [line.split("\t")[1:] for line in marks.splitlines()] == [["3", "1"], ["1", "1"]]
    assert call.result("parse", "-m", model, "marks.txt").count("<eos>") == 2
    facts = [trained_on(call, f"the {word} dog saw a cat\n{word} a man saw\n" * 20) for word in ("<eos>", "qqq")]
    assert facts[0] == facts[1]


def trained_on(call: Caller, text: str) -> dict[str, int]:
    """Number of words in the training text."""
    Path("text.txt").write_text(text)
    few = ["--set", "data.minimum_count=1", "--set", "train.epochs=1"]
    call.result("train", "text.txt", "-o", "run", "--overwrite", *TINY, *few)
    training = json.loads(Path("run/best/checkpoint.json").read_bytes())["training"]
    return {name: training[name] for name in ("sentences", "words")}


def test_a_model_larger_than_all_memory(call: Caller, trained: Path) -> None:
    huge = ["--set", "model.hidden_size=1000000", "--set", "model.chunk_size=4"]
    with limited_memory(1 << 28):
        assert "memory" in call.refusal("train", trained / "text.txt", "-o", "run", *huge)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("position", value) for value in (7, None, [], {"step": "x"}, {"epoch": None}, {"history": 3}, {"step": -1})),
        *(("position", value) for value in ({"history": [3]}, {"history": [{}]}, {"seconds": math.nan})),
        *(("optimizer", value) for value in (None, [], {}, {"state": 1, "param_groups": 2})),
        *(("position", {"finished": "x"}), ("random", None), ("random", "x"), ("random", {}), ("random", {"torch": 1})),
        *(("state", value) for value in (1, [1], [[torch.zeros(1)]])),
    ],
)
def test_a_state_of_other_types(call: Caller, copy: Path, name: str, value: Any) -> None:
    path = copy / "last" / "trainer.pt"
    state = torch.load(path, weights_only=True)
    state[name] = {**state[name], **value} if isinstance(value, dict) and value and name == "position" else value
    torch.save(state, path)
    reseal(path.parent)
    assert "cannot be resumed" in call.refusal("train", "--resume", "-o", copy, "--set", "train.epochs=9")


class Touch:
    """An object whose pickle creates the file "executed" when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("executed"),)


@pytest.mark.parametrize("name", ["checkpoint.json", "vocabulary.txt", "weights.safetensors", "trainer.pt"])
def test_code_in_the_files_of_a_model_is_not_run(call: Caller, copy: Path, name: str) -> None:
    for path in copy.glob(f"*/{name}"):
        torch.save({"optimizer": Touch(), "random": {}}, path)
        if name != "checkpoint.json":
            reseal(path.parent)
    torch.load(io.BytesIO(path.read_bytes()), weights_only=False)
    Path("executed").unlink()  # the file is dangerous
    Path("in.txt").write_text("the dog saw a cat\n")
    call.refusal("train", "--resume", "-o", copy, "--set", "train.epochs=9")
    assert call("parse", "-m", copy, "in.txt")[0] == (name != "trainer.pt")
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    "command",
    [
        *(("extract",), ("extract", "--what", "vectors"), ("extract", "--what", "vectors", "-o", "vectors.npz")),
        *(("parse",), ("perplexity", "--format", "json"), ("perplexity", "--per", "word")),
    ],
    ids=" ".join,
)
def test_finite_weights_whose_output_is_nan_are_reported(call: Caller, copy: Path, command: tuple[str, ...]) -> None:
    path = copy / "best" / "weights.safetensors"
    save_file({name: (value * 1e38).clamp(-3e38, 3e38) for name, value in load_file(path).items()}, path)
    reseal(path.parent)
    Path("in.txt").write_text("the dog saw a cat\n")
    assert "is not a number" in call.refusal(*command, "in.txt", "-m", copy)


def test_escape_sequences_in_a_model(call: Caller, copy: Path) -> None:
    """A downloaded model cannot send escape sequences to the terminal."""
    path = copy / "best" / "checkpoint.json"
    facts = json.loads(path.read_bytes())
    facts["preset"] = facts["training"]["text"] = "\x1b[2Jmine\x07"
    facts["texts"] = ["\x1b]0;title\x07.txt"]
    facts["synparse"] = "\x1b[31m1"
    facts["settings"]["model"]["hidden_size"] = facts["settings"]["source"] = "\ud800"  # half a character
    path.write_bytes(sealed_json(facts))
    code, out, err = call("info", "-m", copy)
    assert code in (0, 1)
    assert not {"\x1b", "\x07"} & {*out, *err}

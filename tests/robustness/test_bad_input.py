"""Invalid input, settings and models are reported in one line with the correct exit code, and no data are lost."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from induce.training.run import MIN_WORDS
from tests.support.calls import PROGRAM, TINY, Caller, reseal, sealed_json, shell, toy_text

pytestmark = pytest.mark.usefixtures("working_folder")

TREES = "(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n(S (NP (NNS dogs)) (VP (VBP bark) (ADVP (RB now))))\n"


def write(name: str, content: str | bytes) -> str:
    """Write a file ``name`` with this content."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def contents(folder: Path) -> dict[str, str]:
    """Digests of all files below ``folder``."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# --- text and trees ---------------------------------------------------------------------------------------------------

BAD_FILES = [
    ("open.mrg", b"(S (NP (DT the))\n", "open.mrg:1: this tree is never closed; add the missing ')'"),
    ("closed.mrg", TREES.encode() + b"(S (A b)))\n", "closed.mrg:3: a ')' too many"),
    ("binary.txt", b"\x7fELF\x02\x01\x00\x00\n", "binary.txt:1: this is a binary file (it holds a NUL byte), not text"),
    ("png.txt", b"\x89PNG\r\n\x1a\n\x00\x00", "png.txt: this is a picture; save it as plain text (UTF-8) first"),
    ("word.txt", b"\xd0\xcf\x11\xe0\x00", "word.txt: this is a document of an office program; save it as plain text"),
    (
        "latin.txt",
        b"fine\nna\xefve\n",
        "latin.txt:2: invalid UTF-8 (0xef at byte 3 of the line, byte 8 of the file); if the file",
    ),
    ("broken.txt.gz", b"no gzip", "broken.txt.gz: this is not a .gz file, in spite of its name"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES, ids=[name for name, _, _ in BAD_FILES])
def test_files_without_text_are_refused(call: Caller, model: Path, name: str, content: bytes, message: str) -> None:
    write(name, content)
    trees_before = "(X (W fine))\n" if name == "latin.txt" else None
    assert call.refusal("train", name, "-o", "new").startswith(message)
    code, out, err = call("parse", "-m", model, name)
    assert code == 1
    assert err.startswith(f"synparse: {message}")
    assert err.count("\n") == 1
    if trees_before is not None:
        assert out == trees_before
    assert call.refusal("eval", "--gold", write("gold.mrg", TREES), name).startswith(name)


def test_predicted_or_gold_file_without_trees_is_refused(call: Caller) -> None:
    gold = write("gold.mrg", TREES)
    text = write("plain.txt", "the cat sat\ndogs bark now\n")
    assert "several words without brackets" in call.refusal("eval", "--gold", gold, text)
    assert call.refusal("eval", "--gold", text, gold).startswith("plain.txt:1: text outside of brackets: 'the cat sat'")
    assert (
        call.refusal("eval", "--gold", write("empty.mrg", ""), gold)
        == "empty.mrg: no sentence in this file has a tree or heads"
    )
    assert "0 trees for the 2 sentences of gold.mrg" in call.refusal("eval", "--gold", gold, write("none.txt", ""))


def test_predictions_that_do_not_match_name_both_files_and_lines(call: Caller) -> None:
    gold, lines = write("gold.mrg", TREES), TREES.splitlines(keepends=True)

    def refusal(text: str) -> str:
        return call.refusal("eval", "--gold", gold, write("p.txt", text))

    assert refusal(lines[0]) == "p.txt: 1 tree for the 2 sentences of gold.mrg; the one for gold.mrg:2 is missing"
    assert refusal(TREES + lines[0]).startswith("p.txt:3: an extra tree after the one for gold.mrg:2")
    assert refusal(TREES.replace("bark", "sing")).startswith(
        "p.txt:2: the words differ from gold.mrg:2: word 2 is 'sing'"
    )
    assert refusal(lines[1]).startswith("p.txt:1: the words differ from gold.mrg:1: word 1 is 'dogs', in gold 'the'")
    code, out, _ = call("eval", "--gold", gold, "p.txt", "--format", "json")
    assert (code, out) == (1, "")


@pytest.mark.parametrize(("text", "words"), [("", 0), ("\n \n", 0), (". , !\n", 0), ("One\n", 1), ("one word\n", 2)])
def test_too_little_to_learn_from(call: Caller, text: str, words: int) -> None:
    message = call.refusal("train", write("little.txt", text), "-o", "new")
    assert message.startswith(f"little.txt: {words} word{'s' * (words != 1)} to learn from")
    assert f"at least {MIN_WORDS} are needed" in message
    assert contents(Path("new")) == {}


def test_a_development_text_without_words(call: Caller, trained: Path) -> None:
    message = call.refusal("train", trained / "text.txt", "--dev", write("dev.txt", "\n"), "-o", "new")
    assert message == "dev.txt: the development text holds no words"


def test_missing_files(call: Caller, model: Path) -> None:
    assert call.refusal("train", "none.txt") == "none.txt: no such file or folder"
    assert call.refusal("parse", "-m", model, "none-*.txt") == "none-*.txt: no file matches this pattern"
    Path("empty").mkdir()
    assert call.refusal("parse", "-m", model, "empty") == "empty: this folder holds no file"
    assert call.refusal("decode", "none.jsonl") == "none.jsonl: no such file or folder"


# --- output -----------------------------------------------------------------------------------------------------------


def test_output_that_cannot_be_written(call: Caller, trained: Path) -> None:
    text, model = trained / "text.txt", trained / "run"
    write("file", "mine")
    Path("folder").mkdir()
    for command in (["parse", "-m", model, text], ["extract", "-m", model, text]):
        for folder in ("file", "none"):
            problem = f"{folder}/trees.txt: there is no folder {Path(folder).absolute()}; make it first, "
            assert call.refusal(*command, "-o", f"{folder}/trees.txt").startswith(problem)
        assert call.refusal(*command, "-o", "folder") == "folder: this is a folder; name a file to write"
    assert call.refusal("train", text, "-o", "file/run").startswith("file/run: Not a directory")
    assert call.refusal("train", text, "-o", "file") == "file: this is a file; name a folder with -o"
    assert contents(Path()) == {"file": hashlib.sha256(b"mine").hexdigest()}


def test_a_folder_without_permission(call: Caller, trained: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Path("closed").mkdir(mode=0o500)
    for arguments in (["train", trained / "text.txt", "-o", "closed/run"], ["train", "-o", "closed"]):
        assert "Permission denied" in call.refusal(*arguments)
    assert "Permission denied" in call.refusal("parse", "-m", trained / "run", trained / "text.txt", "-o", "closed/t")


def test_a_full_standard_output(trained: Path, warm: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    done = shell(f"$RUN parse -m {trained}/run {trained}/text.txt > /dev/full", trained, warm)
    assert (done.returncode, done.stderr) == (1, "synparse: the output: No space left on device\n")


def test_a_device_is_written_and_not_replaced(call: Caller, trained: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    arguments = ("parse", "-m", trained / "run", trained / "text.txt", "-o")
    assert call.refusal(*arguments, "/dev/full") == "/dev/full: No space left on device"
    assert call(*arguments, "/dev/null") == (0, "", "")
    assert Path("/dev/null").is_char_device()
    assert not Path("/dev/null.part").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB, all of which the model (about 100 KiB) and a filler can use."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("cannot mount a small disk here (needs root)")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path, *, leaving: int = 0) -> Path:
    """A file that takes all space but ``leaving`` bytes."""
    free = os.statvfs(disk)
    path = disk / "filler"
    path.write_bytes(b"x" * max(0, free.f_bavail * free.f_frsize - leaving))
    return path


def test_a_disk_that_fills_up_while_parsing(call: Caller, trained: Path, small_disk: Path) -> None:
    target = small_disk / "trees.txt"
    target.write_text("older trees\n")
    fill(small_disk, leaving=4096)
    message = call.refusal("parse", "-m", trained / "run", trained / "text.txt", "-o", target)
    assert message.startswith(f"{target}: No space left on device; the output written before the error is in {target}.")
    assert target.read_text() == "older trees\n"
    assert next(small_disk.glob("trees.txt.*.part")).stat().st_size > 0


def test_a_disk_that_fills_up_while_training(call: Caller, trained: Path, small_disk: Path) -> None:
    from tests.induce.training.test_training import assert_equal_weights

    text, run = trained / "text.txt", small_disk / "run"
    whole, more = ("--set", "train.epochs=2"), ("--set", "train.epochs=3")
    call.result("train", text, "-o", run, *TINY, *whole)
    before = contents(run / "best") | contents(run / "last")
    filler = fill(small_disk)
    code, out, err = call("train", "--resume", "-o", run, *more)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"synparse: {run}")
    assert err.endswith("No space left on device\n")
    assert contents(run / "best") | contents(run / "last") == before
    call.result("parse", "-m", run, text)
    filler.unlink()
    call.result("train", "--resume", "-o", run, *more)
    assert_equal_weights(run, trained / "run")


# --- models -----------------------------------------------------------------------------------------------------------


def test_no_model(call: Caller, trained: Path) -> None:
    text = trained / "text.txt"
    hint = "train one with: synparse train -o"
    assert call.refusal("parse", "-m", "none", text) == f"none: there is no such model; {hint} none"
    problem = "file: not a packed model, or a damaged one (File is not a zip file); -m takes the folder of a model"
    assert call.refusal("info", "-m", write("file", "x")).startswith(problem)
    Path("empty").mkdir()
    assert call.refusal("extract", "-m", "empty", text) == f"empty: this folder holds no model; {hint} empty"


def test_missing_model_leaves_earlier_output_unchanged(call: Caller, trained: Path) -> None:
    write("trees.txt", "older")
    write("trees.txt.part", "mine")
    call.refusal("parse", "-m", "none", trained / "text.txt", "-o", "trees.txt")
    assert (Path("trees.txt").read_text(), Path("trees.txt.part").read_text()) == ("older", "mine")


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
    *(edit(format=99), edit(format=...), edit(format="1")),
    *(edit(settings=[]), edit(settings=...), edit(settings=None), edit(settings={})),
    *(edit(settings__data=[]), edit(settings__data=...), edit(settings__train__epochs="many"), edit(settings__new=1)),
    *(edit(settings__train__new=1), edit(settings__loader__batch_size=0), edit(settings__model=[])),
    *(edit(settings__model__hidden_size="big"), edit(settings__model__hidden_size=20), edit(settings__model__new=1)),
    *(edit(settings__model__layers=...), edit(settings__model__chunk_size=5), edit(settings__model_name="onlstn")),
    *(edit(settings__parse__decoder="none"), edit(settings__parse__layer=9), edit(settings__parse__layer=1.5)),
    *(edit(settings__data__normalization="word"), edit(vocabulary_size=...), edit(vocabulary_size=3)),
    *(edit(history={}), edit(history=[1]), edit(training=[]), edit(training={}), edit(step="x"), edit(texts="a.txt")),
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
        calls += [("eval", "--gold", write("gold.mrg", TREES), "-m", copy)]
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
    problem = f"{run / 'best'}: there is no layer 3; this 'onlstm' has layers 1 to 2"
    assert call.refusal("parse", text, "-m", f"{run}@layer=3") == problem
    assert "layer cannot be 'x'" in call.refusal("extract", text, "-m", f"{run}@layer=x")
    assert "No such option" in call.usage("extract", text, "-m", run, "--layer", 1)
    message = call.refusal("train", trained / "text.txt", "-o", "new", "--set", "parse.layer=9")
    assert message == "setting parse.layer = 9: there is no layer 9; this 'onlstm' has layers 1 to 3"


# --- names and settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "--model", "onlsmt"), "there is no model 'onlsmt'; did you mean 'onlstm'?"),
        (("train", "--preset", "onlstm-smal"), "there is no preset 'onlstm-smal'; did you mean 'onlstm-small'?"),
        (("train", "--set", "train.epoch=3"), "did you mean 'epochs'?"),
        (("train", "--set", "trian.epochs=3"), "there is no table 'trian'; did you mean 'train'?"),
        (("train", "--set", "epochs=3"), "write it as table.key=value, such as train.epochs=10"),
        (("train", "--set", "train.epochs"), "write it as table.key=value"),
        (("train", "--set", "train.epochs=many"), "'many' is not a whole number"),
        (("train", "--set", "optimizer.learning_rate=fast"), "'fast' is not a number"),
        (("train", "--set", "optimizer.learning_rate=nan"), "optimizer.learning_rate = nan must lie between"),
        (("train", "--set", "train.epochs=0"), "train.epochs = 0 must lie between 1 and"),
        (("train", "--set", "model.hidden_size=-1"), "model.hidden_size = -1 must lie between 1 and"),
        (("train", "--set", "model.output_dropout=1"), "model.output_dropout = 1.0 must lie between 0 and 0.99"),
        (("train", "--set", "data.normalization=wrods"), "there is no normalization 'wrods'; did you mean 'words'?"),
        (("train", "--set", "parse.decoder=biast"), "there is no decoder 'biast'; did you mean 'biased'?"),
        (("train", "--set", "optimizer.name=adan"), "there is no optimizer 'adan'; did you mean 'adam'?"),
        (("parse", "--decoder", "unbaised"), "there is no decoder 'unbaised'; did you mean 'unbiased'?"),
        (("decode", "--decoder", "narry"), "there is no decoder 'narry'; did you mean 'nary'?"),
        (("eval", "--gold", "wjs10", "--baseline", "left"), "did you mean 'wsj10'?"),
        (("eval", "--gold", "sample", "--baseline", "lef"), "did you mean 'left'?"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_unknown_names_and_values(call: Caller, trained: Path, arguments: tuple[str, ...], message: str) -> None:
    command, *rest = arguments
    options: list[object] = [] if command == "eval" else [trained / "text.txt"]
    if command == "parse":
        options += ["-m", trained / "run"]
    if command == "train":
        options += ["-o", "new"]
    wrong_name = "did you mean" in message  # a usage error
    assert message in call.refusal(command, *rest, *options, code=2 if wrong_name else 1)
    assert not Path("new").exists()


def test_sizes_that_do_not_fit(call: Caller, trained: Path) -> None:
    message = call.refusal("train", trained / "text.txt", "-o", "new", "--set", "model.hidden_size=33")
    assert message.startswith("settings of model 'onlstm': hidden_size = 33 is not a multiple of chunk_size")


@pytest.mark.parametrize(
    "arguments",
    [
        *(("train", "--resume", "--overwrite"), ("train", "--max-minutes", "nan"), ("train", "--max-minutes", "0")),
        *(
            ("train", "--seed", "-1"),
            ("train", "--seed", "x"),
            ("train", "--device", "tpu"),
            ("parse", "--format", "x"),
        ),
        *(("eval",), ("eval", "--gold"), ("trian",), ("parse", "--nonsense"), ("extract", "--what", "heads2")),
    ],
    ids=" ".join,
)
def test_wrong_usage(call: Caller, arguments: tuple[str, ...]) -> None:
    assert call.usage(*arguments).startswith("Error: ")


def test_no_gpu(call: Caller, trained: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    message = "device cuda: torch finds no GPU here; use --device cpu"
    assert call.refusal("parse", "-m", trained / "run", trained / "text.txt", "--device", "cuda") == message
    assert call.refusal("train", trained / "text.txt", "-o", "new", *TINY, "--device", "cuda") == message


def test_advice_after_nan_loss_can_be_followed(call: Caller, trained: Path, tmp_path: Path) -> None:
    explosive = {"name": "nt-asgd", "learning_rate": "1e6", "weight_decay": "1e3", "clip": "1e9"}
    settings = [part for name, value in explosive.items() for part in ("--set", f"optimizer.{name}={value}")]
    code, _, err = call("train", trained / "text.txt", "-o", tmp_path / "run", *TINY, *settings)
    assert (code, "is no longer a number" in err) == (1, True)
    advice = err.partition(": synparse ")[2].split()
    assert advice[-2:] == ["--set", "optimizer.learning_rate=100000"]
    code, _, err = call(*advice[:-1], "optimizer.learning_rate=1e-4")
    assert code == 0, err
    assert '"learning_rate": 0.0001' in (tmp_path / "run" / "last" / "checkpoint.json").read_text("utf-8")


# --- existing model folders -------------------------------------------------------------------------------------------


def test_existing_model_is_not_replaced(call: Caller, copy: Path, trained: Path) -> None:
    before = contents(copy)
    assert "there is a model already; continue with --resume" in call.refusal("train", trained / "text.txt", "-o", copy)
    write("empty.txt", "\n")
    call.refusal("train", "empty.txt", "-o", copy, "--overwrite")  # training that cannot start replaces nothing
    call.refusal("train", "none.txt", "-o", copy, "--overwrite")
    call.refusal("train", trained / "text.txt", "-o", copy, "--overwrite", "--set", "model.hidden_size=33")
    write("other.txt", toy_text(150))
    message = call.refusal("train", "other.txt", "-o", copy, "--resume")
    assert "the training text is not the one that this run began with" in message
    assert "only train.epochs and optimizer.learning_rate can change" in call.usage(
        "train", "-o", copy, "--resume", "--set", "optimizer.decay=1"
    )
    assert "--seed cannot change on --resume" in call.usage("train", "-o", copy, "--resume", "--seed", "2")
    assert "train.epochs = 0 must lie" in call.refusal("train", "-o", copy, "--resume", "--set", "train.epochs=0")
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
    assert not Path("none").exists()
    code, out, err = call("train", trained / "text.txt", "--resume", "-o", "new", *TINY)
    assert (code, out) == (0, "")
    assert err.startswith("new: nothing to resume, so training starts from the beginning\n")


def test_model_without_training_state_cannot_be_resumed(call: Caller, copy: Path) -> None:
    import shutil

    shutil.rmtree(copy / "last")
    assert "holds a model but no state to resume from" in call.refusal("train", "--resume", "-o", copy)


# --- decode -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(X (W a))", "not a line of JSON (Expecting value"),
        ("[" * 100_000, "not a line of JSON"),
        ("[1, 2]", 'expected an object with "distances", a list of numbers'),
        ('{"words": ["a"]}', 'expected an object with "distances"'),
        ('{"distances": [1, "2"]}', 'expected an object with "distances"'),
        ('{"distances": [true]}', 'expected an object with "distances"'),
        ('{"distances": [1' + "0" * 400 + "]}", "a whole number that is too large"),
        ('{"distances": [1, NaN]}', "distance 1 of 2 is not a number (NaN)"),
        ('{"words": ["a", "b"], "distances": [1]}', "1 distances for 2 words; one per word is needed"),
        ('{"words": ["a", "b"], "indices": [2], "distances": [1]}', '"indices" names word 2, but there are 2 words'),
        ('{"words": ["a", "b"], "indices": [-1, 0], "distances": [1, 2]}', '"indices" names word -1'),
        ('{"words": ["a", "b"], "indices": [1, 0], "distances": [1, 2]}', '"indices" must be ascending'),
        ('{"indices": [0], "distances": [1]}', '"words" must be a list of strings, and "indices" needs it'),
        ('{"words": "ab", "distances": [1, 2]}', '"words" must be a list of strings'),
        ('{"words": ["a b"], "distances": [1]}', "word 1 holds ' '"),
        ('{"words": ["a", ""], "distances": [1, 2]}', "word 2 is empty"),
        ('{"words": ["\\ud800"], "distances": [1]}', "word 1 holds '\\ud800'"),
        ('{"words": ["a\\u0000"], "distances": [1]}', "word 1 holds '\\x00'"),
        ('{"distances": [1], "decoder": "unbiast"}', "there is no decoder 'unbiast'; did you mean 'unbiased'?"),
        ('{"distances": [1], "decoder": "eisner"}', "decoder 'eisner' needs heads, and this line has distances (try '"),
        (
            '{"heads": [[1]], "decoder": "biased"}',
            "decoder 'biased' needs distances, and this line has heads (try 'chu",
        ),
        ('{"heads": [0, 1]}', 'expected an object with "heads", a list of lists of numbers'),
        ('{"heads": [[0, true], [1, 0]]}', 'expected an object with "heads", a list of lists of numbers'),
        ('{"heads": [[0, 1], [1]]}', "the rows of heads differ in length"),
        ('{"heads": [[0, 1, 0], [1, 0, 0]]}', "heads are 2 x 3 numbers; a square"),
        ('{"heads": [[0, 1], [NaN, 0]]}', "number 0 in row 1 of heads, nan, is not a probability"),
        ('{"heads": [[0, 1], [1' + "0" * 400 + ", 0]]}", '"heads" holds a whole number that is too large'),
        ('{"heights": [1, 2]}', 'expected an object with "heights", a list of pairs of numbers'),
        ('{"heights": [[1, 2, 3]]}', 'expected an object with "heights", a list of pairs of numbers'),
        ('{"heights": [[1, NaN]]}', "height 0 of 1 is not a number (NaN)"),
        ('{"heights": [[1, 2]], "words": []}', "1 heights for 0 words; one per word is needed"),
        ('{"words": ["a"], "heads": [[0, 1], [1, 0]]}', "2 rows of heads for 1 words; one per word is needed"),
    ],
)
def test_lines_that_decode_cannot_read(call: Caller, line: str, message: str) -> None:
    write("d.jsonl", f'{{"distances": [1, 2]}}\n\n{line}\n')
    code, out, err = call("decode", "d.jsonl")
    assert (code, out) == (1, "(X (W w0) (W w1))\n\n")
    assert err.startswith("synparse: d.jsonl:3: ")
    assert message in err
    assert err.count("\n") == 1


def test_standard_input_is_named(trained: Path) -> None:
    done = shell("printf 'a b\\n\\xff\\n' | $RUN decode", trained)
    assert done.stderr.startswith("synparse: standard input:1: not a line of JSON")


def test_a_file_name_that_is_not_utf8() -> None:
    done = subprocess.run([*PROGRAM, "decode", b"caf\xe9.jsonl"], capture_output=True)
    assert done.returncode == 1
    assert done.stderr == b"synparse: caf\\udce9.jsonl: no such file or folder\n"

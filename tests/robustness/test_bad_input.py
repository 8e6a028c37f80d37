"""Invalid input, settings and models are reported in one line with the correct exit code, and no data are lost."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from induce.training.prepare import MIN_WORDS
from tests.support.calls import PROGRAM, TINY, Caller, shell
from tests.support.tiny import assert_equal_weights
from tests.support.working_folder import contents, write

pytestmark = pytest.mark.usefixtures("working_folder")

TREES = "(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n(S (NP (NNS dogs)) (VP (VBP bark) (ADVP (RB now))))\n"


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
        "latin.txt:2: invalid UTF-8 (0xef at byte 3 of the line, byte 8 of the file); if it is",
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


@pytest.mark.parametrize(("text", "words"), [("", 0), ("\n \n", 0), (". , !\n", 0), ("One\n", 1), ("one word\n", 2)])
def test_too_little_to_learn_from(call: Caller, text: str, words: int) -> None:
    message = call.refusal("train", write("little.txt", text), "-o", "new")
    assert message.startswith(f"little.txt: {words} word{'s' * (words != 1)} to learn from")
    assert f"at least {MIN_WORDS} are needed" in message
    assert contents(Path("new")) == {}


def test_a_development_text_without_words(call: Caller, trained: Path) -> None:
    message = call.refusal("train", trained / "text.txt", "--dev", write("dev.txt", "\n"), "-o", "new")
    assert message == "dev.txt: the development text holds no words"


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
    for options in ([], ["--model", "npcfg"], ["--model", "npcfg", "--seeds", "1-2"]):
        assert call.refusal("train", text, *options, "-o", "file") == "file: this is a file; name a folder with -o"
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

    text, run = trained / "text.txt", small_disk / "run"
    whole, more = ("--set", "train.epochs=2"), ("--set", "train.epochs=3")
    call.result("train", text, "-o", run, *TINY, *whole)
    before = {name: (run / name).read_bytes() for name in ("model.safetensors", "resume.safetensors")}
    filler = fill(small_disk)
    code, out, err = call("train", "--resume", "-o", run, *more)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"synparse: {run}")
    assert err.endswith("No space left on device\n")
    assert {name: (run / name).read_bytes() for name in ("model.safetensors", "resume.safetensors")} == before
    call.result("parse", "-m", run, text)
    filler.unlink()
    call.result("train", "--resume", "-o", run, *more)
    assert_equal_weights(run, trained / "run")


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
        (("train", "--set", "model.hidden_size=33"), "hidden_size = 33 is not a multiple of chunk_size"),
        (("train", "--set", "data.normalization=wrods"), "there is no normalization 'wrods'; did you mean 'words'?"),
        (("train", "--set", "parse.decoder=biast"), "there is no decoder 'biast'; did you mean 'biased'?"),
        (("train", "--set", "optimizer.name=adan"), "there is no optimizer 'adan'; did you mean 'adam'?"),
        (("parse", "--decoder", "unbaised"), "there is no decoder 'unbaised'; did you mean 'unbiased'?"),
        (("decode", "--decoder", "narry"), "there is no decoder 'narry'; did you mean 'nary'?"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_unknown_names_and_values(call: Caller, trained: Path, arguments: tuple[str, ...], message: str) -> None:
    command, *rest = arguments
    options: list[object] = [trained / "text.txt"]
    if command == "parse":
        options += ["-m", trained / "run"]
    if command == "train":
        options += ["-o", "new"]
    assert message in call.refusal(command, *rest, *options, code=2)
    assert not Path("new").exists()


WRONG_USAGE = """
train --resume --overwrite
train --max-minutes nan
train --max-minutes 0
train --seed -1
train --seed x
train --device tpu
parse --format x
parse --nonsense
extract --what heads2
eval
eval --gold
trian
"""


@pytest.mark.parametrize("arguments", WRONG_USAGE.strip().splitlines())
def test_wrong_usage(call: Caller, arguments: str) -> None:
    assert call.usage(*arguments.split()).startswith("Error: ")


def test_no_gpu(call: Caller, trained: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    message = "device cuda: torch finds no GPU here; use --device cpu"
    assert call.refusal("parse", "-m", trained / "run", trained / "text.txt", "--device", "cuda") == message
    assert call.refusal("train", trained / "text.txt", "-o", "new", *TINY, "--device", "cuda") == message


@pytest.mark.parametrize("save_seconds", [30.0, -1.0], ids=["saved once", "saved at each step"])
def test_advice_after_nan_loss_can_be_followed(
    call: Caller, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save_seconds: float
) -> None:
    monkeypatch.setattr("induce.training.loop.SAVE_SECONDS", save_seconds)
    explosive = {"name": "nt-asgd", "learning_rate": "1e6", "weight_decay": "1e3", "clip": "1e9"}
    settings = [part for name, value in explosive.items() for part in ("--set", f"optimizer.{name}={value}")]
    begin = ["train", str(trained / "text.txt"), "-o", str(tmp_path / "run"), *TINY, *settings]
    code, _, err = call(*begin)
    assert (code, "is no longer a number" in err) == (1, True)
    resume = ["train", "--resume", "-o", str(tmp_path / "run"), "--set"]
    if save_seconds > 0:
        assert err.partition(": synparse ")[2].partition(";")[0].split()[:-1] == resume
        assert call(*resume, "optimizer.learning_rate=1e-4")[0] == 0
    else:
        assert "the stored state fails as well" in err
        assert call(*resume, "optimizer.learning_rate=1e-9")[0] == 1
        change = err.partition("--overwrite ")[2].split()
        assert change == ["--set", "optimizer.learning_rate=0.0015"]  # of the preset
        assert call(*begin, "--overwrite", *change)[0] == 0


def test_standard_input_is_named(trained: Path, warm: str) -> None:
    done = shell("printf 'a b\\n\\xff\\n' | $RUN decode", trained, warm)
    assert done.stderr.startswith("synparse: standard input:1: not a line of JSON")


def test_a_file_name_that_is_not_utf8() -> None:
    done = subprocess.run([*PROGRAM, "decode", b"caf\xe9.jsonl"], capture_output=True)
    assert done.returncode == 1
    assert done.stderr == b"synparse: caf\\udce9.jsonl: no such file or folder\n"

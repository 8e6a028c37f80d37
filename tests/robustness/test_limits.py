"""Input that never ends, exceeds the memory or is incomplete is reported in one line, without loss of output."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import pytest

from cli.progress import Counter
from induce.likelihood.pair_files import read_pairs
from induce.tasks.logic import Logic
from tests.support.calls import ENVIRONMENT, Caller
from tests.support.file_faults import limited_memory
from tests.support.fork_server import Call
from treebank.base.errors import TreebankError
from treebank.io import lines
from treebank.io.lines import open_blocks

pytestmark = pytest.mark.usefixtures("working_folder")


def test_a_device_that_never_ends() -> None:
    with limited_memory(1 << 29), pytest.raises(TreebankError, match="/dev/zero:1: this is a binary file"):
        list(open_blocks("/dev/zero"))


def test_a_line_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1 << 19)
    with gzip.open("bomb.gz", "wb") as stream:
        stream.write(b"short\n" + b"x" * (1 << 21))
    with pytest.raises(TreebankError, match=r"bomb\.gz:2: this line has no end"):
        list(open_blocks("bomb.gz"))
    Path("long.txt").write_bytes(b"y" * ((1 << 19) - 10) + b"\nz\n")
    assert "".join(text for _, text in open_blocks("long.txt")).count("\n") == 2


@pytest.mark.parametrize("name", ["lines.txt", "pairs.jsonl", "train1"])
def test_an_archive_that_is_a_bomb(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless line of text, minimal pairs or expressions is reported before memory runs out."""
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1 << 19)
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(name, b" " * (1 << 26))
    readers: dict[str, Callable[[], Iterable[object]]] = {
        "lines.txt": lambda: open_blocks("bomb.zip"),
        "pairs.jsonl": lambda: read_pairs("bomb.zip"),
        "train1": lambda: Logic().read_all(["bomb.zip"]),
    }
    with limited_memory(1 << 25), pytest.raises(TreebankError, match=r"bomb\.zip.*:1: this line has no end"):
        list(readers[name]())


def test_no_broken_line_is_kept_in_memory(call: Caller, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of millions of lines may contain thousands of malformed lines."""
    errors, counts = list[ReferenceType[TreebankError]](), list[int]()
    create = TreebankError.__init__

    def recorded(error: TreebankError, *arguments: Any, **options: Any) -> None:
        create(error, *arguments, **options)
        errors.append(ref(error))

    def step(*arguments: object) -> None:
        counts.append(sum(error() is not None for error in errors))

    monkeypatch.setattr(TreebankError, "__init__", recorded)
    monkeypatch.setattr(Counter, "step", step)
    Path("a.txt").write_bytes(b"a\xff\n" * 12 + b"a\n")
    code, out, err = call("parse", "-m", model, "--on-error", "blank", "a.txt")
    assert (code, out.count("\n"), err.count("skipped: ")) == (0, 13, 12)
    assert "12 of 13 sentences were malformed; their lines are empty" in err
    assert len(errors) >= 12
    assert counts[-1] <= 1


@pytest.mark.parametrize("leaf", ["(The)", "( dog )", "(NP (The))"])
def test_a_leaf_without_a_tag_or_a_word(call: Caller, leaf: str) -> None:
    Path("t.mrg").write_text(f"(S (A a) {leaf})\n")
    assert "needs a tag and a word" in call.refusal("convert", "t.mrg")
    Path("t.mrg").write_text("(S (A a) (.) ())\n")
    assert call.result("convert", "t.mrg", "--format", "text") == "a .\n"
    Path("t.mrg").write_text("(S (A a) (CODE))\n")
    assert "the bracket (CODE) has no word" in call.refusal("convert", "t.mrg")


def archive(content: bytes) -> bytes:
    with zipfile.ZipFile("t.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("treebank/combined/wsj_0001.mrg", content)
    return Path("t.zip").read_bytes()


def test_a_damaged_archive(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("nltk/corpora")
    folder.mkdir(parents=True)
    monkeypatch.setenv("NLTK_DATA", str(Path("nltk").absolute()))
    good = archive(b"( (S (A a) (B b)) )\n" * 20)
    for position in range(0, len(good), 29):
        damaged = bytearray(good)
        damaged[position] ^= 1 << position % 8
        (folder / "treebank.zip").write_bytes(bytes(damaged))
        code, out, err = call("convert", "wsj", "--format", "text")
        assert (code, out) == (0, "a b\n" * 20) or (code == 1 and err.count("\n") == 1), (position, code, err)
    (folder / "treebank.zip").write_bytes(archive(b" " * (1 << 27)))
    assert "too large" in call.refusal("convert", "wsj", "--format", "text")


LIMITED = """
import os, resource, sys
import torch, cli.main, induce.parsing.load, induce.training.loop
import induce.models.{model}
torch.set_num_threads(1)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + {megabytes} * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
code = cli.main.run(sys.argv[1:])
sys.stdout.flush()
os._exit(code)
"""


def limited(warm: str, model: str, megabytes: int, *arguments: str) -> tuple[int, str, str]:
    """Exit code and output of a program with limited memory in addition to that used after loading torch."""
    program = LIMITED.format(model=model, megabytes=megabytes)
    with Path("out").open("w") as out, Path("err").open("w") as err:
        streams = (0, out.fileno(), err.fileno())
        code = Call(warm, arguments, program=program, streams=streams, environment=ENVIRONMENT).wait()
    return code, Path("out").read_text(), Path("err").read_text()


def test_memory_that_runs_out_in_parsing(tiny_model: Callable[..., Path], warm: str) -> None:
    """The lines before the sentence that is too long are written."""
    Path("in.txt").write_text("the dog saw a cat\n" * 40 + "dog " * 10_000 + "\nthe cat\n")
    code, out, err = limited(warm, "masked.udgn", 450, "extract", "-m", str(tiny_model("udgn")), "in.txt")
    assert (code, out.count("\n")) == (1, 40)
    assert err == "synparse: in.txt:41: memory ran out on a sentence of 10,000 words; leave it out\n"


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        ("perplexity --per sentence -m run", 500),
        ("parse -m run@distances=impact", 100),
        ("parse -m run@distances=avg-hellinger", 2000),
        ("extract --what states -o s.npz -m run", 2000),
    ],
)
def test_sentence_whose_copies_or_states_are_too_many_is_refused(
    call: Caller, tiny_model: Callable[..., Path], command: str, limit: int
) -> None:
    Path("run").symlink_to(tiny_model("transformer", "train.epochs=1"))
    Path("in.txt").write_text(f"the dog saw a cat\n{'dog ' * (limit + 1)}\n")
    message = f"in.txt:2: {limit + 1:,} words are too many for this model, which reads at most {limit:,}"
    assert call(*command.split(), "in.txt")[::2] == (1, f"synparse: {message}\n")


def test_a_lost_blank_line_in_three_columns(call: Caller) -> None:
    Path("two.dp").write_text("a\tDT\t2\nb\tNN\t0\n\nc\tNN\t0\n")
    assert call.result("convert", "two.dp", "--format", "text") == "a b\nc\n"
    Path("one.dp").write_text("a\tDT\t2\nb\tNN\t0\nc\tNN\t0\n")
    assert "one.dp:3: a second word without a head; a blank line is missing" in call.refusal("convert", "one.dp")


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "a.txt", "-o", "run", "--preset", "deep.toml"),
        ("train", "a.txt", "-o", "run", "--recipe", "deep.toml"),
        ("train", "--resume", "-o", "seeds"),
        ("train", "prepared", "-o", "run"),
        ("parse", "-m", "english", "a.txt", "--output-dir", "parsed", "--resume"),
        ("pairs", "deep.jsonl", "-m", "english"),
        ("convert", "deep.jsonl"),
    ],
)
def test_files_that_are_nested_too_deeply(call: Caller, arguments: tuple[str, ...]) -> None:
    Path("a.txt").write_text("a dog\n")
    Path("deep.toml").write_text(f"a = {DEEP}")
    for name in ("deep.jsonl", "seeds/family.json", "prepared/corpus.json", "parsed/synparse-batch.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"{DEEP}\n")
    assert call.refusal(*arguments)


def test_a_text_that_looks_like_nested_json(call: Caller, model: Path) -> None:
    Path("a.txt").write_text(f"{DEEP}\na dog\n")
    assert call.result("parse", "-m", model, "a.txt").count("\n") == 2


@pytest.mark.parametrize(
    "command", ["parse", "extract", "perplexity", "perplexity --per sentence", "extract --what vectors"]
)
def test_too_long_sentence_is_refused_at_its_line(
    call: Caller, model: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("induce.models.language.onlstm.OnLstm.max_length", 5)
    Path("in.txt").write_text("the dog saw a cat\n" * 3 + "the big dog saw a cat\na cat\n")
    message = "in.txt:4: 6 words are too many for this model, which reads at most 5"
    code, out, err = call(*command.split(), "-m", model, "in.txt")
    assert (code, err) == (1, f"synparse: {message}\n")
    assert out.count("\n") == (0 if command == "perplexity" else 3)

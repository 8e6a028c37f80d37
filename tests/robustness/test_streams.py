"""Text in and trees out: order, streaming, broken pipes, interruptions."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO

import pytest

from tests.support.calls import ENVIRONMENT, Caller, Process, shell, toy_text, wait_for
from tests.support.working_folder import write

pytestmark = pytest.mark.usefixtures("working_folder")

LONG = 5000


def words_of(tree: str) -> list[str]:
    """The words of one line of trees."""
    return [part.partition(")")[0] for part in tree.split("(W ")[1:]]


def mixed(count: int) -> list[str]:
    """Lines of 0 to 40 words in random order."""
    return [" ".join(f"w{i}.{j}" for j in range(i * 7 % 41)) for i in range(count)]


def test_sentences_of_any_length_are_in_input_order(call: Caller, model: Path) -> None:
    lines = ["Yes", "", "Go on", " \t ", " ".join(f"w{i}" for i in range(LONG)), "a b c", *mixed(500)]
    trees = call.result("parse", "-m", model, write("in.txt", "\n".join(lines))).split("\n")
    assert trees.pop() == ""
    assert [words_of(tree) for tree in trees] == [line.split() for line in lines]
    assert trees[:4] == ["(X (W Yes))", "", "(X (W Go) (W on))", ""]
    assert trees[4].count("(X ") == LONG - 1


@pytest.mark.parametrize(("layer", "decoder"), [(2, "unbiased"), (1, "biased"), (2, "nary")])
def test_extract_and_decode_equal_parse(call: Caller, model: Path, layer: int, decoder: str) -> None:
    text = write("in.txt", toy_text(40) + "\n( a ) -LRB- \u00a0x\u2028 …\n!\n" + "\n".join(mixed(60)) + "\n")
    arguments = ("-m", f"{model}@layer={layer},decoder={decoder}", text)
    write("d.jsonl", call.result("extract", *arguments))
    assert call.result("decode", "d.jsonl") == call.result("parse", *arguments)
    other = call.result("parse", "-m", f"{model}@layer={layer},decoder=biased", text)
    assert call.result("decode", "d.jsonl", "--decoder", "biased") == other


def test_extract_and_decode_in_a_pipe(trained: Path, warm: str) -> None:
    done = shell(
        "$RUN parse -m run text.txt > a && $RUN extract -m run < text.txt | $RUN decode > b && cmp a b", trained, warm
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_pipe_with_a_name_is_looked_at_and_then_read(call: Caller, model: Path) -> None:
    """A pipe from bash's <(...) or /dev/stdin cannot be opened twice."""
    for command in (["parse", "-m", model], ["draw"], ["convert", "--format", "text"]):
        text = b"Yes\n" if command[0] == "parse" else b"(S (UH Yes) (UH no))\n"
        reading, writing = os.pipe()
        os.write(writing, text)
        os.close(writing)
        assert "Yes" in call.result(*command, f"/dev/fd/{reading}"), command
        os.close(reading)


def test_parsing_ends_quietly_if_head_closes_the_pipe(trained: Path, warm: str) -> None:
    write("long.txt", toy_text() * 200)
    command = f"$RUN parse -m {trained}/run long.txt | head -1; exit ${{PIPESTATUS[0]}}"
    done = shell(command, Path(), warm)
    assert done.stdout.count("\n") == 1
    assert (done.returncode, done.stderr) == (141, "")


def feed(stream: IO[bytes], text: bytes) -> None:
    """Write ``text`` until its reader is closed."""
    with suppress(OSError, ValueError):
        for start in range(0, len(text), 4096):
            stream.write(text[start : start + 4096])


def read_line(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    return stream.readline()


def test_trees_come_before_the_input_ends(model: Path, warm: str) -> None:
    process = Process(warm, "parse", "-m", str(model))
    assert process.stdin is not None
    process.stdin.write(b"the cat sat\n" * 20)
    assert words_of(read_line(process.stdout).decode()) == ["the", "cat", "sat"]
    out, err = process.communicate()
    assert (process.returncode, out.count(b"\n"), err) == (0, 19, b"")


@pytest.mark.parametrize("line", [3, 17, 500])
def test_lines_before_an_error_are_parsed(call: Caller, model: Path, line: int) -> None:
    Path("in.txt").write_bytes(b"the cat sat\n" * (line - 1) + b"na\xefve\n" + b"the end\n" * 50)
    code, out, err = call("parse", "-m", model, "in.txt")
    assert code == 1
    assert out.count("(W cat)") == out.count("\n") == line - 1
    assert err.startswith(f"synparse: in.txt:{line}: invalid UTF-8 (0xef at byte 3 of the line")
    code, out, _ = call("extract", "-m", model, "in.txt")
    assert (code, out.count("\n")) == (1, line - 1)


# --- where text comes from --------------------------------------------------------------------------------------------


def test_files_folders_patterns_gzip_and_standard_input(call: Caller, model: Path, warm: str) -> None:
    Path("texts/inner").mkdir(parents=True)
    write("texts/1.txt", "one\n")
    write("texts/inner/3.txt", "three\n")
    with gzip.open("texts/2.txt.gz", "wt") as stream:
        stream.write("two\n")
    Path("texts/2.txt.gz").rename("texts/2.TXT.GZ")
    first, second, third = (f"(X (W {word}))\n" for word in ("one", "two", "three"))
    assert call.result("parse", "-m", model, "texts") == first + second + third
    assert call.result("parse", "-m", model, "texts/*.*", "texts/1.txt") == first + second + first
    assert call.result("parse", "-m", model, "texts/**/*.txt") == first + third
    done = shell(f"echo four | $RUN parse -m {model} texts/1.txt -", Path(), warm)
    assert (done.stdout, done.stderr) == (first + "(X (W four))\n", "")


# --- where trees go ---------------------------------------------------------------------------------------------------


def test_output_into_a_file(call: Caller, model: Path) -> None:
    text = write("in.txt", toy_text(50))
    trees = call.result("parse", "-m", model, text)
    assert call("parse", "-m", model, text, "-o", write("trees.txt", "older")) == (0, "", "")
    assert Path("trees.txt").read_text() == trees
    assert sorted(os.listdir()) == ["in.txt", "trees.txt"]
    assert call("parse", "-m", model, text, "-o", "trees.txt.gz") == (0, "", "")
    with gzip.open("trees.txt.gz", "rt") as stream:
        assert stream.read() == trees
    Path("link.txt").symlink_to("trees.txt")
    assert call("extract", "-m", model, text, "-o", "link.txt") == (0, "", "")
    assert Path("link.txt").is_symlink()
    assert call("decode", "trees.txt", "-o", "again.txt") == (0, "", "")
    assert Path("again.txt").read_text() == trees


def test_standard_output_as_a_file(call: Caller, model: Path, warm: str) -> None:
    text = write("in.txt", "Yes\n")
    assert call.result("parse", "-m", model, text, "-o", "-") == "(X (W Yes))\n"
    done = shell(f"(echo before; $RUN parse -m {model} in.txt -o /dev/stdout) > all.txt; cat all.txt", Path(), warm)
    assert (done.stdout, done.stderr) == ("before\n(X (W Yes))\n", "")


def test_an_error_keeps_the_part_and_an_older_file(call: Caller, model: Path) -> None:
    write("trees.txt", "older")
    Path("in.txt").write_bytes(b"a b\n" * 30 + b"\xff\n")
    message = call.refusal("parse", "-m", model, "in.txt", "-o", "trees.txt")
    assert "in.txt:31: invalid UTF-8" in message
    assert Path("trees.txt").read_text() == "older"
    (part,) = parts()
    assert message.endswith(f"the output written before the error is in {part}")
    assert part.read_text() == "(X (W a) (W b))\n" * 30


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no /dev/shm here")
def test_an_older_file_in_memory_is_kept(call: Caller) -> None:
    """A path below /dev may be a regular file."""
    write("bad.jsonl", f"{DISTANCES}{{\n")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        older = Path(folder, "trees.txt")
        older.write_text("older")
        assert "bad.jsonl:2" in call.refusal("decode", "bad.jsonl", "-o", older)
        assert older.read_text() == "older"
        assert call("decode", write("d.jsonl", DISTANCES), "-o", older) == (0, "", "")
        assert older.read_text() == TREE


def test_a_descriptor_by_name() -> None:
    """An open file is written directly and is not replaced by another file of its name."""
    os.link(write("t", ""), "same")
    write("d.jsonl", DISTANCES)
    done = shell("($RUN decode d.jsonl -o /dev/fd/7; $RUN decode d.jsonl -o /proc/self/fd/8) 7> t 8> u", Path())
    assert (done.stdout, done.stderr) == ("", "")
    assert (Path("same").read_text(), Path("u").read_text()) == (TREE, TREE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_an_older_file_and_leaves_no_part(model: Path, number: signal.Signals, warm: str) -> None:
    write("trees.txt", "older")
    process = Process(warm, "parse", "-m", str(model), "-o", "trees.txt")
    assert process.stdin is not None
    Thread(target=feed, args=(process.stdin, b"a b\n" * 20_000)).start()
    wait_for(lambda: any(part.stat().st_size > 0 for part in parts()))
    process.send_signal(number)
    _, err = process.communicate()
    assert Path("trees.txt").read_text() == "older"
    assert parts() == []
    said = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    assert (process.returncode, err) == (128 + number, f"synparse: {said}\n".encode())


def parts() -> list[Path]:
    """Temporary files of incomplete outputs."""
    return list(Path().glob("trees.txt.*.part"))


def test_files_of_the_user_next_to_an_output(call: Caller, model: Path) -> None:
    """The input, other files and links may have the name of a temporary output file and are not changed."""
    text = "Yes\n" * 5
    assert call("parse", "-m", model, write("t.txt.part", text), "-o", "t.txt") == (0, "", "")
    assert (Path("t.txt.part").read_text(), Path("t.txt").read_text()) == (text, "(X (W Yes))\n" * 5)
    Path("u.txt.part").symlink_to("t.txt.part")
    assert call("convert", "t.txt", "-o", "u.txt") == (0, "", "")
    assert (Path("t.txt.part").read_text(), Path("u.txt").is_symlink()) == (text, False)
    problem = "t.txt.part: this file is read, so it cannot be written as well; name another with -o"
    assert call.refusal("parse", "-m", model, "t.txt.part", "-o", "t.txt.part") == problem
    assert Path("t.txt.part").read_text() == text
    assert sorted(os.listdir()) == ["t.txt", "t.txt.part", "u.txt", "u.txt.part"]


def test_permissions_of_an_output(call: Caller, model: Path) -> None:
    write("in.txt", "Yes\n")
    Path(write("private.txt", "older")).chmod(0o600)
    assert call("parse", "-m", model, "in.txt", "-o", "private.txt") == (0, "", "")
    assert Path("private.txt").stat().st_mode & 0o777 == 0o600
    before = os.umask(0o027)
    try:
        assert call("parse", "-m", model, "in.txt", "-o", "new.txt") == (0, "", "")
    finally:
        os.umask(before)
    assert Path("new.txt").stat().st_mode & 0o777 == 0o640


def test_names_of_outputs(call: Caller, model: Path) -> None:
    write("in.txt", "Yes\n")
    for name in ("n" * 255, "é" * 127, "a\nb", os.fsdecode(b"\xff.txt")):
        assert call("parse", "-m", model, "in.txt", "-o", name) == (0, "", "")
        assert Path(name).read_text() == "(X (W Yes))\n"
    assert "an empty name" in call.refusal("parse", "-m", model, "in.txt", "-o", "", code=2)
    assert "File name too long" in call.refusal("parse", "-m", model, "in.txt", "-o", "n" * 256)


def test_a_pipe_by_name(warm: str) -> None:
    os.mkfifo("pipe")
    write("d.jsonl", DISTANCES)
    process = Process(warm, "decode", "d.jsonl", "-o", "pipe")
    assert Path("pipe").read_text() == TREE
    assert process.communicate() == (b"", b"")


DISTANCES, TREE = '{"distances": [1]}\n', "(X (W w0))\n"


def test_streams_that_are_set_not_to_wait(warm: str) -> None:
    """With non-blocking streams, as ssh and node leave them, slow input and slow output lose no data."""
    source, feed = os.pipe()
    drain, sink = os.pipe()
    os.set_blocking(source, False)
    os.set_blocking(sink, False)
    process = Process(warm, "decode", stdin=source, stdout=sink)
    os.close(source)
    os.close(sink)
    time.sleep(0.5)
    os.write(feed, DISTANCES.encode())
    with os.fdopen(drain, "rb") as stream:
        assert stream.readline() == TREE.encode()
        writer = Thread(target=lambda: (os.write(feed, DISTANCES.encode() * 10_000), os.close(feed)))
        writer.start()
        time.sleep(0.5)
        assert stream.read() == TREE.encode() * 10_000
    assert process.wait() == 0


def test_closed_streams() -> None:
    write("d.jsonl", DISTANCES)
    done = shell("$RUN decode d.jsonl -o trees.txt <&- >&- 2>&-", Path())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Path("trees.txt").read_text() == TREE


def test_unreadable_input_and_unwritable_output_are_reported() -> None:
    write("d.jsonl", DISTANCES)
    done = shell("$RUN decode d.jsonl >&-", Path())
    assert done.returncode == 1
    assert done.stderr == "synparse: standard output: it is closed; name a file to write with -o\n"
    done = shell("$RUN decode <&-", Path())
    assert (done.returncode, done.stderr) == (1, "synparse: standard input: it is closed; name a file to read\n")


def test_drawings(call: Caller, model: Path) -> None:
    lines = ["the cat , sat", "", "Yes", " ".join(f"w{i}" for i in range(LONG)), "a b"]
    code, out, err = call("parse", "-m", model, write("in.txt", "\n".join(lines)), "--format", "drawing")
    positions = [out.index(word) for word in ("the", "cat", ",", "Yes", "(X (W w0)", "w4999", "\na b\n")]
    assert (code, positions) == (0, sorted(positions))
    assert "unknown to the model" in err.splitlines()[0]
    assert err.splitlines()[1] == "note: in.txt:4: 5,000 words are too many to draw; the tree is written as brackets"


@pytest.mark.parametrize("end", [".zst", ".bz2", ".XZ", ".zip"])
def test_a_name_that_promises_another_compression(call: Caller, model: Path, tmp_path: Path, end: str) -> None:
    """No program would read plain text from a file with such a name."""
    (tmp_path / "a.txt").write_text("a dog\n", encoding="utf-8")
    target = tmp_path / f"trees{end}"
    assert "text is written plain or as .gz" in call.refusal("parse", "-m", model, tmp_path / "a.txt", "-o", target)
    assert not target.exists()


def test_a_file_is_not_added_to_itself(model: Path, tmp_path: Path, warm: str) -> None:
    """Otherwise the file would never end."""
    path = tmp_path / "a.txt"
    path.write_text("a dog\n", encoding="utf-8")
    with path.open("ab") as out:
        done = Process(warm, "parse", "-m", str(model), str(path), stdout=out.fileno())
        err = done.communicate()[1]
    assert done.returncode == 1
    assert b"standard output is one of the files that are read" in err
    assert path.read_text(encoding="utf-8") == "a dog\n"


def test_a_pipe_in_a_folder_is_not_waited_for(call: Caller, model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "a.txt")
    (tmp_path / "in" / "b.txt").write_text("a dog\n", encoding="utf-8")
    for name in (tmp_path / "in", f"{tmp_path}/in/*.txt"):
        assert call.result("parse", "-m", model, name).count("\n") == 1


HOSTILE = "\x1b]0;title\x07x\x9b\u202ey"
ON_TERMINAL = [
    *(["parse", "-m", "english", "in.txt", "--format", form] for form in ("brackets", "jsonl", "drawing")),
    *(["convert", "in.trees", "--format", form] for form in ("brackets", "text", "conllu", "spans", "negra")),
    *(["search", "S", "in.trees", "--format", form] for form in ("brackets", "text", "concordance", "csv", "jsonl")),
    ["search", "S", "in.trees", "--highlight", "none"],
    *(["phrases", "in.trees", "--min-count", "1", "--format", form] for form in ("table", "csv", "tsv", "latex")),
    ["draw", "in.trees"],
]


def test_control_characters_are_shown_on_a_terminal() -> None:
    write("in.txt", f"{HOSTILE} ran\n")
    write("in.trees", f"(S (NP {HOSTILE}) (VP (V ran)))\n")
    program = (
        "from cli.process import prepare\nprepare()\nfrom cli.main import run\n"
        f"assert [call for call in {ON_TERMINAL!r} if run(call) != 0] == []"
    )
    reading, writing = os.openpty()
    process = subprocess.Popen([sys.executable, "-c", program], stdout=writing, env=ENVIRONMENT)
    os.close(writing)
    received = b""
    with suppress(OSError):  # the end of a terminal
        while block := os.read(reading, 1 << 16):
            received += block
    os.close(reading)
    assert process.wait() == 0
    text = received.decode()
    without_colors = re.sub("\x1b\\[[0-9;]*m", "", text)
    assert {character for character in without_colors if character in "\x1b\x07\x9b\u202e"} == set()
    assert without_colors.count("]0;title") >= len(ON_TERMINAL)

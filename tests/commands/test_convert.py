"""`synparse convert` from the outside: formats and back, streams, bad input, and the examples of its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.calls import Caller, Process, shell
from tests.support.pages import examples
from treebank.core.tree import Tree

PENN = (
    "( (S (NP-SBJ-1 (DT The) (JJ old) (NN man)) (VP (VBD wanted) (S (NP-SBJ (-NONE- *-1)) (VP (TO to)"
    " (VP (VB sleep))))) (. .)) )\n( (S (NP-SBJ (PRP It)) (VP (VBD cost) (NP ($ $) (CD 5.40) (-NONE- *U*))) (. .)) )\n"
)
ONE_LINE = [
    "(S (NP-SBJ-1 (DT The) (JJ old) (NN man)) (VP (VBD wanted) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sleep)))))"
    " (. .))",
    "(S (NP-SBJ (PRP It)) (VP (VBD cost) (NP ($ $) (CD 5.40) (-NONE- *U*))) (. .))",
]


@pytest.fixture
def penn(tmp_path: Path) -> Path:
    path = tmp_path / "penn.mrg"
    path.write_text(PENN.replace(" (VP", "\n    (VP"), encoding="utf-8")
    return path


def test_path_lengths(call: Caller, penn: Path) -> None:
    lengths = call.result("convert", penn, "--format", "path-lengths").splitlines()[1]
    assert json.loads(lengths)["distances"] == [5, 4, 3, 2, 4]


def test_distances_are_read_as_decode_reads_them(call: Caller, tmp_path: Path) -> None:
    lines = [
        '{"words": ["a", ",", "b", "c"], "indices": [0, 2, 3], "distances": [0.5, 0.1, 0.2]}',
        '{"distances": [3, 1, 2, Infinity]}',
        "",
    ]
    file = tmp_path / "read.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert call.result("convert", file) == call.result("decode", file)


def test_json_lines_without_trees(call: Caller, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    pair = {"sentence1": "c", "sentence2": "d e"}
    lines = [{"words": ["a", "b"], "arcs": [1, -1]}, {"words": ["c"], "arcs": [-1]}, pair]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert call.result("convert", file, "--format", "text") == "a b\nc\nc\nd e\n"
    file.write_text("".join(json.dumps(line) + "\n\n" for line in lines[:2]), encoding="utf-8")
    rows = call.result("convert", file, "--format", "conllu").splitlines()
    assert [row.split("\t")[6] for row in rows if "\t" in row] == ["2", "0", "0"]


def test_the_vocabulary_of_other_sentences(call: Caller, penn: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.mrg"
    other.write_text("(S (NP (PRP It)) (VP (VBD slept)))\n", encoding="utf-8")
    out = call.result("convert", penn, "--normalize", "ptb-concat-syn", "--vocabulary-of", other, "--format", "text")
    assert out.splitlines()[1] == "it <unk> <unk> <unk> </s>"
    assert "requires --normalize" in call.usage("convert", penn, "--vocabulary-of", other)


def test_words_of_language_modeling_files(call: Caller, penn: Path, tmp_path: Path) -> None:
    """Step 9 of PTB-Concat-Syn, and files that do not belong to the treebank."""
    text = tmp_path / "ptb.txt"
    arguments = ("convert", penn, "--normalize", "ptb-concat-syn", "--align-with", text)
    text.write_text("the old man wanted to sleep\n\nit cost $ N N </s>\n", encoding="utf-8")
    code, out, report = call(*arguments, "--format", "text")
    assert (code, out.splitlines()) == (0, ["the old man wanted to sleep </s>", "it cost $ N N </s>"])
    assert "1 sentences changed" in report
    assert "0 tokens replaced, 0 deleted, 1 inserted" in report
    for lines, problem in {
        "the old man wanted to sleep\n": f"{penn}:5: {text}: fewer lines",
        "the old man wanted to sleep\nwe saw them\n": f"{penn}:5: {text}:2 is another sentence (we saw them",
        "the old man wanted to sleep\nit cost N N\nmore\n": f"{text}:3: a line after the last sentence",
    }.items():
        text.write_text(lines, encoding="utf-8")
        code, _, error = call(*arguments)
        assert code == 1
        assert problem in error
    assert "requires --normalize" in call.usage("convert", penn, "--align-with", text)


def test_a_stream_cannot_be_counted_first(call: Caller) -> None:
    assert "the input is read twice" in call.refusal("convert", "-", "--normalize", "ptb-concat-syn")


def test_induced_labels(call: Caller, penn: Path, tmp_path: Path) -> None:
    (tmp_path / "more.trees").write_text("(S (NP (DT A) (NN man)) (VP (VBD slept)))\n", encoding="utf-8")
    more = ("--labels-of", tmp_path / "more.trees", "--labels-of", penn)
    induced = ("convert", penn, "--labels", "induced", *more, "--label-count", 4)
    trees = call.result(*induced)
    labels = {label for line in trees.splitlines() for label in Tree.from_text(line).labels}
    assert labels - {"X"} <= {"P1", "P2", "P3", "P4"}
    assert "note: P1 (" in call(*induced)[2]
    assert 1 < len(labels - {"X"}) <= 4
    assert call.result(*induced) == trees
    assert "has no labels" in call.usage(*induced, "--format", "text")
    assert "exclude each other" in call.usage(*induced, "--strip", "labels")
    assert "require --labels" in call.usage("convert", penn, "--label-count", 5)
    assert "--seed requires --labels" in call.usage("convert", penn, "--seed", 5)
    assert "read twice" in call.refusal("convert", "-", "--labels", "induced")


def test_a_sentence_of_punctuation_is_left_out_of_conllu(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "two.conllu"
    path.write_text(
        "1\t...\t_\tPUNCT\t.\t_\t0\troot\t_\t_\n\n1\tHi\t_\tINTJ\tUH\t_\t0\troot\t_\t_\n\n", encoding="utf-8"
    )
    lines = call.result("convert", path, "--strip", "punctuation", "--format", "conllu").splitlines()
    assert [line.split("\t")[1] for line in lines if "\t" in line] == ["Hi"]


def test_columns_and_comments_of_remaining_words_are_kept(call: Caller, tmp_path: Path) -> None:
    rows = """
        1 ( _ PUNCT _ _ 5 punct 5:punct SpaceAfter=No
        2-3 don't _ _ _ _ _ _ _ SpaceAfter=No
        2 do do AUX _ Mood=Imp 5 aux 5:aux _
        3 n't not PART _ _ 5 advmod 5:advmod _
        4 , , PUNCT _ _ 5 punct 5:punct _
        5 go go VERB _ _ 0 root 0:root Gloss=a|SpaceAfter=No
        5.1 you you PRON _ _ _ _ 5:nsubj _
        6-7 !s _ _ _ _ _ _ _ _
        6 ! ! PUNCT _ _ 5 punct 5:punct _
        7 s s X _ _ 5 dep 5:dep _
    """
    lines = ["\t".join(row.split()) for row in rows.strip().splitlines()]
    path = tmp_path / "a.conllu"
    path.write_text("\n".join(["# sent_id = s-1", "# text = (don't, go!s", *lines]) + "\n\n", encoding="utf-8")
    code, out, err = call("convert", path, "--strip", "punctuation", "--format", "conllu")
    lost = "enhanced dependencies of 1, multiword tokens of 1"
    assert (code, err) == (0, f"these parts of sentences are left out: {lost}\n")
    assert [line.replace("\t", " ") for line in out.splitlines()] == [
        "# sent_id = s-1",
        "# text = don't go s",
        "1-2 don't _ _ _ _ _ _ _ _",
        "1 do do AUX _ Mood=Imp 3 aux _ _",
        "2 n't not PART _ _ 3 advmod _ _",
        "3 go go VERB _ _ 0 root _ Gloss=a",
        "4 s s X _ _ 3 dep _ _",
        "",
    ]


def test_options_without_effect_on_the_format(call: Caller, penn: Path) -> None:
    assert "--head-rules requires --format conllu" in call.usage("convert", penn, "--head-rules", "stanford")
    for form in ("conllu", "text", "distances"):
        message = call.usage("convert", penn, "--strip", "labels", "--format", form)
        assert f"--strip labels does not apply to --format {form}; choose brackets, spans" in message


def test_reason_of_an_empty_output_is_reported(call: Caller, penn: Path, tmp_path: Path) -> None:
    assert f"{penn}: no sentence has at most 2 words, so" in call("convert", penn, "--max-length", 2)[2]
    (tmp_path / "empty.mrg").write_text("")
    assert "empty.mrg: there are no sentences, so" in call("convert", tmp_path / "empty.mrg", "--max-length", 2)[2]


def test_sentences_before_an_error_are_written(call: Caller, tmp_path: Path) -> None:
    bad = tmp_path / "bad.mrg"
    bad.write_text("(S (NN a) (. .))\n(S (NN b) (. .))\n(S (NN c)\n\n(S (NN d))\n", encoding="utf-8")
    for options, text in ((["--max-length", 5], "a .\nb .\n"), (["--strip", "punctuation"], "a\nb\n")):
        code, out, err = call("convert", bad, "--format", "text", *options)
        assert (code, out) == (1, text)
        assert err.startswith(f"synparse: {bad}:3: this tree is never closed")
        assert err.count("\n") == 1


def test_malformed_sentences_are_skipped_on_request(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "bad.mrg").write_text("(S (NN a))\n(S (NN d))\n(S (NN c)\n", encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text('{"distances": [1]}\n{"distances": [1]}\n{"words": 1}\n', encoding="utf-8")
    for name in ("bad.mrg", "bad.jsonl"):
        for options in ([], ["--normalize", "ptb-concat-syn"]):
            code, out, err = call("convert", tmp_path / name, "--on-error", "skip", *options)
            assert (code, out.count("\n")) == (0, 2)
            assert err.count("skipped: ") == 1
            assert f"skipped: {tmp_path / name}:3: " in err


def test_treebank_by_name_prints_its_description(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "wsj_0001.mrg").write_text(PENN, encoding="utf-8")
    code, out, err = call("convert", "wsj10", "--ptb", tmp_path)
    assert (code, out.splitlines(), err) == (0, ONE_LINE, "note: wsj10: 5 % sample\n")


def test_the_first_lines_come_before_the_input_ends(warm: str) -> None:
    process = Process(warm, "convert", "-", "--format", "text")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"(S (NN first))\n")
    assert process.stdout.readline() == b"first\n"
    process.stdin.write(b"(S (NN second))\n")
    assert process.communicate() == (b"second\n", b"")
    assert process.wait() == 0


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("docs/how-to/convert.md", 8),
        ("docs/how-to/language-modeling-words.md", 4),
        ("docs/how-to/search.md", 8),
        ("docs/reference/formats.md", 2),
        ("docs/reference/treebanks.md", 2),
    ],
)
def test_examples_of_the_page_print_its_output(tmp_path: Path, warm: str, page: str, least: int) -> None:
    """In each fenced block, a line that begins with ``$`` is a command, and the lines after it are its output."""
    commands = examples(page)
    assert len(commands) >= least
    for command, printed in commands:
        done = shell(re.sub(r"\bsynparse ", "$RUN ", command), tmp_path, warm)
        assert done.returncode == 0, done.stderr
        assert done.stdout + done.stderr == printed, command


def test_plain_text_is_converted_if_input_format_is_text(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    path.write_text("It rained. We stayed in.\n", encoding="utf-8")
    assert call.result("convert", path, "--tokenizer", "unicode", "--format", "text") == "It rained .\nWe stayed in .\n"
    assert call.result("convert", path, "--input-format", "text", "--format", "text") == "It rained. We stayed in.\n"
    assert "has no tree" in call.refusal("convert", path, "--input-format", "text")
    assert "text outside of brackets" in call.refusal("convert", path, "--format", "text")


@pytest.mark.parametrize("option", [("--tokenizer", "unicode"), ("--input-format", "text"), ("--paragraphs",)])
def test_folder_of_texts_is_read_if_the_input_is_declared_as_text(
    option: tuple[str, ...], call: Caller, tmp_path: Path
) -> None:
    for name, text in (("a.txt", "It rained\n"), ("b.txt", "We stayed\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert call.result("convert", tmp_path, *option, "--format", "text") == "It rained\nWe stayed\n"
    assert "holds no file of a treebank" in call.refusal("convert", tmp_path)


def test_changes_of_trees_without_effect_are_noted_or_refused(call: Caller, tmp_path: Path) -> None:
    heads, trees = tmp_path / "heads.conllu", tmp_path / "trees.mrg"
    heads.write_text("1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n\n" * 2, encoding="utf-8")
    trees.write_text("(S (NP (DT the) (NN dog)))\n", encoding="utf-8")
    code, _, err = call("convert", heads, "--format", "conllu", "--binarize", "left", "--strip", "unary")
    assert code == 0
    assert err.count("sentences without trees are not changed by --strip unary, --binarize") == 1
    for option in (("--binarize", "left"), ("--strip", "functions")):
        assert "does not apply to --format text, which has words only" in call.usage(
            "convert", trees, "--format", "text", *option
        )


def test_phrases_of_heads_are_gold_trees(call: Caller, tmp_path: Path) -> None:
    gold, trees = tmp_path / "gold.conllu", tmp_path / "gold.mrg"
    heads = {"a": (2, 0, 2, 3), "b": (3, 4, 0, 3), "c": (0,)}  # the arcs of b cross, and c has no phrase
    rows = [
        "".join(f"{i}\t{name}{i}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate(heads[name], 1))
        for name in heads
    ]
    gold.write_text("\n".join(rows) + "\n", encoding="utf-8")
    _, _, err = call("convert", gold, "--phrases-of-heads", "-o", trees)
    assert trees.read_text() == "(X (W a1) (W a2) (X (W a3) (W a4)))\n"
    assert "note: left out 2 sentences: no word is below another, or arcs cross" in err
    (score,) = call.json("eval", "--gold", trees, "--baseline", "right")["scores"]
    assert score["value"] == pytest.approx(200 / 3)
    assert "has no brackets" in call.usage("convert", gold, "--phrases-of-heads", "--format", "conllu")


NEWDOC = (
    "# newdoc id = a\n# sent_id = 1\n1\tx\t_\tN\t_\t_\t0\troot\t_\t_\n\n# newdoc id = b\n# newpar\n# sent_id = 2\n"
    "1\tp\t_\tN\t_\t_\t0\troot\t_\t_\n2\tq\t_\tN\t_\t_\t1\tdep\t_\t_\n\n1\tx\t_\tN\t_\t_\t0\troot\t_\t_\n\n"
)


@pytest.mark.parametrize(("damage", "options"), [("", ("--max-length", 1)), ("2\tq", ("--on-error", "skip"))])
def test_documents_begin_after_a_sentence_that_is_left_out(
    call: Caller, tmp_path: Path, damage: str, options: tuple[str, ...]
) -> None:
    file = tmp_path / "a.conllu"
    file.write_text(NEWDOC.replace(damage, "damage") if damage else NEWDOC, encoding="utf-8")
    converted = call.result("convert", file, "--format", "conllu", *options)
    assert [line for line in converted.splitlines() if line.startswith("#")] == [
        "# newdoc id = a",
        "# sent_id = 1",
        "# text = x",
        "# newdoc id = b",
        "# newpar",
        "# sent_id = 2",
        "# text = x",
    ]


def test_phrases_of_heads_keep_tags(call: Caller, tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    words = [("Profit", "NN", 2), ("rose", "VBD", 0), ("5", "CD", 4), ("%", "NN", 2), (".", ".", 2)]
    rows = [f"{i}\t{word}\t_\t_\t{tag}\t_\t{head}\tdep\t_\t_\n" for i, (word, tag, head) in enumerate(words, 1)]
    file.write_text("".join(rows) + "\n", encoding="utf-8")
    command = ("convert", file, "--phrases-of-heads", "--strip", "punctuation")
    assert call.result(*command) == "(X (NN Profit) (VBD rose) (X (CD 5) (NN %)))\n"
    assert call.result(*command, "--max-length", 3) == ""


def test_words_without_brackets_are_read_again(call: Caller, tmp_path: Path) -> None:
    file = tmp_path / "a.mrg"
    file.write_text("(dog)\n(S (NN a) (VB b))\n", encoding="utf-8")
    assert call.result("convert", file) == file.read_text(encoding="utf-8")
    file.write_text("(S (NN a) (PU \u3000) (VB b))\n", encoding="utf-8")
    written = tmp_path / "a.tiger"
    call.result("convert", file, "-o", written, "--format", "tiger")
    assert call.result("convert", written, "--input-format", "tiger") == file.read_text(encoding="utf-8")


def test_ids_are_not_repeated(call: Caller, tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    row = "1\tx\t_\tN\t_\t_\t0\troot\t_\t_\n\n"
    file.write_text(f"# sent_id = 2\n{row}{row}", encoding="utf-8")
    converted = call.result("convert", file, "--format", "conllu").splitlines()
    assert [line for line in converted if line.startswith("# sent_id")] == ["# sent_id = 2", "# sent_id = 3"]

"""``synparse draw``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import Caller, shell

TREES = "(X (W The) (X (W old) (W man)))\n(X (W a) (X (W b) (W c)))\n"
GOLD = "(S (NP (DT The) (JJ old)) (NN man))\n(S (A a) (B (C b) (D c)))\n"


@pytest.fixture(autouse=True)
def folder(working_folder: Path, tmp_path: Path) -> Path:
    """A folder with two files of trees and a text."""
    Path("trees.txt").write_text(TREES, encoding="utf-8")
    Path("gold.mrg").write_text(GOLD, encoding="utf-8")
    Path("in.txt").write_text("the cat saw a dog\nthe dog\n", encoding="utf-8")
    return tmp_path


def test_in_the_terminal(call: Caller) -> None:
    assert call.result("draw", "trees.txt", "--sentences", "2").splitlines() == ["2", "┌──┐", "│ ┌┴┐", "a b c", ""]


@pytest.mark.parametrize("kind", ["svg", "html", "tex", "pdf", "png"])
def test_into_files(call: Caller, kind: str) -> None:
    if kind in ("pdf", "png"):
        pytest.importorskip("typst", reason="PDF and PNG need the extra draw")
    assert call.result("draw", "trees.txt", "--gold", "gold.mrg", "-o", f"a.{kind}") == ""
    made = Path(f"a.{kind}").read_bytes()
    begins = {"svg": b"<svg", "html": b"<!DOCTYPE html>", "tex": b"\\documentclass", "pdf": b"%PDF", "png": b"\x89PNG"}
    assert made.startswith(begins[kind])
    assert not Path(f"a.{kind}.part").exists()


def test_spaces_and_joiners_within_words_are_kept_in_latex(call: Caller) -> None:
    Path("own.mrg").write_text(
        "(S (N ch\u00fang\u00a0t\u00f4i) (V \u0645\u06cc\u200c\u062e) (W a\u00adb\u202e))\n", encoding="utf-8"
    )
    call.result("draw", "own.mrg", "-o", "own.tex")
    text = Path("own.tex").read_text(encoding="utf-8")
    assert all(word in text for word in ("ch\u00fang~t\u00f4i", "\u0645\u06cc\u200c\u062e", "a\\-b?"))


def test_numbers_of_sentences_are_left_out_if_requested(call: Caller) -> None:
    for options in ((), ("--no-numbers",)):
        call.result("draw", "trees.txt", "--sentences", "2", *options, "-o", "a.svg")
        assert (">2</text>" in Path("a.svg").read_text(encoding="utf-8")) == (not options)


GLOSSED = """# text_id = kucing itu makan
# text_en = That cat eats.
1\tKucing\t_\t_\t_\t_\t3\tnsubj\t_\tGloss=cat
2\titu\t_\t_\t_\t_\t1\tdet\t_\tGloss=that
3\tmakan\t_\t_\t_\t_\t0\troot\t_\tGloss=eat|MSeg=ma-kan
4\tikan\t_\t_\t_\t_\t3\tobj\t_\tGloss=fish
5\tsegar\t_\t_\t_\t_\t4\tamod\t_\tGloss=fresh
6\tsekali\t_\t_\t_\t_\t5\tadvmod\t_\tGloss=very

"""


def test_glosses_and_translation_are_set_under_the_words(call: Caller) -> None:
    Path("a.conllu").write_text(GLOSSED, encoding="utf-8")
    lines = call.result("draw", "a.conllu").splitlines()
    words = next(index for index, line in enumerate(lines) if "Kucing" in line)
    assert [line.split() for line in lines[words : words + 3]] == [
        ["Kucing", "itu", "makan", "ikan", "segar", "sekali"],
        ["ma-kan"],
        ["cat", "that", "eat", "fish", "fresh", "very"],
    ]
    assert lines[-2] == "‘kucing itu makan / That cat eats.’"
    trees = call.result("draw", "a.conllu", "-m", "english", "--width", "32")
    assert "Kucing cat" in trees  # next to the words of a rotated tree
    for kind, expected in (("svg", ">eat</text>"), ("html", "‘kucing"), ("tex", r"{}cat \& {}that \& {}eat")):
        call.result("draw", "a.conllu", "-o", f"a.{kind}")
        assert expected in Path(f"a.{kind}").read_text(encoding="utf-8")
    call.result("draw", "a.conllu", "-m", "english", "-o", "a.tex")
    assert r"[{makan\\ma-kan\\eat}, align=center, tier=word]" in Path("a.tex").read_text(encoding="utf-8")


def test_field_data_without_trees_is_parsed(call: Caller) -> None:
    Path("a.sfm").write_text("\\tx Kucing itu makan\n\\ge cat that eat\n", encoding="utf-8")
    assert "┌" in call.result("draw", "a.sfm")


def test_font_size_and_gray(call: Caller) -> None:
    call.result("draw", "trees.txt", "--sentences", "1", "-o", "a.svg")
    call.result("draw", "trees.txt", "--sentences", "1", "--font", "Charis", "--scale", "2", "--gray", "-o", "b.svg")
    plain, other = (Path(name).read_text(encoding="utf-8") for name in ("a.svg", "b.svg"))
    width = [float(text.partition('width="')[2].partition('"')[0]) for text in (plain, other)]
    assert width[1] == pytest.approx(2 * width[0], abs=0.2)
    assert ">old</text>" in other
    assert other.count("font-family=\"'Charis', ") == other.count("<text") > 0
    assert 'font-size="32"' in other
    code, _, err = call("draw", "trees.txt", "--font", "Charis", "-o", "a.tex")
    assert code == 2
    assert "--font requires -o FILE.svg, FILE.pdf or FILE.png" in err


def test_model_is_drawn_next_to_gold(call: Caller, model: Path) -> None:
    picture = call.result("draw", "--gold", "gold.mrg", "-m", model)
    assert "of 1 gold brackets" in picture
    assert "● in gold and predicted" in picture
    assert call.result("draw", "in.txt", "-m", model).count("the") == 2


def test_model_of_characters_is_not_compared_with_gold(call: Caller, tiny_model: Callable[..., Path]) -> None:
    model = tiny_model("onlstm", "data.token=character", "data.normalization=raw", "train.epochs=1")
    problem = call.refusal("draw", "--gold", "gold.mrg", "-m", model)
    assert problem.startswith(f"{model}: the trees of this model are over characters, and those of the treebank")


def test_two_models_side_by_side(call: Caller, model: Path, copy: Path) -> None:
    picture = call.result("draw", "in.txt", "-m", model, "-m", copy, "--sentences", "1")
    assert str(model) in picture
    assert str(copy) in picture


def test_output_of_extract_is_drawn_with_bars(call: Caller, model: Path) -> None:
    Path("a.jsonl").write_text(call.result("extract", "-m", model, "in.txt"), encoding="utf-8")
    assert "█" in call.result("draw", "a.jsonl")
    assert call.result("draw", "a.jsonl", "-o", "a.svg") == ""
    assert Path("a.svg").read_text(encoding="utf-8").count('class="bar"') == 5 + 2  # with the legends


def test_from_standard_input(folder: Path, warm: str) -> None:
    done = shell("cat trees.txt | $RUN draw --sentences 1", folder, warm)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2] == "The old man"


def test_many_sentences_are_not_drawn_silently_in_part(call: Caller) -> None:
    Path("many.txt").write_text(TREES * 60, encoding="utf-8")
    code, _, err = call("draw", "many.txt", "-o", "a.html")
    assert code == 0
    assert "only the first 100 sentences are drawn" in err
    assert Path("a.html").read_text(encoding="utf-8").count("<figure") == 100
    call.result("draw", "many.txt", "--sentences", "1-120", "-o", "a.html")
    assert Path("a.html").read_text(encoding="utf-8").count("<figure") == 120


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("trees.txt", "-o", "a.jpg"), "end the name in .svg"),
        (("trees.txt", "-o", "-"), "-: unknown suffix; end the name in .svg"),
        (("trees.txt", "-o", "/dev/stdout"), "/dev/stdout: unknown suffix"),
        (("trees.txt", "-o", "no/a.svg"), "no/a.svg: there is no folder"),
        (("in.txt", "-m", "none"), "none: there is no such model"),
        (("in.txt", "--gold", "gold.mrg"), "leave it out, since models (-m) parse the sentences of --gold"),
        (("missing.txt",), "no such file"),
    ],
)
def test_refusals(call: Caller, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in call.refusal("draw", *arguments)


@pytest.mark.parametrize("sentences", ["0", "a-b", "2-1"])
def test_invalid_numbers_of_sentences_are_wrong_usage(call: Caller, sentences: str) -> None:
    problem = f"--sentences {sentences!r}: give numbers from 1 and rising ranges, such as 3,7-9,20-"
    assert call.refusal("draw", "trees.txt", "--sentences", sentences, code=2) == problem


@pytest.mark.parametrize("name", ["a.svg", "a.html", "a.tex", "a.png"])
def test_file_without_pictures_is_not_written(call: Caller, name: str) -> None:
    if name == "a.png":
        pytest.importorskip("typst", reason="PNG needs the extra draw")
    for arguments in (("trees.txt", "--sentences", "5"), ("trees.txt", "--gold", "gold.mrg", "--sentences", "5-")):
        problem = f"{name}: there is no sentence to draw; name other input or other --sentences"
        assert call.refusal("draw", *arguments, "-o", name) == problem
        assert not Path(name).exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--title", "x"), "--title requires -o FILE.html"),
        (("--title", "x", "-o", "a.svg"), "--title requires -o FILE.html"),
        (("--no-numbers",), "--no-numbers requires -o FILE"),
        (("--no-numbers", "-o", "a.html"), "--no-numbers requires -o FILE"),
        (("--width", "30", "-o", "a.svg"), "--width is for the terminal"),
        (("--ptb", "."), "--ptb requires --gold"),
        (("--head-rules", "collins"), "--head-rules requires --gold"),
        (("--decoder", "nary"), "require a model"),
    ],
)
def test_options_without_effect_are_refused(call: Caller, options: tuple[str, ...], problem: str) -> None:
    assert problem in call.usage("draw", "trees.txt", *options)


def test_predictions_for_other_sentences_are_refused(call: Caller) -> None:
    Path("short.txt").write_text(TREES.splitlines()[0] + "\n", encoding="utf-8")
    assert "1 sentences for the 2" in call.refusal("draw", "short.txt", "--gold", "gold.mrg")
    Path("wrong.txt").write_text(TREES.replace("man", "dog"), encoding="utf-8")
    assert "word 3 is 'dog', in gold 'man'" in call.refusal("draw", "wrong.txt", "--gold", "gold.mrg")


def test_encoding_and_format_hold_for_trees_and_gold(call: Caller, model: Path) -> None:
    text = "(S (NP (DT Le) (NN café)) (VP (VBZ ferme)))\n"
    Path("latin.mrg").write_text(text, encoding="latin-1")
    Path("utf-8.txt").write_text(text, encoding="utf-8")
    latin = ("--encoding", "latin-1")
    assert "café" in call.result("draw", "latin.mrg", *latin)
    assert "café" in call.result("draw", "latin.mrg", "-m", model, *latin)
    assert "1 of 1 gold brackets" in call.result("draw", "utf-8.txt", "latin.mrg", "--gold", "latin.mrg", *latin)
    assert "café" in call.result("draw", "--gold", "latin.mrg", "-m", model, *latin)
    assert "give --encoding" in call.refusal("draw", "latin.mrg")
    Path("text.mrg").write_text("the cat saw a dog\n", encoding="utf-8")
    assert "\nthe cat saw a dog\n" in call.result("draw", "text.mrg", "--input-format", "text", "-m", model)
    assert "(X" in call.result("draw", "trees.txt", "--input-format", "text", "-m", model, "--sentences", "1")


def test_trees_are_not_compared_with_heads(call: Caller) -> None:
    call.result("convert", "gold.mrg", "--format", "conllu", "-o", "heads.conllu")
    problem = call.refusal("draw", "trees.txt", "--gold", "heads.conllu")
    assert problem == "trees.txt: trees cannot be compared with gold heads; name gold trees instead"


def test_json_lines_of_words_are_parsed(call: Caller, tiny_model: Callable[..., Path]) -> None:
    model = str(tiny_model("onlstm"))
    Path("a.jsonl").write_text('{"words": ["the", "cat", "sat"]}\n{"text": "a dog"}\n', encoding="utf-8")
    picture = call.result("draw", "a.jsonl", "-m", model)
    assert "the cat sat" in picture
    assert "a dog" in picture


def test_gold_trees_without_labels_have_no_heads(call: Caller) -> None:
    call.result("convert", "gold.mrg", "--format", "conllu", "-o", "heads.conllu")
    call.result("convert", "gold.mrg", "--strip", "labels", "-o", "bare.mrg")
    problem = call.refusal("draw", "heads.conllu", "--gold", "bare.mrg")
    assert problem.startswith("bare.mrg: these trees have no labels, so no head rule fits and heads are arbitrary")


def test_gold_heads_are_derived_from_gold_trees(call: Caller, tiny_model: Callable[..., Path]) -> None:
    Path("to.mrg").write_text("(S (NP (PRP We)) (VP (VBP want) (VP (TO to) (VP (VB go)))))\n", encoding="utf-8")
    call.result("convert", "to.mrg", "--format", "conllu", "--head-rules", "stanford", "-o", "heads.conllu")
    arguments = ("draw", "heads.conllu", "--gold", "to.mrg", "--head-rules")
    assert "4 of 4 gold arcs" in call.result(*arguments, "stanford")
    assert "0 of 4 gold arcs" in call.result(*arguments, "collins")
    assert "no head rules 'colins'" in call.refusal(*arguments, "colins", code=2)
    code, drawn, err = call("draw", "-m", tiny_model("udgn"), "--gold", "to.mrg")
    assert code == 0, err
    assert " of 4 gold arcs" in drawn
    assert "note: gold heads are derived by the rules collins; choose others with --head-rules\n" in err


@pytest.mark.parametrize("name", ["onlstm", "udgn"])
def test_parse_draws_as_draw_does(call: Caller, tiny_model: Callable[..., Path], name: str) -> None:
    model = tiny_model(name)
    drawn = call.result("draw", "-m", model, "in.txt").split("\n\n")
    parsed = call.result("parse", "-m", model, "in.txt", "--format", "drawing").split("\n\n")
    assert [block.splitlines()[-1].split() for block in parsed if block] == [
        ["the", "cat", "saw", "a", "dog"],
        ["the", "dog"],
    ]
    assert parsed[0] in drawn[0]


def test_words_of_a_utf_8_file_are_named_as_they_are(call: Caller) -> None:
    Path("latin.ptb").write_bytes("(S (N café) (V old))\n".encode("latin-1"))
    Path("other.txt").write_text("(S (N cafés) (V old))\n", encoding="utf-8")
    problem = call.refusal("draw", "other.txt", "--gold", "latin.ptb", "--encoding", "latin-1")
    assert problem.endswith("word 1 is 'cafés', in gold 'café'")

"""The bracket reader: what it accepts, what it refuses and where it lays the blame."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.files import write
from treebank.base.errors import TreebankError
from treebank.core import brackets
from treebank.core.tree import Tree
from treebank.io.bracketed import parse_bare, parse_trees, read_bracketed, read_trees
from treebank.io.read import InputOptions, read_sentences

ROOT = Path(__file__).resolve().parents[3]
BRACKETS = ROOT / "tests/data/brackets"
INVALID = ROOT / "tests/data/invalid"
DATA = ROOT.parent / "shared/data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the treebanks of ../shared/data are not here")


def read(name: str) -> list[tuple[int, str]]:
    return [(line, str(tree)) for tree, line in read_trees(str(BRACKETS / name))]


def test_penn_trees_with_traces_and_several_trees_in_a_line() -> None:
    assert read("penn.mrg") == [
        (
            2,
            "(S (NP-SBJ-1 (DT The) (NNS roads)) (VP (VBD were) (VP (VBN closed) (NP (-NONE- *-1))"
            " (PP-TMP (IN at) (NP (NN night))))) (. .))",
        ),
        (10, "(S (NP-SBJ (-NONE- *)) (VP (VB Wait)) (. .))"),
        (15, "(FRAG (NP (CD 5) (NNS miles)) (-LRB- -LRB-) (NP a (NN b)) (-RRB- -RRB-))"),
        (15, "( (INTJ (UH Oh)) (. !))"),
    ]


def test_sentences_have_no_traces() -> None:
    first, second, third, _ = read_bracketed(str(BRACKETS / "penn.mrg"))
    assert first.words == ("The", "roads", "were", "closed", "at", "night", ".")
    assert first.tags == ("DT", "NNS", "VBD", "VBN", "IN", "NN", ".")
    assert first.tree is not None
    assert "*-1" in first.tree.words
    assert second.words == ("Wait", ".")
    assert third.tags[3] == ""
    assert third.words[3] == "a"
    assert str(third.location).endswith("penn.mrg:15")


def test_windows_line_ends_comments_and_blank_lines() -> None:
    assert read("crlf.ptb") == [(3, "(TOP (S (NP (PRP I)) (VP (VBP agree))))"), (8, "(HEADING (NN Title))")]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("( (S (NN a)) )", "(S (NN a))"),
        ("(((S (NN a))))", "(S (NN a))"),
        ("( (NN a) )", "(NN a)"),
        ("( (NN a) (NN b) )", "( (NN a) (NN b))"),
        ("(S ( (NN a) (NN b)) (. .))", "(S ( (NN a) (NN b)) (. .))"),
        ("( S (NN a))", "(S (NN a))"),
        ("(S\n(NN\n a\n))", "(S (NN a))"),
        ("(S (VP (VB go)) ( ))", "(S (VP (VB go)))"),
        ("(S (H Sim) (,) (--) (.))", "(S (H Sim) (, ,) (-- --) (. .))"),
        ("(S a b (NN c))", "(S a b (NN c))"),
        ("(S (X a\u00a0b\u2028c\x0b\x85d))", "(S (X a\u00a0b\u2028c\x0b\x85d))"),
        ("\t(S (NN a))  ", "(S (NN a))"),
        ("()", ""),
    ],
)
def test_forms(text: str, tree: str) -> None:
    assert [str(parsed) for parsed in parse_trees(text)] == [tree]


@pytest.mark.parametrize(
    "text", ["(S (NN a)", "(S (NN a)))", ")", "(S (NN a)) b", "a", "(S (NN a))\n(S", "(A a)) (B b)", "(A a)) ((B b)"]
)
def test_unbalanced_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"never closed|too many|outside"):
        list(parse_trees(text))


@pytest.mark.parametrize(
    ("text", "bracket"), [("(NP (DT the) (NN))", "(NN)"), ("(S (NN a) (VP))", "(VP)"), ("(S (NN a) (NP ( )))", "(NP)")]
)
def test_bracket_without_word_is_an_error(text: str, bracket: str) -> None:
    with pytest.raises(ValueError, match=rf"the bracket \{bracket[:-1]}\) has no word; add one"):
        list(parse_trees(text))


def test_word_in_brackets_of_its_own_needs_no_label_elsewhere() -> None:
    assert [str(tree) for tree in parse_trees("((I) ((saw) it))")] == ["( I ( saw it))"]


OPEN = "this tree is never closed"
NEXT = "; add the missing ')', or take the tree out"
ERRORS = {
    "never_closed_one_line.mrg": (2, f"{OPEN} (the next one starts at line 3){NEXT}"),
    "never_closed_indented.mrg": (4, f"{OPEN} (the next one starts at line 7){NEXT}"),
    "never_closed_first.mrg": (1, f"{OPEN} (the next one starts at line 5){NEXT}"),
    "never_closed_unindented.mrg": (4, OPEN + NEXT),
    "swallowed.mrg": (1, f"{OPEN} (the next one starts at line 2){NEXT}"),
    "too_many.mrg": (2, "a ')' too many in line 3, or the tree in line 4 is not in the first column; take the ')' out"),
    "too_many_one_line.mrg": (1, "a ')' too many here; take it out, or add the missing '('"),
    "plain_text.mrg": (2, "text outside of brackets: 'This is plain text about nothi…'"),
    "trailing_text.mrg": (1, "text outside of brackets: 'and more'"),
    "comment.mrg": (1, "this comment never ends; add '*/'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_file_and_line(name: str) -> None:
    line, message = ERRORS[name]
    with pytest.raises(TreebankError) as caught:
        list(read_bracketed(str(INVALID / name)))
    assert caught.value.line == line
    assert caught.value.message.startswith(message)
    assert str(caught.value).startswith(f"{INVALID / name}:{line}: ")


@pytest.mark.parametrize("broken", [0, 1, 5, 9])
@pytest.mark.parametrize("style", ["penn", "line", "outer", "unindented", "blank"])
def test_blame_falls_on_the_tree_that_lacks_a_bracket(tmp_path: Path, style: str, broken: int) -> None:
    shapes = {
        "penn": "( (S\n" + "    (NP (DT a) (NN b))\n" * 3 + "  ) )\n",
        "line": "(S (NP (DT a) (NN b)) (VP (VB c)))\n",
        "outer": "( (S (NP (DT a) (NN b)) (VP (VB c))) )\n",
        "unindented": "(S\n(NP (DT a) (NN b))\n(VP (VB c)))\n",
        "blank": "(S\n  (NP (DT a) (NN b))\n  (VP (VB c)))\n\n",
    }
    trees = [shapes[style]] * 10
    whole = write(tmp_path, "".join(trees))
    assert len(list(read_trees(whole))) == 10
    start = "".join(trees[:broken]).count("\n") + 1
    at = trees[broken].index(")")
    trees[broken] = trees[broken][:at] + trees[broken][at + 1 :]
    with pytest.raises(TreebankError) as caught:
        list(read_trees(write(tmp_path, "".join(trees), "broken.mrg")))
    assert caught.value.line == start
    trees[broken] = shapes[style].replace("a)", "a))", 1)
    with pytest.raises(TreebankError) as caught:
        list(read_trees(write(tmp_path, "".join(trees), "broken.mrg")))
    assert "too many" in caught.value.message
    assert start <= caught.value.line < start + shapes[style].count("\n")


def test_words_without_a_tag_and_lines_of_several_trees_are_reported(tmp_path: Path) -> None:
    tree = "(S\n  (NP (DT the) (NN dog))\n  (VP (VBD sat)))\n"
    conflict = tree.replace("  (VP", "<<<<<<< HEAD\n  (VP")

    def notes(text: str) -> list[str]:
        path = write(tmp_path, text)
        messages: list[str] = []
        assert list(read_bracketed(path, notify=messages.append))
        return [message.replace(str(tmp_path), "") for message in messages]

    assert notes(5 * tree) == []
    assert notes(2 * tree + tree.replace("NN dog", "NN d og")) != []
    assert notes(5 * tree + conflict + tree) == [
        "/trees.mrg:16: '<<<<<<<' has no tag, unlike most words; is it out of place?"
    ]
    assert notes("(S (NP Mary) (VP saw (NP him)))\n" * 5 + tree) == []
    long = f"(S {'(NN dog) ' * 30}(VP (VBD sat)))\n"
    assert notes(long + long.replace("(VP (VBD sat))", "VP (VBD sat)")) == [
        "/trees.mrg:2: 'VP' has no tag, unlike most words; is it out of place?"
    ]
    (message,) = notes(tree + "(X (W a) (W b)) (W c) (X (W d))\n(W e)\n(X (W f)) (W g)\n" + tree)
    assert message.startswith("/trees.mrg:4: this line has several trees")
    assert message.endswith("(1 more like this)")


def test_deep_tree_is_read_without_recursion(tmp_path: Path) -> None:
    count = 10_000
    text = "".join(f"(X (W w{i}) " for i in range(count)) + ")" * count
    ((tree, _),) = read_trees(write(tmp_path, text))
    assert tree.words[-1] == f"w{count - 1}"
    assert tree.spans == tuple((i, count) for i in range(count))
    assert list(parse_trees(str(tree))) == [tree]


def test_tree_without_an_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treebank.io.lines.MAX_SENTENCE_CHARACTERS", 2**20)
    path = write(tmp_path, "(S (A b))\n(S\n" + "(A b)\n" * 250_000)
    sentences = read_bracketed(path)
    assert next(sentences).words == ("b",)
    with pytest.raises(TreebankError, match=r"trees\.mrg:2: this sentence has no end within 1 MB"):
        list(sentences)


def test_large_file_is_cut_anywhere(tmp_path: Path) -> None:
    sentence = "(S\n  (NP (DT the) (NN cat))\n  (VP (VBZ sleeps)))\n"
    count = 12_000  # several blocks of 256 KiB
    trees = list(read_trees(write(tmp_path, sentence * count)))
    assert [line for _, line in trees] == [3 * i + 1 for i in range(count)]
    assert len({tree for tree, _ in trees}) == 1


words = st.text(st.characters(exclude_characters=" \t\n()\r\0", exclude_categories=["Cs"]), min_size=1, max_size=6)
labels = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="()"), min_size=1, max_size=5)


@st.composite
def random_trees(draw: st.DrawFn) -> Tree:
    """Any labelled tree with a tag for every word, unary chains included."""

    def grow(start: int, end: int, depth: int) -> list[tuple[int, int, str]]:
        nodes = [(start, end, draw(labels))]
        while depth < 4 and start < end:
            middle = draw(st.integers(start + 1, end))
            if draw(st.booleans()):
                nodes.extend(grow(start, middle, depth + 1))
            start = middle
        return nodes

    leaves = draw(st.lists(words, min_size=1, max_size=7))
    nodes = grow(0, len(leaves), 0)
    tags = [draw(labels) for _ in leaves]
    text = Tree.from_spans(leaves, ())
    return Tree(
        text.words,
        tuple(tags),
        tuple((start, end) for start, end, _ in nodes),
        tuple(label for _, _, label in nodes),
    )


@given(random_trees())
def test_text_and_back(tree: Tree) -> None:
    assert Tree.from_text(str(tree)) == tree
    assert [Tree(*parts) for parts in brackets.scan(str(tree))] == [tree]


@given(st.text(st.sampled_from("()ab .\n\t"), max_size=30))
def test_regular_trees_agree_with_general_parser(text: str) -> None:
    short = brackets.scan_regular(text)
    if short is not None:
        assert list(brackets.scan(text)) == [short]


@given(st.text(max_size=60))
def test_random_text_raises_only_value_errors(text: str) -> None:
    with suppress(ValueError):
        list(parse_trees(text))
    with suppress(ValueError):
        parse_bare(text)


GOOD = "(S\n  (NP (DT a) (NN b))\n  (VP (VB c)))\n"
BROKEN = {
    "open": GOOD.replace("c)))", "c))"),
    "open in one line": "(S (NP (DT a))\n",
    "closed too early": GOOD.replace("b))", "b)))"),
    "closed too early, the rest is balanced": GOOD.replace("b))", "b)))").replace("c)))", "c))"),
    "closed too often": GOOD.replace("c)))", "c))))"),
    "closed too often below": GOOD + "  )\n",
    "text inside": GOOD.replace("b))", "b)))\n  text"),
}


@pytest.mark.parametrize("separator", ["", "\n", "\n# comment\n"])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_trees_can_be_left_out(tmp_path: Path, name: str, separator: str) -> None:
    errors: list[TreebankError] = []
    path = write(tmp_path, separator.join([GOOD, BROKEN[name], GOOD, BROKEN[name], GOOD]))
    trees = list(read_trees(path, on_bad=errors.append))
    assert {str(tree) for tree, _ in trees} == {"(S (NP (DT a) (NN b)) (VP (VB c)))"}
    step = (GOOD + separator).count("\n")
    broken = (BROKEN[name] + separator).count("\n")
    assert [line for _, line in trees] == [1, 1 + step + broken, 1 + 2 * step + 2 * broken]
    blamed = BROKEN[name].count("\n", 0, BROKEN[name].find("  text")) if "text" in name else 0
    assert [error.line - blamed for error in errors] == [1 + step, 1 + 2 * step + broken]
    with pytest.raises(TreebankError) as caught:
        list(read_trees(path))
    assert str(caught.value) == str(errors[0])


def test_malformed_trees_between_lines_are_skipped(tmp_path: Path) -> None:
    errors: list[TreebankError] = []
    lines = ["(S (A a))", "(S (A b)))", "(TITLE (A c))", "(S (A d)) e", "(S (A f)", "(TITLE (A g))", "(S (A h)"]
    trees = read_trees(write(tmp_path, "\n".join(lines)), on_bad=errors.append)
    assert [line for _, line in trees] == [1, 3, 6]
    assert [error.line for error in errors] == [2, 4, 5, 7]


@pytest.fixture(scope="module")
def wsj(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the WSJ sample's .mrg files."""
    folder = tmp_path_factory.mktemp("wsj")
    with zipfile.ZipFile(DATA / "nltk_data/corpora/treebank.zip") as archive:
        names = [name for name in archive.namelist() if "/combined/" in name and name.endswith(".mrg")]
        archive.extractall(folder, names)
    return folder


@needs_data
def test_wsj_sample_agrees_with_nltk(wsj: Path) -> None:
    import nltk

    nltk.data.path.insert(0, str(DATA / "nltk_data"))
    sentences = list(read_sentences([wsj]))
    assert len(sentences) == 3_914
    assert sum(len(sentence.words) for sentence in sentences) == 94_084
    compared = 0
    for name in nltk.corpus.treebank.fileids()[::12]:  # nltk is slow
        of_file = [sentence.tree for sentence in sentences if Path(sentence.location.path).name == Path(name).name]
        assert of_file == [Tree.from_nltk(tree) for tree in nltk.corpus.treebank.parsed_sents(name)]
        compared += len(of_file)
    assert compared > 300


def test_trees_without_labels_are_read_if_the_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("((the cat) (sat (on (the mat))))\n\n(it (saw (dog)))\n(x\n")
    skipped: list[TreebankError] = []
    sentences = list(read_sentences([path], input_options=InputOptions(form="bare"), on_bad=skipped.append))
    assert [" ".join(sentence.words) for sentence in sentences] == ["the cat sat on the mat", "it saw dog"]
    assert [sorted(sentence.tree.spans) for sentence in sentences] == [
        [(0, 2), (0, 6), (2, 6), (3, 6), (4, 6)],
        [(0, 3), (1, 3)],
    ]
    assert [sentence.location.line for sentence in sentences] == [1, 3]
    assert [error.line for error in skipped] == [4]

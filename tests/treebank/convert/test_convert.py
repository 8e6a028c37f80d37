"""Conversion of treebanks, transformations of trees, and reports of lost annotation."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.calls import Caller
from tests.support.nested_trees import ROOTS, Node, flat, is_leaf
from treebank.base.errors import SynparseError, TreebankError
from treebank.convert.convert import KEPT, Transformation, Treebanks, binarize, strip_functions
from treebank.core.distances import distances_from_tree, spans_from_distances
from treebank.core.sentence import Location, Sentence, Treebank, word_mask
from treebank.core.tree import TRACE, Tree
from treebank.evaluate.conventions import ATTACHMENT_CONVENTIONS
from treebank.io.formats import WRITERS
from treebank.io.jsonl import tree_of
from treebank.io.read import InputOptions, read_sentences

Strings = tuple[str, ...]


def select(node: Node, is_wanted: Any) -> Node | None:
    """The node without the leaves that are not wanted and the brackets that this leaves empty."""
    if is_leaf(node):
        return node if is_wanted(node) else None
    children = [child for child in (select(child, is_wanted) for child in node[1]) if child is not None]
    return (node[0], children) if children else None


def binary(node: Node, direction: str) -> Node:
    """The node with at most two children a bracket."""
    if is_leaf(node):
        return node
    label, children = node[0], [binary(child, direction) for child in node[1]]
    while len(children) > 2:
        if direction == "right":
            children[-2:] = [("@" + label, children[-2:])]
        else:
            children[:2] = [("@" + label, children[:2])]
    return label, children


def right_branching(n: int) -> Tree:
    return Tree.from_spans([f"w{i}" for i in range(n)], [(i, n) for i in range(n - 1)])


# --- steps


@given(ROOTS, st.sampled_from(["left", "right"]))
def test_binarisation_is_that_of_plain_recursion(root: Node, direction: Any) -> None:
    tree = flat(root)
    result = binarize(tree, direction)
    assert result == flat(binary(root, direction))
    unmarked = [pair for pair in zip(result.spans, result.labels, strict=True) if not pair[1].startswith("@")]
    assert unmarked == list(zip(tree.spans, tree.labels, strict=True))
    assert binarize(result, direction) is result


@given(ROOTS)
def test_distances_are_those_of_the_right_binarised_tree(root: Node) -> None:
    tree = flat(root)
    distances = distances_from_tree(tree)
    right = binarize(tree, "right")
    assert distances == distances_from_tree(right)
    assert set(right.collapse_unary().spans) - {(0, len(tree))} == set(spans_from_distances(distances)) - {
        (0, len(tree))
    }
    back = tree_of({"words": list(tree.words), "distances": distances})
    assert (back.words, back.spans) == (tree.words, right.collapse_unary().spans)


@given(ROOTS)
def test_function_tags(root: Node) -> None:
    result = strip_functions(flat(root)).labels
    assert result == tuple(label.split("-")[0].split("=")[0] for label in flat(root).labels)
    assert strip_functions(Tree.from_text("(-X- (A a) (B b))")).labels == ("-X-",)


@given(ROOTS, st.sets(st.sampled_from(["traces", "punctuation"])))
def test_stripping_agrees_with_plain_recursion(root: Node, strip: set[str]) -> None:
    def is_wanted(leaf: Node) -> bool:
        if leaf[0] == TRACE:
            return "traces" not in strip
        return "punctuation" not in strip or leaf[0] in ("DT", "NN", "VBZ")

    left = select(root, is_wanted)
    sentence = Sentence((), tree=flat(root))
    tree = flat(root)
    survives = word_mask("words", tree.words, tree.tags)
    assert Transformation(strip=tuple(strip)).transform(sentence, survives).tree == (
        flat(left) if left else Tree((), (), (), ())
    )


@pytest.mark.parametrize("direction", ["left", "right"])
def test_tree_of_10_000_words_is_transformed(direction: Any) -> None:
    n = 10_000
    deep = right_branching(n)
    assert binarize(deep, direction) is deep
    wide = Tree.from_spans(deep.words, [])
    spans = {(i, n) for i in range(n - 1)} if direction == "right" else {(0, i) for i in range(2, n + 1)}
    assert set(binarize(wide, direction).spans) == spans
    for tree in (deep, binarize(wide, direction)):
        for form in WRITERS:
            (text,) = WRITERS[form]([Sentence(tree.words, tree=tree)], "collins")
            assert len(text) > n
        (line,) = WRITERS["spans"]([Sentence(tree.words, tree=tree)], "collins")
        assert tree_of(json.loads(line)) == Tree(tree.words, tree.tags, tree.spans, tree.labels)
    assert str(tree_of(json.loads(next(WRITERS["distances"]([Sentence(deep.words, tree=deep)], "collins"))))) == str(
        deep
    )


# --- forms


@given(ROOTS)
def test_spans_and_back(root: Node) -> None:
    tree = flat(root)
    (line,) = WRITERS["spans"]([Sentence((), tree=tree)], "collins")
    assert tree_of(json.loads(line)) == tree
    bare = tree.without_labels()
    (line,) = WRITERS["spans"]([Sentence((), tree=bare)], "collins")
    assert set(json.loads(line)) == {"words", "spans", *["labels", "tags"] * (TRACE in tree.tags)}
    assert tree_of(json.loads(line)) == (bare if TRACE in tree.tags else bare.collapse_unary())


@given(st.lists(ROOTS, max_size=2))
def test_text_is_the_words_without_traces(roots: list[Node]) -> None:
    sentences = [Sentence(tree.without_traces().words, tree=tree) for tree in map(flat, roots)]
    lines = list(WRITERS["text"](Transformation()(sentences), "collins"))
    assert lines == [
        " ".join(w for w, t in zip(s.tree.words, s.tree.tags, strict=True) if t != TRACE) for s in sentences
    ]


def test_empty_elements_stay_empty_without_labels() -> None:
    tree = Tree.from_text("(S (NP (-NONE- *)) (VP (VB go)))").without_labels()
    assert str(tree) == "(X (X (-NONE- *)) (X (W go)))"
    assert tree.without_traces().words == ("go",)


def test_word_with_a_space_stays_one_word() -> None:
    assert list(WRITERS["text"]([Sentence(("Hà Nội", "đẹp"))], "collins")) == ["Hà\u00a0Nội đẹp"]


@pytest.mark.parametrize("form", ["brackets", "spans", "distances", "conllu"])
def test_sentence_without_a_tree_is_an_error(form: str) -> None:
    with pytest.raises(TreebankError, match=r"^x\.txt:7: this sentence has no tree"):
        list(WRITERS[form]([Sentence(("a",), location=Location("x.txt", 7))], "collins"))


def test_words_below_a_deleted_root_become_roots(tmp_path: Path) -> None:
    rows = (("Da", 4, "conj"), (",", 1, "punct"), ("ja", 4, "advmod"), ("!", 0, "root"), ("so", 3, "dep"))
    lines = [f"{i}\t{word}\t_\t_\t_\t_\t{head}\t{name}\t_\t_" for i, (word, head, name) in enumerate(rows, 1)]
    (tmp_path / "a.conllu").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    for options in (InputOptions(), InputOptions(keep_annotation=True)):
        sentences = read_sentences([tmp_path / "a.conllu"], input_options=options)
        (text,) = WRITERS["conllu"](Transformation(strip=("punctuation",))(sentences), "collins")
        cells = [line.split("\t") for line in text.splitlines() if line[0] != "#"]
        assert [(row[1], *row[6:8]) for row in cells] == [("Da", "0", "root"), ("ja", "0", "root"), ("so", "2", "dep")]


@pytest.mark.parametrize(
    ("words", "tags", "universal_tags"),
    [
        (("ja", ",", "geht"), ("RB", ",", "VBC"), ("ADV", "PUNCT", "VERB")),
        (("is", "$", "5", "-"), ("AUX", "$", "CD", "HYPH"), ("AUX", "SYM", "NUM", "PUNCT")),
        (("ja", "+", "."), ("ITJ", "XY", "$."), ("INTJ", "SYM", "PUNCT")),
    ],
)
def test_words_of_heads_are_those_of_scoring(words: Strings, tags: Strings, universal_tags: Strings) -> None:
    sentence = Sentence(words, tags, universal_tags=universal_tags)
    (result,) = Transformation(strip=("punctuation",))([sentence])
    convention = ATTACHMENT_CONVENTIONS["udgn"].fitted(Treebank("gold", [sentence]))
    scored = word_mask(convention.tokens, words, tags, universal_tags)
    assert result.words == tuple(word for word, is_scored in zip(words, scored, strict=True) if is_scored)


def test_lengths_are_counted_as_in_scoring() -> None:
    texts = ["(S (NN a) (NN b) (. .))", "(S (NN a) (NN b) (NN c))", "(S (. .))", "(S (NN a) (-NONE- *) (. .))"]
    sentences = [Sentence((), tree=Tree.from_text(text)) for text in texts]
    result = [str(sentence.tree) for sentence in Transformation(max_length=2)(sentences)]
    assert result == [texts[0], texts[3]]


# --- reading


def test_inputs_by_suffix_by_name_and_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.mrg").write_text("(S (NN a))\n", encoding="utf-8")
    (tmp_path / "b.conllu").write_text("1\tb\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text('{"words": ["c"], "spans": []}\n', encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("a.mrg", "b.conllu", "*.jsonl")]
    assert [sentence.words for sentence in Treebanks(paths).sentences()] == [("a",), ("b",), ("c",)]
    assert sum(1 for _ in Treebanks(["sample"]).sentences()) == 1000
    for text, words in (
        ('\n{"words": ["c"], "spans": []}', [(), ("c",)]),
        ("# text = b\n\n1\tb\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n", [("b",)]),
        ("# a comment\n(S (NN d))", [("d",)]),
        ("", []),
    ):
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))  # type: ignore[type-var]
        monkeypatch.setattr("sys.stdin", stdin)
        assert [sentence.words for sentence in Treebanks(["-"]).sentences()] == words
    with pytest.raises(SynparseError, match="no such file"):
        Treebanks(["nowhere.mrg"]).sentences()


def test_rest_of_a_broken_file_is_skipped_and_the_next_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NN a))\n(S (NN\n", encoding="utf-8")
    (tmp_path / "b.mrg").write_text("(S (NN b))\n", encoding="utf-8")
    errors: list[TreebankError] = []
    sentences = Treebanks([str(tmp_path)], on_bad=errors.append).sentences()
    assert [sentence.words for sentence in sentences] == [("a",), ("b",)]
    assert [Path(error.path).name for error in errors] == ["a.mrg"]


CONLLU = "1\tDogs\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


def test_each_writer_says_what_it_keeps() -> None:
    assert set(KEPT) == set(WRITERS)


def test_losses_are_reported(call: Caller, working_folder: Path) -> None:
    Path("a.mrg").write_text("(S (NP (NNS Dogs)) (VP (VBP bark)))\n" * 2, encoding="utf-8")
    Path("a.conllu").write_text(CONLLU, encoding="utf-8")
    code, _, err = call("convert", "a.mrg", "--format", "conllu")
    lost = "trees of 2, labels of 2"
    assert (code, err) == (0, f"the format conllu does not keep these parts of sentences: {lost}\n")
    Path("b.mrg").write_text("(X (W Dogs) (X (W bark) (W loudly)))\n" * 2, encoding="utf-8")
    assert "2 trees have no labels" in call("convert", "b.mrg", "--format", "conllu")[2]
    for path, form in (("a.mrg", "tiger"), ("a.mrg", "negra"), ("a.mrg", "distances"), ("a.conllu", "conllu")):
        assert call("convert", path, "--format", form)[2] == ""


def test_columns_of_conllx_are_kept_or_reported(call: Caller, working_folder: Path) -> None:
    rows = "1\tEr\ter\tPRO\tPPER\tnom\t2\tSB\t{0}\t_\n2\tlacht\tlachen\tV\tVVFIN\t3.sg\t0\tROOT\t{0}\t_\n\n"
    Path("a.conllx").write_text(rows.format("_") + rows.format("2"), encoding="utf-8")
    code, out, err = call("convert", "a.conllx", "--format", "conllu")
    lost = "coarse tags of 2, projective heads of 1"
    assert (code, err) == (0, f"these parts of sentences are left out: {lost}\n")
    written = ["1\tEr\ter\t_\tPPER\tnom\t2\tSB\t_\t_", "2\tlacht\tlachen\t_\tVVFIN\t3.sg\t0\tROOT\t_\t_", ""]
    assert out.splitlines() == [
        line for number in "12" for line in (f"# sent_id = {number}", "# text = Er lacht", *written)
    ]
    Path("a.conllx").write_text(rows.replace("PPER", "_").replace("VVFIN", "_").format("_"), encoding="utf-8")
    code, out, err = call("convert", "a.conllx", "--format", "conllu")
    assert (code, err, out.count("\t_\tPRO\tnom\t")) == (0, "", 1)


@pytest.mark.parametrize(("form", "first"), [("conllu", "# sent_id = 1"), ("negra", "#FORMAT 3"), ("tiger", "<?xml")])
def test_sentences_without_words_are_reported(call: Caller, working_folder: Path, form: str, first: str) -> None:
    Path("a.mrg").write_text("(S (. .))\n(S (NN a) (. .))\n", encoding="utf-8")
    code, out, err = call("convert", "a.mrg", "--strip", "punctuation", "--format", form)
    assert (code, out.startswith(first)) == (0, True)
    assert err.splitlines()[0] == f"sentences without words are left out, because the format {form} has none: 1"
    assert "trees have no labels" not in err

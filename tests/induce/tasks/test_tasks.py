"""ListOps, logical and natural language inference: values, trees, generators, and readers that check every line."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from induce.settings.presets import resolve
from induce.tasks import listops, logic
from induce.tasks.accuracy import score_task
from induce.tasks.base import Example, Expression, binary_tree, joins
from induce.tasks.examples import load_examples
from induce.tasks.listops import ListOps, ListOpsSettings
from induce.tasks.logic import Logic, LogicSettings
from induce.tasks.nli import Nli, NliSettings
from tests.support.reference import SHARED
from tests.support.tiny import make_trainer
from treebank.base.errors import SynparseError, TreebankError
from treebank.core.tree import Tree

DATA = SHARED / "data"


def nli_line(label: str, second: str = "( No rain )") -> str:
    """A line of SNLI."""
    first = "( ( It ( rains today ) ) . )"
    return json.dumps({"gold_label": label, "sentence1_binary_parse": first, "sentence2_binary_parse": second})


published = pytest.mark.skipif(not DATA.is_dir(), reason=f"no published files in {DATA}")


def bracketed(text: str) -> str:
    """The tree of a ListOps expression, ``((a b) c)``."""
    words = text.split()
    tree = Tree.from_spans(words, listops.evaluate(words)[1])
    return str(Tree(tree.words, ("",) * len(tree), tree.spans, ("",) * len(tree.spans))).replace("( ", "(")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[MAX 2 9 [MIN 4 7 ] 0 ]", 9),
        ("[MED 1 4 ]", 2),  # the median is 2.5
        ("[MED 9 0 5 ]", 5),
        ("[SM 9 8 [SM 7 7 ] ]", 1),
        ("[MIN 3 [MAX 1 2 ] 8 ]", 2),
        ("7", 7),
    ],
)
def test_values_of_expressions(text: str, value: int) -> None:
    assert listops.evaluate(text.split())[0] == value


def test_tree_of_an_operation_is_left_branching() -> None:
    assert bracketed("[MAX 2 9 [MIN 4 7 ] 0 ]") == "((((([MAX 2) 9) ((([MIN 4) 7) ])) 0) ])"
    assert listops.evaluate(["7"])[1] == ()


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (listops.evaluate, "[MAX 2", "the expression is not complete"),
        (listops.evaluate, "", "the expression is not complete"),
        (listops.evaluate, "[MAX ]", "[MAX has no arguments"),
        (listops.evaluate, "2 ]", "']' follows the end of the expression"),
        (listops.evaluate, "]", "an operation is closed that was never opened"),
        (listops.evaluate, "[SUM 1 2 ]", "'[SUM' is not an operator, a digit or ']'"),
        (binary_tree, "( a b", "a bracket is never closed"),
        (binary_tree, "a )", "a bracket is closed that was never opened"),
        (binary_tree, "( a b c )", "a pair of brackets holds 3 parts; two are needed"),
        (binary_tree, "( a )", "a pair of brackets holds 1 part; two are needed"),
        (binary_tree, "a b", "2 expressions where one was expected"),
        (logic.formula, "( not a", "a bracket is never closed"),
        (logic.formula, "( not a ) )", "a bracket is closed that was never opened"),
        (logic.formula, "( a and b )", "a pair of brackets holds 3 parts"),
        (logic.formula, "( a b )", "an operator lacks what it operates on"),
        (logic.formula, "g", "'g' is not a variable, an operator or a bracket"),
        (logic.formula, "not", "expected one formula"),
        (logic.formula, "", "0 expressions where one was expected"),
    ],
)
def test_malformed_expression_is_refused(read: Callable[[list[str]], object], text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        read(text.split())


def test_joins_follow_the_tree() -> None:
    words, spans = binary_tree(["(", "(", "a", "b", ")", "(", "c", "(", "d", "e", ")", ")", ")"])
    assert words == tuple("abcde")
    nodes = list(words)
    for left, right in joins(spans, len(words)):
        nodes.append(f"({nodes[left]} {nodes[right]})")
    assert nodes[-1] == "((a b) (c (d e)))"
    assert joins((), 1) == []


def test_relations_equal_those_of_truth_tables() -> None:
    """Compare with the evaluation in each of the 64 worlds."""
    chance = random.Random(3)
    for _ in range(300):
        sides = [logic._draw(chance, "abcd", 6) for _ in range(2)]
        tables = [[holds(tokens, world) for world in product((False, True), repeat=6)] for tokens, _ in sides]
        assert [logic.formula(tokens)[0] for tokens, _ in sides] == [worlds for _, worlds in sides]
        assert logic.relation(*(worlds for _, worlds in sides)) == plain_relation(*tables)


def holds(tokens: list[str], world: tuple[bool, ...]) -> bool:
    """Whether a formula is true in one world, by the operators of Python."""
    values = dict(zip("abcdef", map(str, world), strict=True))
    return bool(
        eval(" ".join(values.get(token, token) for token in tokens).replace("( and", "and (").replace("( or", "or ("))
    )


def plain_relation(left: list[bool], right: list[bool]) -> str:
    """The relation of two truth tables."""
    pairs = set(zip(left, right, strict=True))
    if left == right:
        return "="
    if (True, True) not in pairs:
        return "|" if (False, False) in pairs else "^"
    if (True, False) not in pairs:
        return "<"
    if (False, True) not in pairs:
        return ">"
    return "#" if (False, False) in pairs else "v"


@pytest.mark.parametrize("task", [ListOps(), Logic()], ids=["listops", "logic"])
def test_generated_examples_are_deterministic_and_in_one_part(task: ListOps | Logic) -> None:
    config = ListOpsSettings(longest=20) if task.name == "listops" else LogicSettings(operators=4)
    parts = {part: list(task.generate(config, part, 200)) for part in ("train", "dev", "test")}
    texts = {part: [str(example) for example in examples] for part, examples in parts.items()}
    for part, examples in parts.items():
        assert len(set(texts[part])) == 200
        assert [str(example) for example in task.generate(config, part, 50)] == texts[part][:50]
        assert max(example.size for example in examples) <= (20 if task.name == "listops" else 4)
    assert not set(texts["train"]) & (set(texts["dev"]) | set(texts["test"]))
    assert not set(texts["dev"]) & set(texts["test"])
    assert max(example.size for example in task.generate(config, "test", 200, longer=True)) > 20 - 14 * (
        task.name == "logic"
    )


def test_generated_expressions_follow_the_grammar() -> None:
    examples = list(ListOps().generate(ListOpsSettings(), "train", 2000))
    tokens = Counter(token for example in examples for token in example.sides[0].tokens)
    operators = [tokens[name] for name in listops.OPERATORS]
    assert max(operators) < 1.3 * min(operators)
    assert set(Counter(example.label for example in examples)) == set(range(10))
    assert max(example.size for example in examples) > 100


def test_partition_leaves_out_pairs_of_table_4() -> None:
    for name, phrase in (("A", "( and ( not a ) )"), ("B", "( and ( not"), ("C", "( or ( not")):
        config = LogicSettings(partition=name)
        assert not any(phrase in str(drawn) for drawn in Logic().generate(config, "train", 200))
    with pytest.raises(SynparseError, match=r"setting task.partition: there is no partition 'D'; known: A, B, C, full"):
        resolve(purpose="logic", settings=["task.partition=D"])


def test_too_many_examples_are_refused() -> None:
    with pytest.raises(SynparseError, match=r"only \d+ of 500 different expressions exist under these settings"):
        list(ListOps().generate(ListOpsSettings(longest=4), "train", 500))


@pytest.mark.parametrize(
    ("task", "line", "problem"),
    [
        (ListOps, "3 ( [MAX 2 )", "expected a digit, a tab and a tree in round brackets"),
        (ListOps, "3\t( ( ( [MAX 2 ) 9 ) ] )", "the value of the expression is 9, and the line says 3"),
        (ListOps, "9\t( [MAX ( 2 ( 9 ] ) ) )", "the brackets are not those of a left-branching tree"),
        (ListOps, "9\t( ( ( [MAX 2 ) 9 ) ]", "a bracket is never closed"),
        (ListOps, "9\t[MAX 2 9 ]", "4 expressions where one was expected; write the tree of the expression"),
        (Logic, "<\ta", "expected one of < > = ^ | # v, a tab, a formula, a tab and a formula"),
        (Logic, "<\ta\tb", "the relation is '#', and the line says '<'"),
        (Logic, "<\ta\t( a b )", "an operator lacks what it operates on"),
        (Nli, nli_line("maybe"), "expected gold_label to be entailment, neutral, contradiction or -, not 'maybe'"),
        (Nli, nli_line("neutral", "( ( it rains )"), "a bracket is never closed"),
        (Nli, '{"gold_label": "neutral"}', "the field 'sentence1_binary_parse' is missing"),
    ],
)
def test_malformed_line_is_reported(tmp_path: Path, task: type[ListOps | Logic | Nli], line: str, problem: str) -> None:
    first = {ListOps: "9\t( ( ( [MAX 2 ) 9 ) ] )", Logic: "#\ta\tb", Nli: nli_line("-")}[task]
    path = tmp_path / "train3"
    path.write_text(f"{first}\n{line}\n", encoding="utf-8")
    with pytest.raises(TreebankError) as caught:
        list(task().read_all([str(path)]))
    assert str(caught.value).startswith(f"{path}:2: {problem}")


def test_pairs_of_inference_are_read_without_undecided_ones(tmp_path: Path) -> None:
    path = tmp_path / "snli.jsonl"
    path.write_text(
        "\n".join([nli_line("-"), nli_line("contradiction"), nli_line("neutral", "Rain")]), encoding="utf-8"
    )
    pairs = list(Nli().read_all([str(path)]))
    assert [Nli.labels[pair.label] for pair in pairs] == ["contradiction", "neutral"]
    assert pairs[1].sides[1] == Expression(("Rain",), ())
    assert pairs[0].sides[0].tokens == ("It", "rains", "today", ".")
    assert pairs[0].sides[0].spans == ((0, 4), (0, 3), (1, 3))
    assert [len(list(Nli().read([str(path)], NliSettings(longest=size)))) for size in (3, 4)] == [0, 2]
    assert pairs[0].sides[0].normalized("words") == Expression(("it", "rains", "today"), ((0, 3), (1, 3)))
    assert Expression((".",), ()).normalized("words").tokens == (".",)


def test_inference_needs_files_and_words() -> None:
    with pytest.raises(SynparseError, match="task nli reads the files of SNLI or MultiNLI; name them"):
        load_examples(resolve(purpose="nli"), (), ())
    with pytest.raises(SynparseError, match=r"setting data\.token: the trees of task nli are over words"):
        NliSettings().check_run(resolve(purpose="nli", settings=["data.token=character"]))


@pytest.mark.parametrize("model", ["gumbel-tree-lstm", "rl-spinn"])
def test_models_of_inference_learn_labels_and_give_trees(model: str, tmp_path: Path) -> None:
    """The label follows from one word of the second sentence."""
    path = tmp_path / "snli.jsonl"
    lines = [
        nli_line(label, f"( {word} ( it seems ) )") for word, label in zip(["yes", "no", "hm"], Nli.labels, strict=True)
    ]
    path.write_text("\n".join(20 * lines), encoding="utf-8")
    changes = ["model.hidden_size=8", "train.epochs=6", "optimizer.learning_rate=0.05", "loader.batch_size=12"]
    config = resolve(purpose="nli", model=model, settings=changes)
    list(make_trainer(config, *load_examples(config, [str(path)], [str(path)]), tmp_path / "run", device="cpu").train())
    (score,) = score_task("nli", [str(path)], {"run": [str(tmp_path / "run")]}).scores
    assert score.value == 100
    assert score.to_json()["trees"]["value"] > 0


def test_broken_archive_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "train.zip"
    path.write_text("no archive", encoding="utf-8")
    with pytest.raises(SynparseError, match=r"train\.zip: cannot be read as an archive of text"):
        list(Logic().read_all([str(path)]))


@published
def test_published_files_of_listops_are_read() -> None:
    """Labels and trees are compared as lines are read."""
    examples = list(ListOps().read_all([str(DATA / "listops" / "test_d20s.tsv")]))
    assert len(examples) == 10_000
    assert max(example.size for example in examples) == 939
    assert (
        sum(1 for _ in ListOps().read([str(DATA / "listops" / "test_d20s.tsv")], ListOpsSettings(longest=30))) == 6882
    )
    assert sum(1 for _ in ListOps().read_all([str(DATA / "listops" / "train_synthetic_1k.tsv")])) == 1000


@published
def test_published_test_files_of_logic_are_read() -> None:
    """Relations are compared while lines are read. The numbers are those of the original files and of table 4."""
    matched: Counter[str] = Counter()
    for example in Logic().read_all([str(DATA / "proplog" / "test.zip")]):
        if example.size > 6:
            text = str(example)
            matched.update(name for name, pattern in logic.PARTITIONS.items() if pattern.search(text))
    assert matched == {"A": 1_369, "B": 9_257, "C": 12_757}


def test_example_is_printed_as_tokens() -> None:
    example: Example = logic.pair(["a"], ["(", "not", "b", ")"])
    assert str(example) == "a\t( not b )"
    assert logic.RELATIONS[example.label] == "#"
    assert example.sides[1].words == ("not", "b")
    assert example.sides[1].leaves == [1, 2]

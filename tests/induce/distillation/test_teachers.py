"""Models that are focused on trees or heads of other parsers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from induce.data.batches import HeadSupervisedBatch
from induce.data.corpus import read_corpora
from induce.data.loaders import MaskedLoader
from induce.data.vocabulary import RECIPES
from induce.distillation.paraphrases import reward_references
from induce.distillation.span_information import nearest_sentences
from induce.distillation.teachers import Teacher, is_file, supervise, tree_references
from induce.likelihood.perplexity import TextScorer
from induce.models.masked.udgn import Udgn, UdgnConfig
from induce.parsing.load import load_parser
from induce.parsing.model_parser import ModelParser
from induce.settings.presets import resolve
from induce.training.prepare import prepare_run
from induce.training.request import RunRequest, resolved_config
from tests.support.tiny import SETTINGS, assert_equal_weights, sentences, stop_after, with_chains
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

TEXT = [list(entry.words) for entry in sentences(60)]
TINY = tuple(SETTINGS["npcfg"])


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """A right-branching tree for each sentence of `TEXT`."""
    path = tmp_path / "right.trees"
    lines = ["(X " + " (X ".join(f"(W {word})" for word in words) + ")" * len(words) for words in TEXT]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def request(run: Path, *teachers: object, **options: Any) -> RunRequest:
    """The request of a tiny grammar with teachers, or of another model in ``options``."""
    settings = (*TINY, "loader.focus_share=1.0", "loader.focus_penalty=6")
    default = {"text": TEXT, "model": "npcfg", "settings": settings, "teachers": tuple(map(str, teachers))}
    return RunRequest(run=str(run), **{**default, **options})


def trained(run: Path, *teachers: object, **options: Any) -> ModelParser:
    """The parser of a request after its training."""
    list(prepare_run(request(run, *teachers, **options)).train())
    return load_parser(run)


def branches_right(parser: ModelParser) -> bool:
    """Whether a sentence of the text has a right-branching tree."""
    tree = next(parser.parse(["The big dog saw a cat"]))
    return {(start, end) for start, end in tree.spans if end - start > 1} == {(start, 6) for start in range(5)}


def test_focused_grammar_gives_the_trees_of_its_teacher(tmp_path: Path, trees: Path) -> None:
    parser = trained(tmp_path / "run", trees)
    assert parser.learned_from == f"parsed trees: {trees} (teacher)"
    assert branches_right(parser)


def test_rewarded_grammar_gives_the_phrases_of_the_paraphrases(tmp_path: Path) -> None:
    path = tmp_path / "paraphrases.txt"
    rows = ["\t".join(f"so {' '.join(words[start:])}" for start in range(1, len(words) - 2)) for words in TEXT]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    source = f"seminfo:{path}"
    parser = trained(tmp_path / "run", source)
    assert parser.learned_from == f"rewards of spans: {source} (teacher)"
    assert not Teacher(str(tmp_path / "run")).saw_gold
    assert branches_right(parser)

    list(prepare_run(request(tmp_path / "cut", source)).train(stop=stop_after(3)))
    list(prepare_run(RunRequest(run=str(tmp_path / "cut"), text=TEXT, resume=True)).train())
    assert_equal_weights(tmp_path / "run", tmp_path / "cut")

    path.write_text("a b\n", encoding="utf-8")
    with pytest.raises(SynparseError, match="1 lines of paraphrases for 60 sentences of the text"):
        prepare_run(request(tmp_path / "other", source))
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(SynparseError, match=r"paraphrases\.txt:1: .*UTF-8"):
        prepare_run(request(tmp_path / "other", source))


def test_similar_sentences_take_the_place_of_paraphrases() -> None:
    text = [tuple(line.split()) for line in ("a b c d", "x b c d", "a b c d", "y c d", "a b z")]
    assert nearest_sentences(text, 2)[0] == [text[1], text[3]]
    assert nearest_sentences(text, 9)[4] == [text[0], text[2]]
    config = resolve(model="npcfg", settings=(*TINY, "data.normalization=words"))
    rewards = list(reward_references("seminfo", config)([Sentence(words) for words in text]))
    assert set(rewards[0].spans) == {(0, 4), (1, 4), (0, 2), (2, 4)}
    assert dict(zip(*rewards[0], strict=True))[1, 4] == pytest.approx(math.log(2) * math.log(5 / 3) / math.log(5) + 4)


def test_model_and_file_can_teach_together(tmp_path: Path, trees: Path) -> None:
    trained(tmp_path / "first", trees)
    first = f"{tmp_path / 'first'}@decoder=brackets"
    facts = trained(tmp_path / "second", first, trees).checkpoint.facts
    assert facts.teachers == (first, str(trees))
    assert facts.annotation == "parsed trees"


def test_gold_trees_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "gold.mrg"
    lines = ["(S " + " ".join(f"(NN {word})" for word in words) + ")" for words in TEXT]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert trained(tmp_path / "run", path).learned_from == f"gold trees: {path} (teacher)"
    assert trained(tmp_path / "student", tmp_path / "run").learned_from.startswith("gold trees: ")


def test_interrupted_focused_run_is_resumed_bit_by_bit(tmp_path: Path, trees: Path) -> None:
    trained(tmp_path / "whole", trees)
    list(prepare_run(request(tmp_path / "cut", trees)).train(stop=stop_after(9)))
    resumed = RunRequest(run=str(tmp_path / "cut"), text=TEXT, resume=True)
    list(prepare_run(resumed).train())
    assert_equal_weights(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: lines[:5] + lines[6:], r":\d+: the words differ from sentence \d+ of the text: word \d+ is"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], ":1: the words differ from sentence 1 of the text"),
        (lambda lines: [lines[0].replace("(W ", "(W x"), *lines[1:]], r":1: .*: word 1 is 'x\w+', in the text"),
        (lambda lines: lines[:-1], r": no analysis of sentence \d+ of the text"),
        (lambda lines: [*lines, lines[0]], r":\d+: an extra sentence after the \d+ of the text"),
    ],
    ids=["missing", "swapped", "changed", "short", "long"],
)
def test_trees_of_another_text_are_refused(tmp_path: Path, trees: Path, change: Any, problem: str) -> None:
    trees.write_text("\n".join(change(trees.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8")
    with pytest.raises(SynparseError, match=rf"right\.trees{problem}"):
        prepare_run(request(tmp_path / "run", trees))


CHAIN = [[*range(2, len(words) + 1), 0] for words in TEXT]  # of each word the number of its head, 0 for the root


@pytest.fixture
def heads(tmp_path: Path) -> Path:
    """A file in which the next word is the head of each word."""
    return conllu(tmp_path / "chain.conllu", "_")


def conllu(path: Path, tag: str) -> Path:
    lines = [
        "\n".join(
            f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\t_\t_\t_"
            for number, (word, head) in enumerate(zip(words, chain, strict=True), start=1)
        )
        for words, chain in zip(TEXT, CHAIN, strict=True)
    ]
    path.write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
    return path


def train_student(run: Path, model: str, teacher: Path, *settings: str) -> ModelParser:
    """A model that has learned the heads of ``teacher``, decoded word by word."""
    trained(run, teacher, model=model, settings=(*SETTINGS[model], "train.epochs=8", *settings))
    return load_parser(run, decoder="argmax")


@pytest.mark.parametrize("model", ["biaffine", "udgn"])
def test_model_learns_heads_of_a_file_and_of_a_model(tmp_path: Path, heads: Path, model: str) -> None:
    parser = train_student(tmp_path / "run", model, heads)
    assert parser.learned_from == f"parsed heads: {heads} (teacher)"
    result = list(parser.parse_heads(TEXT))
    right = sum(
        head == number - 1
        for (_, entry), chain in zip(result, CHAIN, strict=True)
        for head, number in zip(entry[:-2], chain[:-2], strict=True)
    )
    assert right > 0.9 * sum(len(words) - 2 for words in TEXT)  # the last two depend on how the stop is put in
    if model == "biaffine":
        second = train_student(tmp_path / "second", model, tmp_path / "run")
        assert second.learned_from == f"parsed heads: {tmp_path / 'run'} (teacher)"


def test_gold_heads_are_reported(tmp_path: Path) -> None:
    gold = conllu(tmp_path / "gold.conllu", "NOUN")
    assert (
        train_student(tmp_path / "run", "biaffine", gold, "train.epochs=1").learned_from
        == f"gold heads: {gold} (teacher)"
    )


def test_focus_weight_multiplies_the_loss_of_heads(heads: Path) -> None:
    corpus, _ = read_corpora(sentences(20), "words", references=with_chains)
    encoded = corpus.encode(corpus.vocabulary(100, 1))
    config = resolve(model="udgn", settings=SETTINGS["udgn"]).loader
    batch = next(MaskedLoader(encoded, config, device="cpu").check())
    assert isinstance(batch, HeadSupervisedBatch)
    losses = []
    for weight in (0.0, 1.0, 3.0):
        torch.manual_seed(0)
        settings = UdgnConfig(
            embedding_size=8, channels=2, channel_size=4, layers=1, parser_layers=1, focus_weight=weight
        )
        losses.append(Udgn(settings, len(encoded.vocabulary)).eval().loss(batch))
    assert losses[0].objective == losses[0].nll == losses[1].nll
    added = [(entry.objective - entry.nll).item() for entry in losses]
    assert added[1] > 0.5
    assert added[2] == pytest.approx(3 * added[1], rel=1e-5)


def test_heads_of_another_text_and_trees_are_refused(tmp_path: Path, heads: Path, trees: Path) -> None:
    lines = heads.read_text(encoding="utf-8").split("\n\n")
    heads.write_text("\n\n".join([*lines[:3], *lines[4:]]), encoding="utf-8")
    with pytest.raises(SynparseError, match=r"chain\.conllu:\d+: the words differ from"):
        train_student(tmp_path / "run", "biaffine", heads)
    with pytest.raises(SynparseError, match=r"right\.trees:1: no heads in this sentence"):
        train_student(tmp_path / "other", "biaffine", trees)
    trained(tmp_path / "grammar", trees)
    with pytest.raises(SynparseError, match=r"gives trees, not heads \(try another model"):
        train_student(tmp_path / "third", "biaffine", tmp_path / "grammar")


def test_chart_parser_learns_the_trees_of_a_model_or_file(tmp_path: Path, trees: Path) -> None:
    trained(tmp_path / "teacher", trees)
    for name, teacher in (("file", trees), ("run", tmp_path / "teacher")):
        parser = trained(tmp_path / name, teacher, model="chart", settings=(*SETTINGS["chart"], "train.epochs=6"))
        assert parser.learned_from == f"parsed trees: {teacher} (teacher)"
        with pytest.raises(SynparseError, match="this 'chart' assigns no probabilities to text"):
            TextScorer(str(tmp_path / name))
        assert branches_right(parser)


@pytest.mark.parametrize(
    ("teachers", "options", "problem"),
    [
        ([], {"model": "biaffine"}, "'biaffine' learns from heads of another model; name it with --teacher MODEL"),
        (["{trees}"], {"settings": (*TINY, "data.token=character")}, "--teacher is about words"),
        (["{trees}"], {"model": "ndmv", "settings": ("model.start=random",)}, "leave it or --teacher out"),
        (["{trees}"], {"model": "onlstm", "settings": ()}, "cannot learn from a teacher; --teacher is for .*npcfg"),
        (["nothing"], {}, "nothing: there is no model and no file of trees to learn from"),
        (["seminfo"], {"model": "diora", "settings": ()}, "only grammars such as npcfg learn rewards"),
        (["seminfo", "{trees}"], {}, "exclude other teachers"),
        (["seminfo:"], {}, "seminfo:: there is no such file of paraphrases"),
    ],
)
def test_teachers_that_do_not_fit_are_refused(
    tmp_path: Path, trees: Path, teachers: list[str], options: dict[str, Any], problem: str
) -> None:
    names = (name.format(trees=trees) for name in teachers)
    with pytest.raises(SynparseError, match=problem):
        prepare_run(request(tmp_path / "run", *names, **{"settings": (), **options} if "model" in options else options))


def test_sentences_that_a_grammar_never_reads_are_not_parsed(tmp_path: Path) -> None:
    requested = request(Path(), "english", model=None, preset="npcfg-small")
    text = [Sentence(tuple(words)) for words in TEXT]
    trees = {}
    for longest in (0, 5):
        config = resolved_config(replace(requested, settings=(f"loader.longest={longest}",)))
        references = supervise(requested, config).references
        assert references is not None
        trees[longest] = [tree for (tree,) in references(text)]
    lengths = [len(RECIPES[config.data.normalization](sentence.words).forms) for sentence in text]
    assert {length > 5 for length in lengths} == {True, False}
    for length, tree, parsed in zip(lengths, trees[5], trees[0], strict=True):
        assert tree.words == parsed.words
        assert tree.spans == (parsed.spans if length <= 5 else ((0, len(tree.words)),))


def test_copied_and_built_in_models_can_teach(tmp_path: Path, trees: Path) -> None:
    teacher = trained(tmp_path / "teacher", trees)
    copied = tmp_path / "teacher.safetensors"
    copied.write_bytes((tmp_path / "teacher" / "model.safetensors").read_bytes())
    text = [["The", "dog", "saw", "a", "cat"]] * 2
    expected = [str(tree) for tree in teacher.parse(text)]
    for name in (str(copied), "english"):
        result = list(tree_references([Teacher(name)])(Sentence(tuple(words)) for words in text))
        assert [len(entry[0]) for entry in result] == [5, 5]
        if name != "english":
            assert [str(entry[0]) for entry in result] == expected
    assert not is_file(str(copied))
    assert not is_file("english")
    assert is_file(str(trees))
    assert trained(tmp_path / "student", copied).learned_from == f"parsed trees: {copied} (teacher)"


@pytest.mark.parametrize("model", ["chart", "biaffine"])
def test_teacher_parses_separate_development_text(tmp_path: Path, trees: Path, heads: Path, model: str) -> None:
    """Development text from --dev or the built-in sample needs a model, as a file covers the training text alone."""
    file = trees if model == "chart" else heads
    teacher = "english"
    if model == "biaffine":
        train_student(tmp_path / "teacher", model, heads, "train.epochs=1")
        teacher = str(tmp_path / "teacher")
    options = {"model": model, "settings": (*SETTINGS[model], "train.epochs=1")}
    texts = {"text": TEXT[:30], "dev": TEXT[30:40]}
    assert trained(tmp_path / "run", teacher, **options, **texts).checkpoint.facts.development.sentences == 10
    for number, changed in enumerate((texts, {"text": (), "dev": ()})):
        with pytest.raises(SynparseError, match="this file is about the training text alone"):
            prepare_run(request(tmp_path / str(number), file, **options, **changed))

"""Trees from hidden states and attention: `decode --from`, `extract --what states` and ``MODEL@distances=…``."""

from __future__ import annotations

import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from induce.decoding.hidden_states import MEASURES
from induce.parsing.load import load_parser
from induce.states.state_trees import StateSource, choose_source
from induce.states.states_file import SentenceStates, StatesFile
from tests.support.calls import Caller
from tests.support.pages import fences
from tests.support.tiny import sentences

pytestmark = pytest.mark.usefixtures("working_folder")

TEXT = "the old dog saw a cat .\nthe cat , they say , met a big man .\n\n.\n"


@pytest.fixture(scope="module", params=["transformer", "structformer", "udgn"])
def model(request: pytest.FixtureRequest, tiny_model: Callable[..., Path]) -> str:
    """Folder of a tiny model."""
    return str(tiny_model(request.param, "train.epochs=1"))


def arrays(count: int = 4, layers: int = 2, heads: int = 2, seed: int = 0) -> dict[str, Any]:
    """Hidden states and attention of a sentence of ``count`` words."""
    draw = np.random.default_rng(seed)
    attention = draw.random((layers, heads, count, count))
    return {
        "hidden": draw.normal(size=(layers, count, 3)),
        "attention": attention / attention.sum(-1, keepdims=True),
        "words": np.array([f"v{index}" for index in range(count)]),
    }


def save(*items: dict[str, Any]) -> None:
    """Write sentences to ``s.npz``."""
    named = {f"s{i}/{name}": array for i, item in enumerate(items) for name, array in item.items() if array is not None}
    np.savez("s.npz", **named)


def test_special_pieces_and_words_without_states(call: Caller) -> None:
    """Boundary tokens are removed and rows renormalized, pieces are merged, and dropped words return."""
    item = arrays(3)
    attention = np.zeros((2, 2, 6, 6))
    attention[..., 1:5, 1:4] = item["attention"][..., [0, 1, 2, 2], :] / 2  # the rest is attention to boundary tokens
    attention[..., [0, 5]] = 0.25
    padded = {
        "words": np.array(["v0", ",", "v1", "v2", "."]),
        "indices": np.array([0, 2, 3]),
        "word_of_piece": np.array([-1, 0, 1, 2, 2, -1]),
        "hidden": item["hidden"][:, [0, 0, 1, 2, 2, 1]],
        "attention": attention,
    }
    save(item, padded)
    for distances in ("l2", "hellinger:2", "avg-jsd"):
        first, second = call.result("decode", "--from", "s.npz", "--distances", distances, "--layer", "2").splitlines()
        assert second.count("(W") == 5
        assert second.replace(" (W ,)", "").replace(" (W .)", "") in (first, f"(X {first})"), distances


def test_choice_agrees_most_with_other_layers(call: Caller) -> None:
    """The first of three layers with the same trees is chosen, and reported."""
    frequent, other = arrays(7, layers=1, heads=1, seed=1), arrays(7, layers=1, heads=1, seed=2)
    names = ("hidden", "attention")
    save({name: np.concatenate([other[name], *[frequent[name]] * 3]) for name in names})
    _, trees, notes = call("decode", "--from", "s.npz", "--distances", "l2")
    assert "distances=l2,layer=2 agrees most with the others" in notes.replace("\n", " ")
    assert trees == call.result("decode", "--from", "s.npz", "--distances", "l2", "--layer", "3")


def test_agreement_is_the_mean_f1() -> None:
    """Against F1 of pairs of trees, one by one."""
    from induce.decoding.distances import unbiased

    items = [arrays(count, seed=count) for count in (2, 5, 8)]
    states = [SentenceStates(list(item["words"]), range(len(item["words"])), item["hidden"]) for item in items]
    sources = [StateSource(measure, layer) for measure in ("l1", "l2") for layer in (1, 2)]
    trees = {
        source: [
            {span for span in unbiased(source.row(sentence)) if span != (0, len(sentence.words))}
            for sentence in states[1:]
        ]
        for source in sources
    }

    def agreement(source: StateSource) -> float:
        others = [other for other in sources if other.layer != source.layer]
        pairs = [(trees[source][k], trees[other][k]) for k in range(2) for other in others]
        return sum(2 * len(a & b) / (len(a) + len(b)) for a, b in pairs) / len(pairs)

    choice = choose_source(states, sources)
    assert choice.agreement == pytest.approx(100 * max(map(agreement, sources)))
    assert choice.source == max(sources, key=agreement)
    assert (choice.candidates, choice.sentences) == (4, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention": None, "hidden": None}, "no hidden states, no attention and no impact"),
        ({"attention": np.full((2, 2, 5, 5), 0.2)}, "different numbers of word pieces: [4, 5]"),
        ({"word_of_piece": np.array([0, 1, 3, 3])}, "each word index from 0"),
        ({"word_of_piece": np.array([0, 1])}, "has 2 entries for 4 word pieces"),
        ({"words": np.array(["a", "b"])}, "different numbers of words: [2, 4]"),
        ({"words": np.array(["a b", "c", "d", "e"])}, "strings without spaces, tabs, line ends and NUL"),
        ({"hidden": np.full((2, 4, 3), np.nan)}, "not finite"),
        ({"attention": np.full((2, 2, 4, 4), -1.0)}, "negative number"),
        ({"hidden": np.zeros((4, 3))}, "hidden has 2 axes; expected 3"),
        ({"indices": np.array([0, 1, 2, 4])}, "in ascending order"),
        ({"word_of_piece": np.array([0, 0, 0, 2**40])}, "each word index from 0"),  # 8 TB if all indices were listed
        ({"words": np.array([0x110000, 97, 98, 99], np.uint32).view("<U1")}, "s0: words must be"),
        ({"wosds": np.array(["a", "b", "c", "d"])}, "unknown array 's0/wosds'"),
    ],
)
def test_malformed_arrays_are_reported(change: dict[str, Any], message: str, call: Caller) -> None:
    save({**arrays(), **change})
    assert message in call.refusal("decode", "--from", "s.npz")


@pytest.mark.parametrize("name", ["s00/words", "s٠/words", f"s{'9' * 5000}/words", "s1/words"])
def test_sentences_are_numbered_in_one_way(name: str, call: Caller) -> None:
    """Other spellings of a number would be sentences without words."""
    np.savez("s.npz", **{name: np.array(["a"])})
    assert (
        "expected arrays such as s0/" in (refusal := call.refusal("decode", "--from", "s.npz"))
        or "write s0/words" in refusal
    )


def test_entries_without_arrays_are_reported(call: Caller) -> None:
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9, 9, 1099511627776), }"
    for content, problem in ((b"text", "sentence s0: "), (header.ljust(127) + b"\n", "fewer bytes than its shape")):
        with zipfile.ZipFile("s.npz", "w") as archive:
            archive.writestr("s0/hidden.npy", content)
        assert problem in call.refusal("decode", "--from", "s.npz")
    np.savez_compressed("s.npz", **{"s0/hidden": np.zeros((2, 4, 3 << 20))})
    assert "compressed ones; store it without compression" in call.refusal("decode", "--from", "s.npz")


def test_time_is_linear_in_sentences() -> None:
    seconds = []
    for count in (1_000, 8_000):
        save(*[{"hidden": np.zeros((1, 2, 1))}] * count)
        begin = time.process_time()
        assert len(list(StatesFile("s.npz"))) == count
        seconds.append(time.process_time() - begin)
    assert seconds[1] < 16 * seconds[0]  # 8 times, with a margin


def test_malformed_files_and_options_are_reported(call: Caller) -> None:
    Path("bad.npz").write_bytes(b"PK\3\4 no archive")
    assert "not a file of numpy arrays" in call.refusal("decode", "--from", "bad.npz")
    np.savez("pickled.npz", **{"s0/words": np.array(["a", 1], dtype=object)})
    assert "s0" in call.refusal("decode", "--from", "pickled.npz")
    save(arrays(), arrays(layers=3))
    assert "3 layers" in call.refusal("decode", "--from", "s.npz")
    save(arrays())
    for options, message in {
        ("--distances", "hellinger:3"): "there is no head 3",
        ("--distances", "l2:1"): "l2 has no heads",
        ("--distances", "hellinger:" + "9" * 5000): "heads count from 1",
        ("--distances", "helinger"): "did you mean 'hellinger'",
        ("--layer", "3"): "there is no layer 3",
        ("--distances", "impact"): "the file does not have",
        ("--decoder", "eisner"): "needs heads",
        ("--priors", "branching:1"): "needs span_scores",
    }.items():
        code = 2 if options[1] in ("helinger", "eisner", "branching:1") else 1
        assert message in call.refusal("decode", "--from", "s.npz", *options, code=code), options


def test_states_of_a_model_give_the_trees_of_the_model(model: str, call: Caller) -> None:
    """`extract --what states` and `decode --from` give what ``MODEL@distances=…`` gives, sentence by sentence."""
    Path("t.txt").write_text(TEXT, encoding="utf-8")
    call.result("extract", "-m", model, "t.txt", "--what", "states", "-o", "s.npz")
    for distances in ("cosine", "l1", "hellinger:2", "avg-jsd"):
        parsed = call.result("parse", "-m", f"{model}@distances={distances},layer=2,decoder=unbiased", "t.txt")
        read = call.result("decode", "--from", "s.npz", "--distances", distances, "--layer", "2")
        assert parsed == read, distances
        assert parsed.count("\n") == 4


def test_distances_of_a_model_do_not_depend_on_the_batch(model: str) -> None:
    words = [sentence.words * k for sentence, k in zip(sentences(4), (1, 2, 3, 1), strict=True)]
    for distances in ("l2", "avg-hellinger", "impact"):
        parser = load_parser(f"{model}@distances={distances}")
        for item, sentence in zip(parser.predict(words), words, strict=True):
            alone = next(iter(parser.predict([sentence])))
            np.testing.assert_allclose(np.asarray(item.row), np.asarray(alone.row), rtol=1e-4, atol=1e-4)


def test_attention_is_a_distribution_over_words(model: str) -> None:
    parser: Any = load_parser(f"{model}@distances=avg-hellinger,layer=1")
    batch = parser.batch([([2, 3, 4], ()), ([2, 5, 3, 4, 2], ())])
    with torch.inference_mode():
        attention = parser.model.layer_states(batch).attention
    assert attention.shape[1] == parser.checkpoint.config.model["layers"]
    torch.testing.assert_close(attention[1].sum(-1), torch.ones_like(attention[1].sum(-1)))
    torch.testing.assert_close(attention[0, ..., :3, :3].sum(-1), torch.ones_like(attention[0, ..., :3, 0]))
    assert "distances:avg-hellinger" in parser.decoded
    assert "layer:1" in parser.decoded


def test_impact_is_that_of_masked_copies(model: str) -> None:
    """Against copies of the sentence that are masked one by one."""
    parser: Any = load_parser(f"{model}@distances=impact")
    tokens, network = torch.tensor([2, 3, 1, 4]), parser.model

    def state(word: int, *masked: int) -> torch.Tensor:
        copy = tokens.clone()
        copy[list(masked)] = network.mask_symbol
        return network.final_states(copy[None], torch.tensor([4]))[0, word]

    with torch.inference_mode():
        expected = [[float((state(i, i) - state(i, i, j)).norm()) for j in range(4)] for i in range(4)]
        impact = network.impact(parser.batch([(tokens.tolist(), ()), ([5, 2], ())]))
    np.testing.assert_allclose(impact[0], expected, rtol=1e-4, atol=1e-5)
    assert not impact[1, 2:].any()


def test_unknown_distances_of_a_model_are_reported(model: str, call: Caller) -> None:
    Path("t.txt").write_text(TEXT, encoding="utf-8")
    for options, message in {
        "distances=hellinger": "name a head, as in hellinger:1",
        "distances=hellinger:99": "there is no head 99",
        "distances=l2,layer=9": "there is no layer 9",
        "distances=syd": "it does not learn from trees",
        "distances=impact,layer=1": "impact has no layers",
        "distances=impact,decoder=biased": "needs distances",
    }.items():
        assert message in call.refusal("parse", "-m", f"{model}@{options}", "t.txt", code=1 + ("decoder" in options))
    assert "name a file with -o" in call.usage("extract", "-m", model, "t.txt", "--what", "states")


class Pieces(dict[str, torch.Tensor]):
    """Word pieces, one per word, between two special ones if these are requested."""

    special = 0

    def word_ids(self) -> list[int | None]:
        count = self["input_ids"].shape[1] - 2 * self.special
        return [*[None] * self.special, *range(count), *[None] * self.special]


class StandIn:
    """A tokenizer, and a model of two layers and heads whose states are random vectors of the pieces."""

    mask_token_id = 1

    @classmethod
    def from_pretrained(cls, name: str, **options: Any) -> StandIn:
        return cls()

    def eval(self) -> StandIn:
        return self

    def __call__(self, words: Any = None, **options: Any) -> Any:
        if isinstance(words, list):
            ids = torch.tensor([[len(word) + 2 for word in words]])
            pieces = Pieces(input_ids=ids)
            if options.get("add_special_tokens", True):
                pieces["input_ids"] = torch.nn.functional.pad(ids, (1, 1))
                pieces.special = 1
            return pieces
        ids = words if words is not None else options["input_ids"]
        states = torch.nn.functional.embedding(ids, torch.randn(99, 4, generator=torch.Generator().manual_seed(1)))
        weights = (states @ states.transpose(1, 2)).softmax(-1)[:, None].repeat(1, 2, 1, 1)
        return SimpleNamespace(last_hidden_state=states.cumsum(1), hidden_states=[states] * 3, attentions=[weights] * 2)


def test_script_of_the_page_writes_a_file(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    script, masked = fences("docs/how-to/language-models.md", "python")
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(AutoModel=StandIn, AutoTokenizer=StandIn))
    monkeypatch.setattr(sys, "argv", ["script", "some-model", "t.txt", "s.npz"])
    Path("t.txt").write_text(TEXT, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(script, "page", "exec"), names)
    assert call.result("decode", "--from", "s.npz", "--distances", "l2").count("\n") == 4
    assert call.result("decode", "--from", "s.npz", "--distances", "avg-jsd").count("(W") == len(TEXT.split())
    exec(compile(masked, "page", "exec"), names)
    words = TEXT.splitlines()[0].split()
    np.savez("m.npz", **{"s0/words": np.array(words), "s0/masked": names["masked"](words)})
    assert call.result("decode", "--from", "m.npz").count("(W") == len(words)


def test_measures_are_those_of_the_help(call: Caller) -> None:
    text = call.result("decode", "--help")
    assert all(name in text for name in MEASURES)

"""Perplexity against sums by hand, over a text in one piece and word by word; the cache against a plain loop."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from induce.data.tokens import SPACE
from induce.layers.masked_words import mask_words
from induce.likelihood import perplexity
from induce.likelihood.cache import Cache, cache_probability
from induce.likelihood.perplexity import Perplexity, TextScorer, comparable, score_text, stream_pieces
from induce.storage.checkpoint import build_model, find, pack, read, save
from tests.support.tiny import sentences, settings, trainer
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

TEXT = [*sentences(12, seed=5), Sentence(()), Sentence((".",)), Sentence(("The", "zebra", "saw", "me", "."))]
MODELS = {
    "onlstm": "data.reading=stream",
    "lstm": "data.reading=stream",
    "prpn": "data.reading=stream",
    "prpn-sentences": "data.reading=sentences",
    "udgn": "data.reading=masked",
    "onlstm-characters": "data.token=character",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A model of every way of reading, with weights as drawn but larger, so that words differ in probability."""
    folder = tmp_path_factory.mktemp("runs")
    for name, change in MODELS.items():
        one = trainer(settings(name.partition("-")[0], change), folder)
        for parameter in one.model.parameters():
            parameter.data *= 3
        save(folder / name / "best", pack(one.model, one.config, one.vocabulary, {"step": 1}))
    return {name: str(folder / name) for name in MODELS}


def score(run: str, text: Sequence[Sentence] = TEXT, **options: Any) -> Perplexity:
    return score_text(text, [TextScorer(run, device="cpu", **options)], "text")[0][0]


def model_of(run: str) -> tuple[Any, list[list[int]]]:
    """A model and the sentences of the text in its numbers."""
    found = read(find(Path(run)))
    words = [[word.lower() for word in one.words if word != "."] for one in TEXT]
    folded = [["0" if word == "12" else word for word in one] for one in words if one]
    return build_model(found), [found.vocabulary.encode(one) for one in folded]


def log_probability(model: Any, stream: Sequence[int]) -> Tensor:
    """Of each word but the first, given all before it (len - 1,), in one piece."""
    tokens = torch.tensor(stream)[:, None]
    x, _ = model.predictions(tokens[:-1])
    logits = x[:, 0] @ model.decoder_weight.t() + model.decoder_bias
    return logits.log_softmax(-1).gather(1, tokens[1:])[:, 0].double()


@pytest.mark.parametrize("name", ["onlstm", "lstm", "prpn"])
@torch.no_grad()
def test_a_stream_is_one_long_text(name: str, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    model, text = model_of(runs[name])
    wanted = log_probability(model, [0, *(number for ids in text for number in [*ids, 0])])
    for positions in (512, 7, 1):
        monkeypatch.setattr(perplexity, "POSITIONS", positions)
        found = score(runs[name])
        assert found.nats == pytest.approx(-float(wanted.mean()), abs=1e-5)
    assert found.scored == len(wanted) == found.words + found.sentences
    assert found.value == pytest.approx(math.exp(found.nats))
    assert (found.sentences, found.unknown) == (13, 2)  # zebra, me
    assert "|tokens:words+eos|unk:kept|state:carried|batch:1|norm:words|" in str(found)


@torch.no_grad()
def test_characters_are_tokens_and_every_end_of_a_line_is_one(runs: dict[str, str]) -> None:
    checkpoint = read(find(Path(runs["onlstm-characters"])))
    model, vocabulary = build_model(checkpoint), checkpoint.vocabulary
    lines = [" ".join(word.lower().replace("12", "0") for word in one.words if word != ".") for one in TEXT]
    ids = [vocabulary.encode(line.replace(" ", SPACE)) for line in lines if line]
    wanted = log_probability(model, [0, *(number for one in ids for number in [*one, 0])])
    found = score(runs["onlstm-characters"])
    assert found.nats == pytest.approx(-float(wanted.mean()), abs=1e-5)
    assert found.scored == len(wanted) == found.characters
    assert found.bits_per_character == pytest.approx(found.nats / math.log(2))
    assert "|tokens:characters+eos|" in found.signature
    assert not comparable([found, score(runs["onlstm"])])


@torch.no_grad()
def test_columns(runs: dict[str, str]) -> None:
    """Each begins with nothing remembered; what does not fill them is left out."""
    model, text = model_of(runs["lstm"])
    stream = [0, *(number for ids in text for number in [*ids, 0])]
    rows = (len(stream) - 1) // 4
    parts = [log_probability(model, stream[k * rows : (k + 1) * rows + 1]) for k in range(4)]
    found = score(runs["lstm"], batch_size=4)
    assert found.scored == 4 * rows
    assert found.nats == pytest.approx(-float(torch.cat(parts).mean()), abs=1e-5)
    assert "|batch:4|" in found.signature
    with pytest.raises(SynparseError, match="text: 74 words are too few to be scored in this way"):
        score(runs["lstm"], batch_size=1000)


@torch.no_grad()
def test_sentences_by_themselves(runs: dict[str, str]) -> None:
    model, text = model_of(runs["prpn-sentences"])
    wanted = torch.cat([log_probability(model, [0, *ids, 0]) for ids in text])
    found = score(runs["prpn-sentences"])
    assert found.nats == pytest.approx(-float(wanted.mean()), abs=1e-5)
    assert found.scored == len(wanted)
    assert "|state:sentence|" in found.signature


@torch.no_grad()
def test_masked_words(runs: dict[str, str]) -> None:
    """Five maskings that depend on the text alone; unknown words are never masked, nor are there marks."""
    model, text = model_of(runs["udgn"])
    total, count = 0.0, 0
    for number in range(5):
        generator = torch.Generator().manual_seed(number)
        for ids in text:
            tokens, drawn = torch.tensor([ids]), torch.rand(len(ids), generator=generator) < model.config.mask_rate
            masked, targets = mask_words(tokens, drawn[None], mask=model.mask_symbol)
            if (masked != tokens).any():
                loss = model.masked_loss(masked, torch.tensor([len(ids)]), targets, masked != tokens)
                total += float(loss.nll) * loss.count
                count += loss.count
    found = score(runs["udgn"])
    assert found.scored == count
    assert found.nats == pytest.approx(total / count, abs=1e-5)
    assert found.nats == score(runs["udgn"]).nats
    assert found.signature.startswith("MPPL|data:text|tokens:masked-words|unk:not-masked|masked:0.3|maskings:5|")
    assert found.bits_per_character is None
    assert not comparable([found, replace(found, mask_rate=0.4)])


def test_bits_per_character(runs: dict[str, str]) -> None:
    """All bits over the characters of the normalised lines, their ends and the spaces between words included."""
    found = score(runs["lstm"])
    lines = "".join(
        " ".join(word.lower().replace("12", "0") for word in one.words if word != ".") + "\n" for one in TEXT
    ).replace("\n\n\n", "\n")
    assert found.characters == len(lines)
    assert found.bits_per_character == pytest.approx(found.nats * found.scored / math.log(2) / len(lines))


def test_what_cannot_be_scored_is_told(runs: dict[str, str]) -> None:
    with pytest.raises(SynparseError, match="text: there is no word in it after normalisation 'words'"):
        score(runs["lstm"], [Sentence((".",))])
    with pytest.raises(SynparseError, match="this 'prpn' reads sentences, not a stream; leave out --batch-size"):
        score(runs["prpn-sentences"], batch_size=2)
    for name in ("prpn-sentences", "udgn"):
        with pytest.raises(SynparseError, match="has no hidden states of a stream to remember; leave out --cache"):
            score(runs[name], cache=Cache())


def test_a_model_of_something_else_is_told(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perplexity, "scores_words", lambda kind: False)
    monkeypatch.setattr(perplexity, "scores_sentences", lambda kind: False)
    with pytest.raises(SynparseError, match="this 'prpn' gives no probabilities of a text"):
        score(runs["prpn-sentences"])


def test_which_scores_compare(runs: dict[str, str]) -> None:
    scores = {name: score(run) for name, run in runs.items()}
    assert comparable([scores["lstm"], scores["onlstm"], scores["prpn-sentences"]])
    assert not comparable([scores["lstm"], scores["udgn"]])


def test_pieces_cover_the_text_and_copy_little() -> None:
    ids = array("i", range(24))
    pieces = list(stream_pieces(ids, 2, 4, "cpu"))
    assert torch.cat([tokens for tokens, _ in pieces]).t().tolist() == [list(range(11)), list(range(11, 22))]
    assert all(torch.equal(tokens + 1, targets) for tokens, targets in pieces)
    assert [len(tokens) for tokens, _ in pieces] == [4, 4, 3]


def plain_cache(model: Any, stream: Sequence[int], cache: Cache) -> list[Tensor]:
    """The distribution over all words at each step, one step and one remembered word after another."""
    x, _ = model.predictions(torch.tensor(stream)[:-1, None])
    found = []
    for t in range(len(x)):
        by_model = (x[t, 0] @ model.decoder_weight.t() + model.decoder_bias).softmax(-1)
        by_cache = torch.zeros_like(by_model)
        for i in range(max(0, t - cache.size), t):
            by_cache[stream[i + 1]] += math.exp(cache.theta * float(x[t, 0] @ x[i, 0]))
        total = by_cache.sum()
        found.append((1 - cache.share) * by_model + cache.share * by_cache / total if total else by_model)
    return found


@pytest.mark.parametrize("name", ["onlstm", "lstm", "prpn"])
@pytest.mark.parametrize("size", [1, 5, 500])
@torch.no_grad()
def test_the_cache_equals_a_plain_loop(
    name: str, size: int, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(size=size, theta=0.7, share=0.3)
    model, text = model_of(runs[name])
    stream = [0, *(number for ids in text for number in [*ids, 0])]
    distributions = plain_cache(model, stream, cache)
    assert [float(one.sum()) for one in distributions] == pytest.approx([1.0] * len(distributions), abs=1e-5)
    wanted = [-math.log(one[word]) for one, word in zip(distributions, stream[1:], strict=True)]
    for positions in (512, 6):
        monkeypatch.setattr(perplexity, "POSITIONS", positions)
        found = score(runs[name], cache=cache)
        assert found.nats == pytest.approx(sum(wanted) / len(wanted), abs=1e-5)
    assert f"|cache:{size},theta:0.7,lambda:0.3|" in found.signature


@torch.no_grad()
def test_a_cache_in_columns(runs: dict[str, str]) -> None:
    """Each column remembers its own words only."""
    cache = Cache(size=6, share=0.5)
    model, text = model_of(runs["lstm"])
    stream = [0, *(number for ids in text for number in [*ids, 0])]
    rows = (len(stream) - 1) // 3
    parts = [stream[k * rows : (k + 1) * rows + 1] for k in range(3)]
    wanted = [
        -math.log(one[word])
        for part in parts
        for one, word in zip(plain_cache(model, part, cache), part[1:], strict=True)
    ]
    assert score(runs["lstm"], batch_size=3, cache=cache).nats == pytest.approx(sum(wanted) / len(wanted), abs=1e-5)


def test_the_cache_gives_probabilities() -> None:
    """Over all words they sum to one, wherever there is something to remember."""
    torch.manual_seed(0)
    keys, nexts = torch.randn(11, 3, 4), torch.randint(5, (11, 3))
    by_word = [
        cache_probability(keys[-6:], keys, nexts, torch.full((6, 3), word), Cache(size=4))[0] for word in range(5)
    ]
    torch.testing.assert_close(torch.stack(by_word).sum(0), torch.ones(6, 3))
    _, known = cache_probability(keys, keys, nexts, nexts, Cache())
    assert known[:, 0].tolist() == [False] + [True] * 10

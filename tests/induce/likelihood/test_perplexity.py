"""Perplexity compared with sums over the whole text at once, and the cache with a plain loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from induce.data.vocabulary import SPACE
from induce.likelihood import units
from induce.likelihood.perplexity import Perplexity, TextEvaluation, TextScorer, add_text
from induce.likelihood.units import Cache, concatenate, segment_sums, sentence_sums
from induce.models.masked.masked_model import mask_words
from induce.storage.checkpoint import RunFacts, build_model, find, pack, read, save
from tests.support.tiny import sentences, settings, trainer
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

TEXT = [*sentences(12, seed=5), Sentence(()), Sentence((".",)), Sentence(("The", "zebra", "saw", "me", "."))]
MODELS = {
    "onlstm": "loader.name=stream",
    "lstm": "loader.name=stream",
    "lstm-mixture": "model.softmaxes=3",
    "prpn": "loader.name=stream",
    "prpn-sentences": "loader.name=sentences",
    "udgn": "loader.name=masked",
    "onlstm-characters": "data.token=character",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A model of each way to read text, with enlarged random weights, so that words differ in probability."""
    folder = tmp_path_factory.mktemp("runs")
    for name, change in MODELS.items():
        run = trainer(settings(name.partition("-")[0], change), folder)
        for parameter in run.run.model.parameters():
            parameter.data *= 3
        save(
            folder / name / "model.safetensors",
            pack(run.run.model, run.run.config, run.run.vocabulary, RunFacts(step=1)),
        )
    return {name: str(folder / name) for name in MODELS}


def score(run: str, text: Sequence[Sentence] = TEXT, **options: Any) -> Perplexity:
    scorer = TextScorer(run, device="cpu", **options)
    add_text(text, [scorer])
    return scorer.perplexity("text", scorer.units("text"))


def comparable(scores: Sequence[Perplexity]) -> bool:
    """Whether an evaluation calls ``scores`` comparable."""
    return TextEvaluation("text", "", scores, {}).comparable


def model_of(run: str) -> tuple[Any, list[list[int]]]:
    """A model and the word indices of the sentences of the text."""
    checkpoint = read(find(Path(run)))
    words = [[word.lower() for word in sentence.words if word != "."] for sentence in TEXT]
    normalized = [["0" if word == "12" else word for word in sentence] for sentence in words if sentence]
    return build_model(checkpoint), [checkpoint.vocabulary.encode(sentence) for sentence in normalized]


def log_probability(model: Any, stream: Sequence[int]) -> Tensor:
    """Log-probability of each word but the first, given all before it (len - 1,), computed at once."""
    tokens = torch.tensor(stream)[:, None]
    x, _ = model.predictions(tokens[:-1])
    return distributions_after(model, x[:, 0]).log().gather(1, tokens[1:])[:, 0]


def distributions_after(model: Any, x: Tensor) -> Tensor:
    """Probabilities (R, V) of the words after the states ``x`` (R, E), in double precision."""
    weight, bias = model.decoder_weight.double(), model.decoder_bias.double()
    if getattr(model, "mixture", None) is None:
        return (x.double() @ weight.t() + bias).softmax(-1)
    inner, share = model.mixture.vectors, model.mixture.shares.weight.double()
    vectors = torch.tanh(x.double() @ inner.weight.double().t() + inner.bias.double()).unflatten(-1, (3, -1))
    return torch.einsum("rm,rmv->rv", (x.double() @ share.t()).softmax(-1), (vectors @ weight.t() + bias).softmax(-1))


@pytest.mark.parametrize("name", ["onlstm", "lstm", "lstm-mixture", "prpn"])
@torch.no_grad()
def test_stream_is_scored_as_one_long_text(name: str, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    model, text = model_of(runs[name])
    expected = log_probability(model, [0, *(number for ids in text for number in [*ids, 0])])
    for positions in (512, 7, 1):
        monkeypatch.setattr(units, "STREAM_TOKENS", positions)
        result = score(runs[name])
        assert result.nats == pytest.approx(-float(expected.mean()), abs=1e-5)
    assert result.scored == len(expected) == result.words + result.sentences
    assert result.value == pytest.approx(math.exp(result.nats))
    assert (result.sentences, result.unknown) == (13, 2)  # zebra, me
    assert "|tokens:words+eos|unk:kept|state:carried|batch:1|norm:words|" in str(result)


@torch.no_grad()
def test_characters_and_ends_of_lines_are_tokens(runs: dict[str, str]) -> None:
    checkpoint = read(find(Path(runs["onlstm-characters"])))
    model, vocabulary = build_model(checkpoint), checkpoint.vocabulary
    lines = [" ".join(word.lower().replace("12", "0") for word in sentence.words if word != ".") for sentence in TEXT]
    ids = [vocabulary.encode(line.replace(" ", SPACE)) for line in lines if line]
    expected = log_probability(model, [0, *(number for line in ids for number in [*line, 0])])
    result = score(runs["onlstm-characters"])
    assert result.nats == pytest.approx(-float(expected.mean()), abs=1e-5)
    assert result.scored == len(expected) == result.characters
    assert result.bits_per_character == pytest.approx(result.nats / math.log(2))
    assert "|tokens:characters+eos|" in result.signature
    assert not comparable([result, score(runs["onlstm"])])


@torch.no_grad()
def test_columns_start_without_state_and_leave_out_the_remainder(runs: dict[str, str]) -> None:
    model, text = model_of(runs["lstm"])
    stream = [0, *(number for ids in text for number in [*ids, 0])]
    rows = (len(stream) - 1) // 4
    parts = [log_probability(model, stream[k * rows : (k + 1) * rows + 1]) for k in range(4)]
    result = score(runs["lstm"], batch_size=4)
    assert result.scored == 4 * rows
    assert result.nats == pytest.approx(-float(torch.cat(parts).mean()), abs=1e-5)
    assert "|batch:4|" in result.signature
    with pytest.raises(SynparseError, match="text: 74 words are too few to be scored in this way"):
        score(runs["lstm"], batch_size=1000)


@torch.no_grad()
def test_sentences_are_scored_without_context(runs: dict[str, str]) -> None:
    model, text = model_of(runs["prpn-sentences"])
    expected = torch.cat([log_probability(model, [0, *ids, 0]) for ids in text])
    result = score(runs["prpn-sentences"])
    assert result.nats == pytest.approx(-float(expected.mean()), abs=1e-5)
    assert result.scored == len(expected)
    assert "|state:sentence|" in result.signature


@torch.no_grad()
def test_masked_words_of_five_fixed_maskings_are_scored(runs: dict[str, str]) -> None:
    """Unknown words are never masked, and there are no end-of-sentence tokens."""
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
    result = score(runs["udgn"])
    assert result.scored == count
    assert result.nats == pytest.approx(total / count, abs=1e-5)
    assert result.nats == score(runs["udgn"]).nats
    assert result.signature.startswith("MPPL|data:text|tokens:masked-words|unk:not-masked|masked:0.3|maskings:5|")
    assert result.bits_per_character is None
    assert not comparable([result, replace(result, mask_rate=0.4)])


def test_bits_per_character_counts_spaces_and_ends_of_lines(runs: dict[str, str]) -> None:
    result = score(runs["lstm"])
    lines = "".join(
        " ".join(word.lower().replace("12", "0") for word in sentence.words if word != ".") + "\n" for sentence in TEXT
    ).replace("\n\n\n", "\n")
    assert result.characters == len(lines)
    assert result.bits_per_character == pytest.approx(result.nats * result.scored / math.log(2) / len(lines))


def test_options_that_a_model_cannot_use_are_refused(runs: dict[str, str]) -> None:
    with pytest.raises(SynparseError, match="text: there is no word in it after normalization 'words'"):
        score(runs["lstm"], [Sentence((".",))])
    with pytest.raises(SynparseError, match="this 'prpn' does not read a stream; leave out --batch-size"):
        score(runs["prpn-sentences"], batch_size=2)
    for name in ("prpn-sentences", "udgn"):
        with pytest.raises(SynparseError, match="has no states of a stream to remember; leave out --cache"):
            score(runs[name], cache=Cache())


def test_scores_of_the_same_tokens_are_comparable(runs: dict[str, str]) -> None:
    scores = {name: score(run) for name, run in runs.items()}
    assert comparable([scores["lstm"], scores["onlstm"], scores["prpn-sentences"]])
    assert not comparable([scores["lstm"], scores["udgn"]])


@pytest.mark.parametrize("name", ["lstm", "prpn-sentences", "udgn"])
def test_sums_over_sentences_and_segments_equal_the_perplexity(
    name: str, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "SEGMENT_TOKENS", 20)
    monkeypatch.setattr(units, "GROUP_WORDS", 40)
    scorer = TextScorer(runs[name], device="cpu")
    add_text(TEXT, [scorer])
    total = score(runs[name])
    every = concatenate(scorer.units("text"))
    sentences, segments = sentence_sums(every), segment_sums(every)
    assert segments.sum(0).tolist() == pytest.approx([total.nats * total.scored, total.scored])
    assert len(segments) > 1
    if name == "udgn":
        assert sentences is None
    else:
        assert sentences[:, 1].tolist() == [len(ids) + 1 for ids in model_of(runs[name])[1]]
        assert sentences.sum(0).tolist() == pytest.approx(segments.sum(0).tolist())


def plain_cache(model: Any, stream: Sequence[int], cache: Cache) -> list[Tensor]:
    """The distribution over all words at each step, with a loop over steps and words of the cache."""
    x, _ = model.predictions(torch.tensor(stream)[:-1, None])
    mixtures = []
    for t, by_model in enumerate(distributions_after(model, x[:, 0])):
        by_cache = torch.zeros_like(by_model)
        for i in range(max(0, t - cache.size), t):
            by_cache[stream[i + 1]] += math.exp(cache.theta * float(x[t, 0] @ x[i, 0]))
        total = by_cache.sum()
        mixtures.append((1 - cache.share) * by_model + cache.share * by_cache / total if total else by_model)
    return mixtures


@pytest.mark.parametrize("name", ["onlstm", "lstm", "lstm-mixture", "prpn"])
@pytest.mark.parametrize("size", [1, 5, 500])
@torch.no_grad()
def test_cache_equals_a_plain_loop(name: str, size: int, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(size=size, theta=0.7, share=0.3)
    model, text = model_of(runs[name])
    stream = [0, *(number for ids in text for number in [*ids, 0])]
    distributions = plain_cache(model, stream, cache)
    assert [float(row.sum()) for row in distributions] == pytest.approx([1.0] * len(distributions), abs=1e-5)
    expected = [-math.log(row[word]) for row, word in zip(distributions, stream[1:], strict=True)]
    for positions in (512, 6):
        monkeypatch.setattr(units, "STREAM_TOKENS", positions)
        result = score(runs[name], cache=cache)
        assert result.nats == pytest.approx(sum(expected) / len(expected), abs=1e-5)
    assert f"|cache:{size},theta:0.7,lambda:0.3|" in result.signature


@torch.no_grad()
def test_each_column_has_its_own_cache(runs: dict[str, str]) -> None:
    cache = Cache(size=6, share=0.5)
    model, text = model_of(runs["lstm"])
    stream = [0, *(number for ids in text for number in [*ids, 0])]
    rows = (len(stream) - 1) // 3
    parts = [stream[k * rows : (k + 1) * rows + 1] for k in range(3)]
    expected = [
        -math.log(row[word])
        for part in parts
        for row, word in zip(plain_cache(model, part, cache), part[1:], strict=True)
    ]
    assert score(runs["lstm"], batch_size=3, cache=cache).nats == pytest.approx(sum(expected) / len(expected), abs=1e-5)

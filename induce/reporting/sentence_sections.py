"""Sections of a report about the sentences: frequent constituents, agreement, sharpness, and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from induce.decoding.sharpness import MEANINGS
from induce.parsing.pictures import analyses_of
from induce.reporting.markup import Section, note, short_names, table
from induce.reporting.parsed import Compared, Parsed, frequent_constituents, frequent_heads
from induce.reporting.sections import mean_sentence_scores
from treebank.draw.page import figure
from treebank.draw.picture import GOLD, Analysis, Picture
from treebank.draw.reading import fitted
from treebank.evaluate.evaluate import Evaluation

PICTURE_WORDS = range(5, 31)  # counted words of a sentence in a picture


def frequent(compared: Compared) -> Section:
    """The most frequent constituents or heads of each model."""
    parts = []
    for model in compared.models:
        if model.parser.output == "trees":
            parts.append(_constituent_table(compared, model))
        else:
            parts.append(_head_table(compared, model))
    return "frequent", "Frequent constituents and heads", "\n".join(parts)


def _constituent_table(compared: Compared, model: Parsed) -> str:
    rows = []
    for text, count, occurrences, in_gold, example in frequent_constituents(compared, model):
        rows.append([text, example, str(count), str(occurrences), *([] if in_gold is None else [str(in_gold)])])
    header = ["Words", "Example", "Bracketed", "In the text", *["In gold"] * (len(rows) > 0 and len(rows[0]) > 4)]
    return table(f"The most frequent constituents of two to four words: {model.name}", header, rows, text_columns=2)


def _head_table(compared: Compared, model: Parsed) -> str:
    rows = []
    for text, count, _, in_gold, example in frequent_heads(compared, model):
        rows.append([text, example, str(count), *([] if in_gold is None else [str(in_gold)])])
    header = ["Word ← head", "Example", "Times", *["In gold"] * (len(rows) > 0 and len(rows[0]) > 3)]
    return table(f"The most frequent words with their heads: {model.name}", header, rows, text_columns=2)


def agreement(compared: Compared) -> Section:
    """Agreement of the models, and the sharpness of each."""
    parts = []
    for output in dict.fromkeys(model.parser.output for model in compared.models):
        models = [model for model in compared.models if model.parser.output == output]
        if len(models) > 1:
            names = short_names([model.run for model in models])
            rows = [
                [name, *("" if other is model else _percent(compared.agreement(model, other)) for other in models)]
                for name, model in zip(names, models, strict=True)
            ]
            counted = "mean F1 of the brackets" if output == "trees" else "share of words with the same head"
            parts.append(table(f"Agreement of two models: {counted}, in percent", ["", *names], rows))
    rows = [
        [model.name, MEANINGS.get(name, name), f"{value:.2f}"]
        for model in compared.models
        for name, value in model.sharpness.items()
    ]
    if rows:
        caption = "Sharpness of each model, mean over sentences"
        parts.append(table(caption, ["Model", "Measure", "Value"], rows, text_columns=2))
    return "agreement", "Agreement and sharpness", "\n".join(parts)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def pictures(compared: Compared, evaluation: Evaluation | None, count: int) -> Iterator[Section]:
    """Pictures of the sentences with the highest and lowest scores and agreement, or of the first sentences."""
    lengths = [len(compared.words(index)) for index in range(len(compared.sentences))]
    drawable = [index for index, length in enumerate(lengths) if length in PICTURE_WORDS]
    groups: list[tuple[str, str, str, Mapping[int, float], bool]] = []
    has_gold = evaluation is not None
    if evaluation is not None:
        scored = mean_sentence_scores(evaluation)
        groups.append(("best", "The best sentences", "mean score", scored, True))
        groups.append(("worst", "The worst sentences", "mean score", scored, False))
    if compared.pairs():
        agreed = {index: value for index, value in enumerate(compared.agreement_by_sentence()) if value is not None}
        groups.append(("agreed", "The most agreed sentences", "mean agreement", agreed, True))
        groups.append(("disputed", "The least agreed sentences", "mean agreement", agreed, False))
    if not groups:
        groups.append(("sentences", "The first sentences", "", dict.fromkeys(drawable, 0.0), True))
    for name, title, measure, values, highest in groups:
        indices = [index for index in drawable if index in values]
        sign = -1 if highest else 1
        if measure:
            indices.sort(key=lambda index: (sign * values[index], -lengths[index], index))
        yield name, title, _drawn(compared, distinct(compared, indices)[:count], name, measure, values, has_gold)


def distinct(compared: Compared, indices: Sequence[int]) -> list[int]:
    """``indices`` without repeated sentences, such as captions and headings."""
    first: dict[tuple[str, ...], int] = {}
    for index in indices:
        first.setdefault(tuple(word.lower() for word in compared.sentences[index].words), index)
    return list(first.values())


def _drawn(
    compared: Compared, indices: Sequence[int], name: str, measure: str, values: Mapping[int, float], has_gold: bool
) -> str:
    """Pictures of the sentences ``indices`` by all models, next to gold if it is available."""
    sentences = [compared.sentences[index] for index in indices]
    systems = [analyses_of(model.parser, sentences, model.name) for model in compared.models]
    parts = [note(f"Sentences of {PICTURE_WORDS.start} to {PICTURE_WORDS.stop - 1} words without punctuation.")]
    for number, (index, sentence) in enumerate(zip(indices, sentences, strict=True)):
        analyses = [
            replace(fitted(system[number], sentence.place, sentence.words), probabilities=()) for system in systems
        ]
        title = f"sentence {index + 1}" + (f", {measure} {values[index]:.1f}" if measure else "")
        gold = Analysis.of_sentence(sentence, GOLD) if has_gold else None
        parts += figure(Picture(title, tuple(analyses), gold), f"{name}-{number + 1}")
    return "\n".join(parts) if indices else ""

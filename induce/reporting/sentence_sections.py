"""Sections of a report about the sentences: frequent constituents, agreement, sharpness, and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from induce.analysis.sharpness import SharpnessReport
from induce.decoding.sharpness import MEANINGS
from induce.reporting.markup import Section, listing, note, short_names, table
from induce.reporting.parsed import Compared, FrequentPart, Parsed, frequent_constituents, frequent_heads
from induce.reporting.sections import mean_sentence_scores
from treebank.base.tables import Column, Table
from treebank.draw.page import figure
from treebank.draw.picture import GOLD, Analysis, Picture
from treebank.draw.reading import fitted
from treebank.evaluate.evaluate import Evaluation

PICTURE_WORDS = range(5, 31)  # counted words of a sentence in a picture


def frequent(compared: Compared) -> Section:
    """The most frequent constituents or heads of each model."""
    tables = [
        _frequent_table("constituents of two to four words", "Words", model, frequent_constituents(compared, model))
        if model.gives_trees
        else _frequent_table("words with their heads", "Word ← head", model, frequent_heads(compared, model))
        for model in compared.models
    ]
    return "frequent", "Frequent constituents and heads", "\n".join(tables)


def _frequent_table(title: str, first: str, model: Parsed, parts: Iterable[FrequentPart]) -> str:
    """A table of ``parts``, without the columns that they do not have."""
    rows = list(parts)
    names = (first, "Example", "Times", "In the text", "In gold")
    cells = [(part.text, part.example, part.frequency, part.occurrences, part.gold) for part in rows]
    used = [index for index in range(len(names)) if not cells or cells[0][index] is not None]
    columns = [Column(names[index]) for index in used]
    values = [[row[index] for index in used] for row in cells]
    return table(Table(f"The most frequent {title}: {model.name}", columns, values))


def agreement(compared: Compared) -> Section:
    """Agreement of the models, and the sharpness of each."""
    parts = []
    for output in dict.fromkeys(model.parser.output for model in compared.models):
        models = [model for model in compared.models if model.parser.output == output]
        if len(models) > 1:
            names = short_names([model.run for model in models])
            rows = [
                [name, *("" if other is model else compared.agreement(model, other) for other in models)]
                for name, model in zip(names, models, strict=True)
            ]
            counted = "mean F1 of the brackets" if output == "trees" else "share of words with the same head"
            title = f"Agreement of two models: {counted}, in percent"
            parts.append(table(Table(title, [Column(""), *(Column(name, ".1f") for name in names)], rows)))
    sharpness = [model.sharpness for model in compared.models if model.sharpness and model.sharpness.values]
    if sharpness:
        parts += map(table, SharpnessReport(sharpness).tables())
        measures = dict.fromkeys(name for system in sharpness for name in system.values)
        parts.append(listing(f"{name}: {MEANINGS.get(name, name)}" for name in measures))
    return "agreement", "Agreement and sharpness", "\n".join(parts)


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
    parts = [note(f"Sentences of {PICTURE_WORDS.start} to {PICTURE_WORDS.stop - 1} words without punctuation.")]
    for number, index in enumerate(indices):
        sentence = compared.sentences[index]
        analyses = [fitted(model.analyses[index], sentence.place, sentence.words) for model in compared.models]
        title = f"sentence {index + 1}" + (f", {measure} {values[index]:.1f}" if measure else "")
        gold = Analysis.of_sentence(sentence, GOLD) if has_gold else None
        parts += figure(Picture(title, tuple(analyses), gold), f"{name}-{number + 1}")
    return "\n".join(parts) if indices else ""

"""Induced relations against gold relations: docs/results/dependencies.md.

``python -m bench.experiments.relation_labels [--data FOLDER] [--seeds N]`` replaces the relations of treebanks of
Universal Dependencies by induced ones and by those of trivial systems, and prints V-measure and many-to-one accuracy
over all arcs between words. The heads are those of gold, so that relations alone are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random

from bench.common import experiment, spread
from bench.experiments.languages import LANGUAGES
from bench.report import markdown
from induce.labels.induced_labels import RELATIONS, TokenClasses, learn_relations
from treebank.core.sentence import ROOT, Sentence, is_word
from treebank.evaluate.score import LabelCounts, LabelScores
from treebank.io.read import read_sentences

NAMES = ("English EWT", "German", "Finnish", "Turkish", "Japanese", "Chinese")
Relations = Iterable[Sequence[str]]  # of the words of each sentence
System = Callable[[Sequence[Sentence], int], Relations]  # from sentences and a seed


def random_relations(sentences: Sequence[Sentence], seed: int) -> Iterator[list[str]]:
    """Random relations."""
    random = Random(seed)
    return ([str(random.randrange(RELATIONS)) for _ in sentence.words] for sentence in sentences)


def word_classes(sentences: Sequence[Sentence], seed: int) -> Iterator[list[str]]:
    """The class of each word."""
    classes = TokenClasses.of((sentence.words for sentence in sentences), seed)
    return (list(map(str, classes.of_words(sentence.words))) for sentence in sentences)


def classes_and_sides(sentences: Sequence[Sentence], seed: int) -> Iterator[list[str]]:
    """The class of each word, and whether its head precedes it."""
    for sentence, classes in zip(sentences, word_classes(sentences, seed), strict=True):
        yield [f"{name} {head < i}" for i, (name, head) in enumerate(zip(classes, sentence.heads, strict=True))]


def induced(sentences: Sequence[Sentence], seed: int) -> Iterator[Sequence[str]]:
    """Relations of `learn_relations`."""
    return (sentence.relations for sentence in learn_relations(sentences, seed=seed)(sentences))


SYSTEMS: dict[str, System] = {
    "random relations": random_relations,
    "class of the word": word_classes,
    "class and side of the head": classes_and_sides,
    "induced": induced,
}


def score(sentences: Sequence[Sentence], relations: Relations) -> LabelScores:
    """The scores of relations of all words with a word as their head. Subtypes such as ``nsubj:pass`` are left out."""
    counts = LabelCounts()
    for sentence, predicted in zip(sentences, relations, strict=True):
        arcs = zip(sentence.words, sentence.heads, sentence.relations, predicted, strict=True)
        for word, head, gold, relation in arcs:
            if head != ROOT and is_word(word):
                counts.add_arc(gold.partition(":")[0], relation, is_matched=True)
    scores = counts.scores()
    assert scores is not None
    return scores


def main() -> None:
    """Print the table."""
    parser = experiment(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    languages = [language for language in LANGUAGES if language.name in NAMES]
    rows = []
    for language in languages:
        sentences = list(read_sentences([str(options.data / language.gold[0])]))
        cells = [language.name, f"{sum(len(sentence.words) for sentence in sentences):,}"]
        for system in SYSTEMS.values():
            scores = [score(sentences, system(sentences, seed)) for seed in range(1, options.seeds + 1)]
            measures = ([value.v_measure for value in scores], [value.many_to_one for value in scores])
            cells.append(" / ".join(map(spread, measures)))
        rows.append(cells)
    print(markdown(["V-measure / many-to-one", "words", *SYSTEMS], rows))


if __name__ == "__main__":
    main()

"""Result of a recipe: the best model so far, with confidences that are calibrated on the trees of another model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any

from induce.ensemble.combine import combine
from induce.parsing.load import load_parser
from induce.parsing.parser import Parser
from induce.parsing.reading import fit_confidence
from induce.recipes.recipe import VOTE, PartRun
from induce.recipes.recipe_job import RecipeJob, perplexity
from induce.storage.checkpoint import RecipeFacts, find, read, save
from induce.storage.locate import ENSEMBLE
from induce.storage.model_file import MODEL, model_parts
from induce.training.request import read_text
from treebank.base.metadata import encode
from treebank.core.sentence import Sentence
from treebank.corpora.sample import sample_treebank

COMPARED_SENTENCES = 200  # of the text, compared with right and left branching
CALIBRATION_SENTENCES = 400  # of the text, parsed by the model that calibrates the result
TRIVIAL_PERCENT = 90.0  # of the phrases of right or left branching, from which a warning is printed


def write_teachers(job: RecipeJob, stage: Sequence[PartRun]) -> None:
    """Make the ensembles that teach runs of ``stage``: the vote of all parts, or that of one part.

    If the time limit ended the training of a part before its first model, there is no vote, and nothing learns from it.
    """
    for name, teachers in {run.teacher: run.teachers for run in stage}.items():
        if name == VOTE or len(teachers) > 1:
            voters = [run for run in job.trained(voters=name == VOTE) if name == VOTE or run.name in teachers]
            if voters:
                write_vote(job, voters, job.run_folder(name))


def write_vote(job: RecipeJob, runs: Sequence[PartRun], folder: Path) -> None:
    """Make ``folder`` the ensemble of these runs, each with the weight of its part and the estimated prior."""
    members = [replace(job.model_spec(run.name), weight=run.part.weight).name for run in runs]
    priors = ",".join(job.plan.recipe.vote_priors) or None
    options: dict[str, Any] = {"priors": priors, "report": job.note, "is_locked": folder == job.folder}
    combine(members, str(folder), overwrite=True, replace_model=True, **options)
    job.note(f"{folder} is the vote of {', '.join(run.name for run in runs)}")


def write_result(job: RecipeJob, *, finished: bool) -> None:
    """Make the job's folder the best model so far: that of lowest perplexity in the last part of the last stage.

    If the recipe's result is the vote, it is the ensemble of all that vote, when all are trained.
    """
    recipe, trained = job.plan.recipe, job.trained()
    if finished and recipe.result == VOTE:
        write_vote(job, [run for run in trained if run.part.votes], job.folder)
        return
    parts = [run.part for stage in recipe.stages for run in stage if run in trained and run.part.name != recipe.result]
    rivals = [run for run in trained if run.part.name == recipe.result] or [
        run for run in trained if run.part == parts[-1]
    ]
    scores = {run.name: perplexity(job.facts_of(run.name)) for run in rivals}
    best = min(scores, key=scores.__getitem__)
    if finished and scores[best] == inf and not rivals[0].part.max_passes:  # others are reported when they end
        job.decide(f"warning: the time ended the first pass of {best}, which was not scored; give it more minutes")
    if len(scores) > 1:
        job.note(", ".join(f"perplexity of {name}: {score:.1f}" for name, score in scores.items()))
    model = read(find(job.run_folder(best)))
    plan = job.plan
    facts = replace(
        model.facts,
        recipe=RecipeFacts(
            name=recipe.name,
            seed=plan.request.seed or 1,
            models=tuple(run.name for run in trained),
            finished=finished and trained == recipe.runs,
            minutes=round(job.minutes_used, 1),
        ),
        confidence=_calibrated(job, best) if finished else (),
    )
    content = {key: model.file.content[key] for key in ("torch", "settings")}
    save(job.folder / MODEL, model_parts({**content, "facts": encode(facts)}, model.file.words, model.file.weights()))
    (job.folder / ENSEMBLE).unlink(missing_ok=True)


def _calibrated(job: RecipeJob, name: str) -> tuple[tuple[float, float], ...]:
    """The map from scores of phrases of the model ``name`` to a confidence in such phrases, if there is one.

    It is the share of votes or, if the recipe names a part for it, follows from the first model of this part
    (`calibrated`). Votes are too sure: almost all members share the errors of their teacher.
    """
    part = job.plan.recipe.confidence
    sources = (name, f"{part}-1" if part else VOTE)
    if not job.run_folder(sources[1]).exists():  # nothing learned from the vote, or the time was over
        return ()
    parser, source = (load_parser(job.run_folder(each), device=job.request.device) for each in sources)
    if parser.output != "trees" or parser.structure.supports != "trees":
        return ()
    return calibrated(parser, source, _spread_sentences(job, parser, CALIBRATION_SENTENCES), power=2 if part else 1)


def calibrated(
    parser: Parser, source: Parser, sentences: Sequence[Sentence], power: int = 2
) -> tuple[tuple[float, float], ...]:
    """The map from scores of phrases of ``parser`` to the mean ``power`` of their scores by ``source``.

    If these are probabilities, their square is the probability that two trees drawn from the distribution both contain
    the phrase. The square was chosen on two treebanks (docs/results/ensembles.md).
    """
    scores, confidences = list[float](), list[float]()
    for reading, other in zip(parser.predict(sentences), source.predict(sentences), strict=True):
        if list(reading.indices) != list(other.indices):
            continue  # the models read other words of this sentence
        count = len(reading.indices)
        phrases = [(start, end) for start, end, *_ in parser.decode(reading.scores) if 1 < end - start < count]
        scores += parser.structure.support(reading.row, phrases)
        confidences += [float(other.row[start][end]) ** power for start, end in phrases]
    return fit_confidence(scores, confidences)


def _spread_sentences(job: RecipeJob, parser: Parser, count: int) -> list[Sentence]:
    """``count`` sentences of three or more words, evenly spread over the text."""
    text = job.request.text or [sentence.words for sentence in sample_treebank("train").sentences]
    read = read_text(text, parser.input_options(job.request.input_options))
    sentences = [sentence for sentence in read if len(sentence.words) > 2]
    return sentences[:: -(-len(sentences) // count)] if sentences else []


def branching_notes(job: RecipeJob) -> Iterator[str]:
    """A warning if the trees of the result hardly differ from right or left branching. The agreement is noted."""
    parser = load_parser(job.folder, device=job.request.device)
    sentences = _spread_sentences(job, parser, COMPARED_SENTENCES) if parser.output == "trees" else []
    shares: dict[str, list[float]] = {"right": [], "left": []}
    for reading in parser.predict(sentences):
        count, spans = len(reading.indices), {span[:2] for span in parser.decode(reading.scores)}
        trivial = {"right": {(k, count) for k in range(1, count - 1)}, "left": {(0, k) for k in range(2, count)}}
        for name, expected in trivial.items() if count > 2 else ():
            shares[name].append(100 * len(spans & expected) / len(expected))
    if not shares["right"]:
        return
    means = {name: fmean(values) for name, values in shares.items()}
    job.note(", ".join(f"{mean:.1f} % of the phrases are those of {name} branching" for name, mean in means.items()))
    name = max(means, key=means.__getitem__)
    if means[name] >= TRIVIAL_PERCENT:
        yield (
            f"warning: the trees hardly differ from {name} branching, so the models learned little else; "
            "give more text or a larger --max-minutes"
        )

"""Facts, settings and losses of a training run, from its model folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from induce.data.corpus_checks import Health
from induce.data.vocabulary import TOKENS, leaf
from induce.ensemble.ensemble_description import EnsembleDescription
from induce.parsing.model_parser import default_decoder
from induce.setting import setting_text
from induce.storage.checkpoint import Checkpoint, find, read
from induce.storage.locate import PathType, locate, parse_model_spec
from induce.storage.outputs import LOG
from treebank.base.metadata import finite, parse_json

SETTINGS = ("model", "data", "train", "parse")  # tables of settings in a report


@dataclass(frozen=True)
class RunStory:
    """One run: ``facts`` and ``settings`` by name, findings about its text, and its checks by step.

    A check has ``step``, ``seconds``, ``loss`` and ``development_loss`` in nats per token. An ensemble has no checks.
    """

    run: str
    model: str
    facts: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[str] = ()
    checks: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def read(cls, run: str) -> RunStory:
        """The story of the run, model or ensemble at this path. Raises MetadataError if there is none."""
        path = Path(parse_model_spec(run).path)
        if locate(path).type is PathType.ENSEMBLE:
            description = EnsembleDescription.read(path)
            facts = {
                "members": ", ".join(member.name for member in description.members),
                "votes for": description.output,
                "decoder": description.decoder,
                "learned from": description.learned_from or "no trees",
            }
            return cls(run, "ensemble", facts)
        checkpoint = read(find(path))
        events = read_log(path / LOG)
        # the log continues after the best checkpoint; if a run was killed and resumed, the later check of a step counts
        logged = [event for event in events if event.get("event") == "check"]
        stored = [finite(asdict(check)) for check in checkpoint.facts.history]
        by_step = {check.get("step"): check for check in logged or stored}
        health, tables = _health(checkpoint), checkpoint.config.as_dict()
        token, model = leaf(checkpoint.config.data.token), checkpoint.config.model_name
        return cls(
            run,
            checkpoint.config.model_name,
            _facts(checkpoint, events, health),
            {f"{name}.{key}": setting_text(value) for name in SETTINGS for key, value in tables[name].items()},
            health.findings(token=token, model=model) if health else [],
            list(by_step.values()),
        )


def read_log(path: Path) -> list[dict[str, Any]]:
    """The events of the log of a run, without a line that was interrupted. The log may be missing."""
    if not path.is_file():
        return []
    events = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            event = parse_json(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def _health(checkpoint: Checkpoint) -> Health | None:
    """Statistics of the training text, or None if the checkpoint has none."""
    stored = checkpoint.facts.health
    values = {key: value for key, value in stored.items() if key != "mean_words"}
    try:
        return Health(**{**values, "scripts": tuple(values["scripts"].items())})
    except (TypeError, KeyError, AttributeError):
        return None  # written by another version


def _facts(checkpoint: Checkpoint, events: Sequence[Mapping[str, Any]], health: Health | None) -> dict[str, str]:
    config, facts = checkpoint.config, checkpoint.facts
    training, unit = facts.training, config.data.token
    task = config.purpose_name
    sample = f"generated examples of task {task}" if task else "the built-in sample, which a grammar generated"
    values = {
        "model": f"{config.model_name}, preset {config.preset}",
        "source": config.source,
        "learned from": ", ".join(facts.sources or [sample]),
        "size of it": f"{training.sentences:,} sentences, {training.words:,} {TOKENS[unit]}",
        "text": health.summary() if health else "",
        "trees": facts.learned_from or "none",
        "vocabulary": f"{len(checkpoint.vocabulary):,} {TOKENS[unit]}",
        "steps": f"{facts.step:,} in {facts.seconds / 60:.1f} minutes on {facts.device}",
        "decoder": default_decoder(checkpoint),
        "seed": str(config.train.seed),
        "text sha256": f"{training.sha256:.16}…",
    }
    started = [event for event in events if event.get("event") == "started"]
    if started and isinstance(started[-1].get("parameters"), int):
        values["parameters"] = f"{started[-1]['parameters']:,}"
    return {name: value for name, value in values.items() if value}

"""A job of several training runs: what its metadata file stores, and how the job and its runs are resumed.

The file holds the request that the job began with and digests of its texts. Each part is an ordinary run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from induce.storage.run_folder import has_begun
from induce.training.request import RunRequest, check_kept, is_changeable, texts_of
from induce.training.run_data import RunData
from induce.training.state import check_text

TEXTS = ("text", "dev")  # fields of a `RunRequest` with paths and sentences
STORED_INPUT = ("tokenize", "paragraphs", "form", "encoding")  # fields of `InputOptions` in a `StoredRequest`
OPTION_NAMES = {
    "text": "TEXT",
    "teachers": "--teacher",
    "task": "task",
    "tokenize": "--tokenizer",
    "form": "--input-format",
}


@dataclass(frozen=True, kw_only=True)
class StoredRequest:
    """The part of a request that a job stores. A program gives its sentences again on resume."""

    text: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    trees: str | None = None
    teachers: tuple[str, ...] = ()
    model: str | None = None
    preset: str | None = None
    settings: tuple[str, ...] = ()
    task: str = ""
    seed: int | None = None
    tokenize: str = ""
    paragraphs: bool = False
    form: str = ""
    encoding: str = ""

    @classmethod
    def of(cls, request: RunRequest) -> StoredRequest:
        """The stored part of ``request``."""
        values = {name: getattr(request, name) for name in ("trees", "model", "preset", "task", "seed")}
        values |= {name: tuple(getattr(request, name)) for name in ("teachers", "settings")}
        values |= {name: tuple(text for text in getattr(request, name) if isinstance(text, str)) for name in TEXTS}
        return cls(**values, **{name: getattr(request.input_options, name) for name in STORED_INPUT})

    def resumed(self, request: RunRequest) -> RunRequest:
        """``request`` with the stored values, and with its own texts, because their files may have moved.

        Settings that a resumed run can take are added. Raises UsageError for other settings, and for another value than
        the stored one; texts are compared by their content, with `StoredJob.check_texts`.
        """
        stored, requested = asdict(self), asdict(StoredRequest.of(request))
        changes = requested["settings"] if requested["settings"] != stored["settings"] else ()
        compared = [name for name in stored if name != "settings" and not (name in TEXTS and stored[name])]
        pairs = {OPTION_NAMES.get(name, f"--{name}"): (requested[name] or None, stored[name]) for name in compared}
        check_kept(pairs, changes)
        stored |= {name: texts_of(getattr(request, name), stored[name]) for name in TEXTS}
        stored["settings"] += changes
        reading = {name: stored.pop(name) for name in STORED_INPUT}
        return replace(request, input_options=replace(request.input_options, **reading), **stored)


@dataclass(kw_only=True)
class StoredJob:
    """Fields that the metadata files of all jobs have."""

    request: StoredRequest
    text_sha256: str = ""  # of the training text, "" if it has not been read
    dev_sha256: str = ""  # of the development text

    def check_texts(self, folder: Path, data: RunData) -> None:
        """Raises SynparseError if ``data`` are not the texts and trees that the job in ``folder`` began with."""
        source = data.facts.learned_from
        check_text(folder, "training", data.training.sha256, self.text_sha256, source)
        check_text(folder, "development", data.development.sha256, self.dev_sha256, source)


def part_request(request: RunRequest, changes: Sequence[str] = ()) -> RunRequest:
    """``request`` of a new run or, if the job is resumed and the run has begun, one that resumes the run.

    A resumed run keeps its settings, except for the ``changes`` that it can take.
    """
    if not (request.resume and has_begun(Path(request.run))):
        return replace(request, resume=False)
    paths = {name: getattr(request, name) for name in ("run", "text", "dev", "teachers", "device")}
    return RunRequest(resume=True, settings=tuple(filter(is_changeable, changes)), **paths)

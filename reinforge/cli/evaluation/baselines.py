"""Loads the evaluation results that a gate compares, and checks that they are comparable."""

import json as jsonlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reinforge.cli.connection import connect
from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, JobFailure, NotFound, ReinforgeError, StateConflict
from reinforge.evaluation.summary import RowScores
from reinforge.schemas.evaluations import Evaluation, EvaluationRows

SAMPLING = ("samples_per_row", "max_tokens", "temperature", "top_p", "stop")
"""Sampling settings that affect an evaluation's result."""


class About(BaseModel):
    """Dataset, reward and settings of an evaluation. Files of older clients lack some fields."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    id: str
    name: str | None = None
    dataset: str | None = None
    dataset_sha256: str | None = None
    reward: str | None = None
    stored: str | None = None
    revision: int | None = None
    entry: str | None = None
    reward_sha256: str | None = None
    settings: dict[str, Any] | None = None
    prompt_view: dict[str, Any] | None = None

    def scored_by(self) -> tuple[str, ...] | None:
        """Identity of the reward: its content hash, else its stored revision. None if unknown."""
        if self.reward_sha256 is not None:
            return (self.reward_sha256, self.entry or "")
        return None if self.stored is None else (self.stored, str(self.revision), self.entry or "")

    def reward_words(self) -> str:
        if self.stored is not None:
            return f"{self.reward} ({self.stored}@{self.revision})"
        return f"code {self.reward_sha256[:12]}" if self.reward_sha256 else "code that is not stored"


@dataclass(frozen=True, slots=True)
class Result:
    about: About
    scores: Sequence[RowScores]
    pass_above: float


def result(file_or_id: str) -> Result:
    """Load a result from a file of `reinforge eval --out` or from the server.

    Raises NotFound, InvalidInput if it is not a stand-alone evaluation, JobFailure if it has not succeeded.
    """
    if Path(file_or_id).is_file():
        return _read(Path(file_or_id))
    with connect() as client:
        return _fetched(client, client.evaluations.get(file_or_id))


def baseline(reference: str, new: About, *, optional: bool) -> Result | None:
    """Load a baseline by file, id or name. A name means its newest evaluation on the same dataset but `new`.

    If none has the name, returns None if `optional`, else raises NotFound `baseline_not_found`. Raises
    StateConflict `baseline_not_comparable` if the datasets differ.
    """
    if Path(reference).is_file() or reference.startswith("eval_"):
        old = result(reference)
        if same_dataset(old.about, new) is False:
            raise _not_comparable(old.about, new)
        return old
    with connect() as client:
        newest: About | None = None
        for evaluation, about in _named(client, reference, new):
            newest = newest or about
            if same_dataset(about, new) is not False:
                return _fetched(client, evaluation)
    if newest is not None:
        raise _not_comparable(newest, new)
    if optional:
        return None
    raise NotFound(
        f"No evaluation called {reference!r} has succeeded.",
        code="baseline_not_found",
        hint=f"Make one with `reinforge eval --name {reference} …`, or pass --baseline-optional.",
        param="--baseline",
    )


def same_dataset(old: About, new: About) -> bool | None:
    """True if both use the same dataset, by id or else by content hash; None if unknown."""
    if old.dataset is not None and old.dataset == new.dataset:
        return True
    if (old.dataset is None and old.dataset_sha256 is None) or (
        new.dataset is None and new.dataset_sha256 is None
    ):
        return None
    before, now = _content(old), _content(new)
    return before is not None and before == now


def differences(old: About, new: About) -> list[str]:
    notes = []
    if same_dataset(old, new) is None:
        notes.append(
            "It is unknown whether both results are of the same dataset: rows were matched by number alone."
        )
    before, now = old.scored_by(), new.scored_by()
    if before is not None and now is not None and before != now:
        notes.append(
            f"The rewards differ: {old.reward_words()} scored the baseline, {new.reward_words()} this "
            "evaluation. A difference in the results may come from the reward instead of the model."
        )
    if old.settings is not None and new.settings is not None:
        # A setting that one of the two does not have is one that another release did not have.
        both = [name for name in SAMPLING if name in old.settings and name in new.settings]
        changed = [
            f"{name} {old.settings[name]} → {new.settings[name]}"
            for name in both
            if old.settings[name] != new.settings[name]
        ]
        if changed:
            notes.append(f"Sampling settings differ from the baseline's: {', '.join(changed)}.")
    if old.prompt_view is not None and new.prompt_view is not None and old.prompt_view != new.prompt_view:
        notes.append(
            "The baseline made its prompts from the rows differently, or took answers from another column."
        )
    return notes


def _named(client: Reinforge, name: str, new: About) -> Iterator[tuple[Evaluation, About]]:
    """Succeeded evaluations of this name other than `new`, newest first."""
    for evaluation in client.evaluations.list(name=name, status="succeeded"):
        if evaluation.id != new.id:
            yield evaluation, _about(evaluation)


def _about(evaluation: Evaluation) -> About:
    return About.model_validate(evaluation.model_dump(mode="json"))


def _content(about: About) -> str | None:
    if about.dataset_sha256 is not None or about.dataset is None:
        return about.dataset_sha256
    try:
        with connect() as client:
            return client.datasets.get(about.dataset).sha256
    except (
        ReinforgeError
    ):  # deleted since, another server, or none: its id is another, so it counts as another
        return None


def _not_comparable(old: About, new: About) -> StateConflict:
    return StateConflict(
        f"The baseline {old.id} (dataset {old.dataset or 'unknown'}) cannot be compared with the "
        f"evaluation {new.id} (dataset {new.dataset or 'unknown'}): their datasets differ.",
        code="baseline_not_comparable",
        hint=f"Make a new baseline: `reinforge eval --name {old.name or 'NAME'} --dataset …` with the model that is to "
        "be the baseline, on the dataset (and with the reward) of this evaluation.",
        param="--baseline",
    )


def _fetched(client: Reinforge, evaluation: Evaluation) -> Result:
    _require_success(evaluation)
    rows = client.evaluations.rows(evaluation.id)
    return Result(_about(evaluation), rows.data, rows.pass_above)


def _read(path: Path) -> Result:
    try:
        document = jsonlib.loads(path.read_text(encoding="utf-8"))
        about = About.model_validate(document["evaluation"])
        rows = EvaluationRows.model_validate(document["scores"])
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        raise InvalidInput(
            f"{path} is not a file that `reinforge eval --out` wrote.", code="invalid_evaluation_file"
        ) from error
    return Result(about, rows.data, rows.pass_above)


def _require_success(evaluation: Evaluation) -> None:
    if evaluation.kind != "stand_alone":
        raise InvalidInput(
            f"{evaluation.id} is a replay; a gate needs a stand-alone evaluation.",
            code="not_stand_alone",
            hint="Make one with `reinforge eval`.",
        )
    if evaluation.status != "succeeded":
        error = evaluation.error
        raise JobFailure(
            error.message if error else f"The evaluation {evaluation.id} is {evaluation.status}.",
            code=error.code if error else "evaluation_not_succeeded",
            hint=error.hint if error else None,
        )

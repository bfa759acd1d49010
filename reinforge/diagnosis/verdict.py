"""Verdict on a job's outcome: learned, no change, worse than the base, or unknown.

Held-out rows are the independent observations, not completions of one row. A claim needs a 95 %
interval that excludes 0. A rise contradicted by other evidence is unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Outcome = Literal["learned", "no_change", "worse_than_base", "unknown"]
Points = Sequence[tuple[int, float]]

FEWEST_ROWS = 5
"""Minimum held-out rows for any claim."""
ENOUGH_ROWS = 20
"""Minimum held-out rows for an interval around 0 to show that nothing changed."""
RECENT = 5
TRUNCATED = 0.9
FOLLOWS_LENGTH = 0.7
IS_LENGTH = 0.95
"""Correlation with length that is too high to come from right answers being longer."""
STEPS_WITH_SPREAD = 3
"""Minimum steps in which the correlation was measured."""
ERRORS = 0.02
MANY_ERRORS = 0.2
"""Share of missing rewards above which means are unreliable."""
LOW_ANSWERS = 0.1


class _Report(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class Change(_Report):
    value: float
    low: float
    high: float
    """Upper bound of the 95 % interval over rows."""


class Problem(_Report):
    code: Literal[
        "worse_than_base", "truncated", "reward_follows_length", "answers_disagree", "reward_errors",
        "past_best", "no_held_out", "not_compared", "few_rows",
    ]  # fmt: skip
    step: int | None = None
    message: str


class Verdict(_Report):
    outcome: Outcome
    message: str
    note: str | None = None
    """Short addition to the job's state; null for a plain success."""
    change: Change | None = None
    """Newest held-out reward minus the base's."""
    rows: int = 0
    problems: list[Problem] = Field(default_factory=list)


@dataclass(frozen=True)
class HeldOutScore:
    step: int
    value: float
    std_error: float | None = None


@dataclass(frozen=True)
class Evidence:
    """Stored series of a job; missing ones are empty."""

    held_out: Sequence[HeldOutScore] = ()
    """Evaluations; the first is of the base."""
    answers: Sequence[HeldOutScore] = ()
    """Share of right answers, where an answer column is declared."""
    rows: int = 0
    start: int = 0
    """Step before training: 0, or the fork's."""
    reward: Points = ()
    truncated: Points = ()
    errors: Points = ()
    length_correlation: Points = ()
    paired: Mapping[int, HeldOutScore] = field(default_factory=dict)
    """Step → row-by-row change from the base, with standard error."""


def judge(evidence: Evidence) -> Verdict:
    problems_so_far = [*_length(evidence), *_truncated(evidence), *_errors(evidence)]
    missing = _not_comparable(evidence)
    if missing is not None:
        return _unknown(evidence, [missing, *_in_order(problems_so_far)])
    base, newest = evidence.held_out[0], evidence.held_out[-1]
    change = change_at(evidence, newest.step)
    assert change is not None
    worse = _worse(evidence, base, change)
    problems = _in_order([*problems_so_far, *_answers(evidence, change)])
    if worse is not None:
        # What was there from the first step on came before; the rest follows from the fall.
        before = [
            problem for problem in problems if problem.step is not None and problem.step <= evidence.start + 1
        ]
        problems = [*before, worse, *(problem for problem in problems if problem not in before)]
        return _verdict(evidence, "worse_than_base", f"No: {_listed(problems)}", change, problems)
    blocking = [problem for problem in problems if problem.code != "reward_errors" or _most_errors(evidence)]
    if blocking:
        return _unknown(evidence, problems, change)
    return _compared(evidence, base, newest, change, problems)


def _not_comparable(evidence: Evidence) -> Problem | None:
    if not evidence.held_out:
        return Problem(code="no_held_out", message="no held-out rows were measured")
    base, newest = evidence.held_out[0], evidence.held_out[-1]
    if base.step != evidence.start or newest.step == base.step:
        measured = "only once" if base.step == evidence.start else "not before the training"
        return Problem(code="not_compared", message=f"held-out reward was measured {measured}")
    if evidence.rows >= FEWEST_ROWS and change_at(evidence, newest.step) is not None:
        return None
    rows = f"{evidence.rows} held-out row{'s are' if evidence.rows != 1 else ' is'} too few to compare"
    return Problem(code="few_rows", message=f"{rows} (reward {base.value:.2f} → {newest.value:.2f})")


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.step or 0)


def change_at(evidence: Evidence, step: int) -> Change | None:
    """Change from the base at a step; None if its interval is unknown."""
    at = {point.step: point for point in evidence.held_out}
    if not evidence.held_out or step not in at:
        return None
    if (pair := evidence.paired.get(step)) is not None and pair.std_error is not None:
        return _interval(pair.value, pair.std_error, evidence.rows)
    base, then = evidence.held_out[0], at[step]
    if base.std_error is None or then.std_error is None:
        return None
    return _interval(then.value - base.value, (base.std_error**2 + then.std_error**2) ** 0.5, evidence.rows)


def _interval(value: float, std_error: float, rows: int) -> Change:
    # Quantile of Student's t with rows - 1 degrees of freedom, within 2 % from 5 rows on.
    degrees = max(rows - 1, 1)
    quantile = 1.96 + 2.4 / degrees + 3.0 / degrees**2
    return Change(value=value, low=value - quantile * std_error, high=value + quantile * std_error)


def _compared(
    evidence: Evidence, base: HeldOutScore, newest: HeldOutScore, change: Change, problems: list[Problem]
) -> Verdict:
    best = max(evidence.held_out[1:], key=lambda measured: (measured.value, measured.step))
    gain = change_at(evidence, best.step)
    moved = f"held-out reward {base.value:.2f} → {newest.value:.2f} ({_bounds(change, evidence.rows)})"
    also = f"; {_listed(problems)}" if problems else ""
    if change.low > 0:
        return _verdict(evidence, "learned", f"Yes: {moved}{also}.", change, problems)
    if change.value >= 0 and gain is not None and gain.low > 0:
        past = Problem(
            code="past_best",
            step=best.step,
            message=f"held-out reward was {best.value:.2f} at step {best.step}",
        )
        message = f"Yes, up to step {best.step}: held-out reward {base.value:.2f} → {best.value:.2f}"
        message += f" ({_bounds(gain, evidence.rows)}), now {newest.value:.2f}{also}."
        return _verdict(evidence, "learned", message, change, [past, *problems])
    if evidence.rows < ENOUGH_ROWS and change.low != change.high:
        few = Problem(code="few_rows", message=f"{moved} may be chance")
        return _unknown(evidence, [few, *problems], change)
    return _verdict(evidence, "no_change", f"No change beyond chance: {moved}{also}.", change, problems)


def _worse(evidence: Evidence, base: HeldOutScore, change: Change) -> Problem | None:
    if change.high >= 0:
        return None
    newest = evidence.held_out[-1]
    fell = next(
        point.step
        for point in evidence.held_out[1:]
        if ((since_base := change_at(evidence, point.step)) is not None and since_base.high < 0)
        or point is newest
    )
    message = f"held-out reward fell below the base by step {fell} ({base.value:.2f} → {newest.value:.2f})"
    best = max(evidence.held_out[1:], key=lambda point: point.value)
    if (gain := change_at(evidence, best.step)) is not None and gain.low > 0:
        message += f"; it was {best.value:.2f} at step {best.step}"
    return Problem(code="worse_than_base", step=_fell_from_start(evidence.reward) or fell, message=message)


def _fell_from_start(reward: Points) -> int | None:
    if len(reward) < 2 or reward[0][1] <= 0:
        return None
    return _since(reward, below=reward[0][1] / 2)


def _truncated(evidence: Evidence) -> list[Problem]:
    if _recent(evidence.truncated) < TRUNCATED:
        return []
    share = _recent(evidence.truncated)
    since = _since([(step, -value) for step, value in evidence.truncated], below=-TRUNCATED + 1e-9)
    when = "" if since is None else f" since step {since}"
    message = f"{share:.0%} of completions hit the token limit{when}"
    return [Problem(code="truncated", step=since, message=message)]


def _length(evidence: Evidence) -> list[Problem]:
    points = evidence.length_correlation
    if len(points) < STEPS_WITH_SPREAD:
        return []
    mean = fmean(value for _, value in points)
    rose = _answers_rose(evidence)
    if mean < (IS_LENGTH if rose else FOLLOWS_LENGTH):
        return []
    first = next(step for step, value in points if value >= FOLLOWS_LENGTH)
    message = f"reward follows length (r = {mean:.2f})"
    if rose:
        shares = f"{evidence.answers[0].value:.2f} to {evidence.answers[-1].value:.2f}"
        message += f" though right answers rose from {shares}"
    return [Problem(code="reward_follows_length", step=first, message=message)]


def _answers_change(evidence: Evidence) -> Change | None:
    if len(evidence.answers) < 2:
        return None
    answers = Evidence(held_out=evidence.answers, rows=evidence.rows)
    return change_at(answers, evidence.answers[-1].step)


def _answers_rose(evidence: Evidence) -> bool:
    change = _answers_change(evidence)
    return change is not None and change.low > 0


def _answers(evidence: Evidence, reward: Change) -> list[Problem]:
    """Problem: right answers contradict the reward, because they fell or stayed rare."""
    change = _answers_change(evidence)
    if change is None:
        return []
    base, newest = evidence.answers[0], evidence.answers[-1]
    if change.high < 0:
        message = f"right answers fell from {base.value:.2f} to {newest.value:.2f}"
    elif reward.low > 0 and not change.low > 0 and 0 < newest.value < LOW_ANSWERS:
        message = f"right answers stayed at {newest.value:.2f}"
    else:
        return []
    begun = base.value - (base.value - newest.value) / 4
    step = next(point.step for point in evidence.answers[1:] if point.value <= begun or point is newest)
    return [Problem(code="answers_disagree", step=step, message=message)]


def _errors(evidence: Evidence) -> list[Problem]:
    share = _mean(evidence.errors)
    if share <= ERRORS:
        return []
    first = next(step for step, value in evidence.errors if value > 0)
    message = f"rewards failed on {share:.0%} of completions"
    return [Problem(code="reward_errors", step=first, message=message)]


def _most_errors(evidence: Evidence) -> bool:
    return max(_mean(evidence.errors), _recent(evidence.errors)) > MANY_ERRORS


def _mean(points: Points) -> float:
    return fmean(value for _, value in points) if points else 0.0


def _recent(points: Points) -> float:
    return _mean(points[-RECENT:])


def _since(points: Points, *, below: float) -> int | None:
    first_step = None
    for step, value in reversed(points):
        if value >= below:
            break
        first_step = step
    return first_step


def _bounds(change: Change, rows: int) -> str:
    return f"{change.value:+.2f}, 95% interval {change.low:+.2f} to {change.high:+.2f}, {rows} rows"


def _listed(problems: Sequence[Problem]) -> str:
    return ", ".join(problem.message for problem in problems)


def _unknown(evidence: Evidence, problems: list[Problem], change: Change | None = None) -> Verdict:
    return _verdict(evidence, "unknown", f"Cannot tell: {_listed(problems)}.", change, problems)


def _verdict(
    evidence: Evidence, outcome: Outcome, message: str, change: Change | None, problems: list[Problem]
) -> Verdict:
    if not message.endswith("."):
        message += "."
    return Verdict(
        outcome=outcome,
        message=message,
        note=_note(outcome, problems),
        change=change,
        rows=evidence.rows,
        problems=problems,
    )


def _note(outcome: Outcome, problems: Sequence[Problem]) -> str | None:
    codes = {problem.code for problem in problems}
    if outcome in ("no_change", "worse_than_base"):
        return "no change" if outcome == "no_change" else "worse than base"
    if codes & {"truncated", "reward_follows_length", "answers_disagree"}:
        return "cannot tell"
    failed = next((problem for problem in problems if problem.code == "reward_errors"), None)
    return failed.message.removesuffix(" of completions") if failed else None

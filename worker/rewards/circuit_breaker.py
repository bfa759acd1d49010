from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from worker.rewards.base import RESUME_HINT, RewardResult, RewardsFailed, Score

WINDOW_STEPS = 3
HINT = f"Read the errors of the completions. {RESUME_HINT}"


@dataclass(slots=True)
class Breaker:
    """Pauses a job if all rows of a step fail, or if `WINDOW_STEPS` steps drop over `share` of their rows."""

    share: float
    window: list[tuple[int, int]] = field(default_factory=list)

    def check(self, scores: Sequence[Score]) -> None:
        refuse_if_all_failed(scores)
        dropped = sum(score.dropped for score in scores)
        self.window = [*self.window, (dropped, len(scores))][-WINDOW_STEPS:]
        errors, rows = (sum(column) for column in zip(*self.window, strict=True))
        if len(self.window) == WINDOW_STEPS and errors > self.share * rows:
            results = _failures(scores)
            raise RewardsFailed(
                f"{errors} of {rows} completions of the last {WINDOW_STEPS} steps failed to score, more than "
                f"{self.share:.0%}. {_most(results)}",
                traceback=top_message(results),
                hint=HINT,
                code=_reason(results),
            )


def refuse_if_all_failed(scores: Sequence[Score]) -> None:
    results = _failures(scores)
    if scores and all(score.error is not None for score in scores):
        raise RewardsFailed(
            f"Every one of {len(scores)} completions failed to score. {_most(results)}",
            traceback=top_message(results),
            hint=HINT,
            code=_reason(results),
        )


def top_message(results: Iterable[RewardResult]) -> str | None:
    counted = Counter(result.message for result in results if result.message)
    return counted.most_common(1)[0][0] if counted else None


def _failures(scores: Sequence[Score]) -> list[RewardResult]:
    return [result for score in scores for result in score.results if result.failed]


def _reason(results: Sequence[RewardResult]) -> str:
    (status, _), *_ = Counter(result.status for result in results).most_common(1) or [("", 0)]
    return {"judge_error": "judge_unavailable", "endpoint_error": "endpoint_unavailable"}.get(
        status, "reward_errors"
    )


def _most(results: Sequence[RewardResult]) -> str:
    if not results:
        return ""
    (name, status), count = Counter((result.name, result.status) for result in results).most_common(1)[0]
    return f"Most often: {name} ended with {status} ({count} times)."

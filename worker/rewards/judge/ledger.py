"""Usage, cost and budget of a job's judges."""

import threading
from dataclasses import dataclass, field
from typing import Any

from reinforge.errors import JobFailure


@dataclass(frozen=True, slots=True)
class JudgeUsage:
    """cost: in the currency of the judge's prices; 0 for a cached answer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    from_cache: bool = False

    def as_dict(self) -> dict[str, float]:
        counted = 0.0 if self.from_cache else 1.0
        return {
            "prompt_tokens": self.prompt_tokens * counted,
            "completion_tokens": self.completion_tokens * counted,
            "cached_tokens": self.cached_tokens * counted,
            "cost": self.cost,
            "calls": counted,
            "cached_calls": 1.0 - counted,
        }


@dataclass(slots=True)
class Ledger:
    """Thread-safe. granted: limit on the total cost. It starts at `budget`, and becomes cost + `budget` when a
    job that has spent it resumes.
    """

    budget: float | None = None
    cost: float = 0.0
    granted: float = 0.0
    saved: float = 0.0
    _per_judge: dict[str, tuple[float, int]] = field(default_factory=dict)
    _dearest: dict[str, float] = field(default_factory=dict)
    _under_way: dict[str, int] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.granted = self.granted or self.budget or 0.0

    @classmethod
    def resumed(cls, budget: float | None, state: dict[str, Any]) -> "Ledger":
        ledger = cls(budget, cost=float(state.get("cost", 0)), saved=float(state.get("saved", 0)))
        ledger.granted = float(state.get("granted", 0)) or (budget or 0.0)
        if budget is not None and ledger.cost >= ledger.granted:
            ledger.granted = ledger.cost + budget
        return ledger

    def admit(self, judge: str) -> bool:
        """Admit a paid call. Returns False if running calls may use up the budget: try again later. Raises
        retryable JobFailure `judge_budget` if it is spent.
        """
        with self._lock:
            spent, waiting = self.cost, self._under_way.get(judge, 0)
            if self.budget is None or spent < self.granted:
                has_cost = judge in self._dearest
                held = sum(count * self._dearest.get(name, 0.0) for name, count in self._under_way.items())
                if self.budget is not None and waiting and (not has_cost or spent + held >= self.granted):
                    return False
                self._under_way[judge] = waiting + 1
                return True
        raise JobFailure(
            f"Judges have cost {spent:.4g}, but limits.judge_budget allows only {self.granted:.4g}.",
            code="judge_budget",
            hint=f"Resume the job to allow another {self.budget:.4g}, or start one with a larger limits.judge_budget.",
            retryable=True,
        )

    def settle(self, judge: str) -> None:
        with self._lock:
            self._under_way[judge] -= 1

    def add(self, judge: str, usage: JudgeUsage) -> None:
        with self._lock:
            self.cost += usage.cost
            if not usage.from_cache:
                cost, calls = self._per_judge.get(judge, (0.0, 0))
                self._per_judge[judge] = cost + usage.cost, calls + 1
                self._dearest[judge] = max(self._dearest.get(judge, 0.0), usage.cost)
            for name, count in usage.as_dict().items():
                self._count(name, count)

    def failed(self) -> None:
        with self._lock:
            self._count("failed", 1)

    def retried(self) -> None:
        with self._lock:
            self._count("retries", 1)

    def spare(self, judge: str, calls: int) -> None:
        with self._lock:
            cost, made = self._per_judge.get(judge, (0.0, 0))
            self.saved += calls * cost / made if made else 0.0
            self._count("spared", calls)

    def metrics(self) -> dict[str, float]:
        """Counts since these metrics were last read, costs since the job's start."""
        with self._lock:
            since, self._since = self._since, {}
            if not since and not self.cost:
                return {}
            calls, cached = since.get("calls", 0.0), since.get("cached_calls", 0.0)
            return {
                "judge/calls": calls,
                "judge/cached_share": cached / (calls + cached) if calls + cached else 0.0,
                "judge/input_tokens": since.get("prompt_tokens", 0.0),
                "judge/output_tokens": since.get("completion_tokens", 0.0),
                "judge/failed": since.get("failed", 0.0),
                "judge/retries": since.get("retries", 0.0),
                "judge/spared": since.get("spared", 0.0),
                "judge/cost": self.cost,
                "judge/saved_cost": self.saved,
            }

    def state(self) -> dict[str, Any]:
        with self._lock:
            return {"cost": self.cost, "saved": self.saved, "granted": self.granted}

    def _count(self, name: str, count: float) -> None:
        self._since[name] = self._since.get(name, 0.0) + count

"""Grader `multi`: a formula over other graders, some of which run only on rows whose gate is open."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reinforge.grading.errors import FormulaError
from reinforge.grading.multi import Multi
from worker.rewards.base import RewardResult
from worker.rewards.rater import Rater, RewardInput, failed, ok, side_by_side, with_usage

SPARED = RewardResult(name="", status="not_applicable", value=None, code="gated")
Results = dict[str, list[RewardResult]]


class MultiRater(Rater):
    def __init__(self, grader: Multi, parts: Mapping[str, Rater]) -> None:
        self._grader, self._parts = grader, parts
        self._needed = grader.formula.names | {gate.part for gate in grader.gates.values()}

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        results: Results = {}
        for keys in self._waves():
            columns = await side_by_side([self._part(key, rows, results) for key in keys])
            results |= dict(zip(keys, columns, strict=True))
        return [
            self._combined({key: results[key][index] for key in self._grader.graders})
            for index in range(len(rows))
        ]

    def spared(self, rows: int) -> None:
        for part in self._parts.values():
            part.spared(rows)

    def _waves(self) -> list[list[str]]:
        waves: list[list[str]] = []
        place: dict[str, int] = {}
        for key in self._grader.order:
            gate = self._grader.gates.get(key)
            place[key] = 0 if gate is None else place[gate.part] + 1
            if place[key] == len(waves):
                waves.append([])
            waves[place[key]].append(key)
        return waves

    async def _part(self, key: str, rows: Sequence[RewardInput], finished: Results) -> list[RewardResult]:
        gate = self._grader.gates.get(key)
        runs = list(range(len(rows)))
        if gate is not None:
            decided = [result.value for result in finished[gate.part]]
            runs = [index for index, value in enumerate(decided) if value is not None and value > gate.above]
            if spared := len(rows) - len(runs):
                self._parts[key].spared(spared)
        scored = await self._parts[key].rate([rows[index] for index in runs]) if runs else []
        results = dict(zip(runs, scored, strict=True))
        return [results.get(index, SPARED) for index in range(len(rows))]

    def _combined(self, parts: dict[str, RewardResult]) -> RewardResult:
        result = with_usage(self._value(parts), parts.values())
        return replace(
            result,
            parts={key: part.value for key, part in parts.items() if part.value is not None},
            part_status={key: part.status for key, part in parts.items() if part.status != "ok"},
            labels={key: part.labels[""] for key, part in parts.items() if "" in part.labels},
            reason=_joined({key: part.reason for key, part in parts.items()}),
            prints=_joined({key: part.prints.rstrip() for key, part in parts.items()}) or "",
            wall_ms=sum(part.wall_ms for part in parts.values()),
            cpu_ms=sum(part.cpu_ms for part in parts.values()),
        )

    def _value(self, parts: dict[str, RewardResult]) -> RewardResult:
        needed = {key: part for key, part in parts.items() if key in self._needed}
        for key, part in needed.items():
            if part.failed:
                return failed(part.status, part.code or part.status, f"{key}: {part.message}")
        numbers: dict[str, float] = {}
        for key, part in needed.items():
            if part is SPARED:
                numbers[key] = self._grader.gates[key].otherwise
            elif part.value is None:
                return RewardResult(name="", status="not_applicable", value=None)
            else:
                numbers[key] = part.value
        try:
            return ok(self._grader.formula.value(numbers))
        except FormulaError as error:
            inputs = ", ".join(f"{key} = {value:g}" for key, value in numbers.items())
            return failed("bad_value", error.code, f"calculate_output: {error} ({inputs})")


def _joined(texts: Mapping[str, str | None]) -> str | None:
    return "\n".join(f"{key}: {text}" for key, text in texts.items() if text) or None

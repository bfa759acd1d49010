"""Our own attacks: on what a reward may reply, and by programs. Their headers say what must happen.

``attacks/reply``: a module with ``attack(item)``, called for the row ``ATTACK``; its neighbours answer with all that a
reward may return. ``attacks/programs``: a program, run as its ``KIND`` says.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from worker.sandbox import (
    CallOutcome,
    ProgramLimits,
    ProgramResult,
    ProgramRun,
    RewardRow,
    RowResult,
    SandboxClient,
)

from .corpus import TIMEOUTS, Attack
from .test_parse import check

_FOLDER = Path(__file__).with_name("attacks")
REPLY_ATTACKS = sorted((_FOLDER / "reply").glob("[0-9]*.py"))
PROGRAM_ATTACKS = sorted((_FOLDER / "programs").glob("[0-9]*.py"))
LIMITS = ProgramLimits(wall=0.6, memory=256 << 20)

_FINE = {
    "score": 0.5, "reason": "fine", "parts": {"p": 0.5}, "criteria": {"c": 0.25}, "steps": [(0.5, 4)],
    "candidates": [[0.5, 1.0]],
}  # fmt: skip
_WRAP = f"""
def grade(sample, item):
    return attack(item) if sample["output_text"] == "ATTACK" else {_FINE!r}
"""
TEST = "assert f(3) == 9\nassert f(12) == 144\n"


@dataclass(frozen=True)
class ReplyAttack:
    whole: Attack

    @classmethod
    def read(cls, path: Path) -> "ReplyAttack":
        attack = Attack.read(path)
        return cls(replace(attack, source=path.read_text() + _WRAP) if attack.style == "sample" else attack)

    def run(self, client: SandboxClient, isolate: str = "batch") -> CallOutcome:
        rows = [RewardRow("", completion, {}) for completion in ("fine", "ATTACK", "fine")]
        granularity = "batch" if self.whole.style == "batch" else "sample"
        return client.score(
            self.whole.source, rows, granularity=granularity, isolate=isolate, timeouts=TIMEOUTS
        )  # type: ignore[arg-type]

    def complaints(self, outcome: CallOutcome, isolate: str = "batch") -> list[str]:
        """What does not hold of the header's promises, and of every reply."""
        verdict = outcome.rows[1].status if outcome.status == "ok" else outcome.status
        verdict = "contained" if verdict == "ok" and outcome.rows[1].value in (0.0, 0.25) else verdict
        wrong = [] if verdict in self.whole.accept else [f"{verdict}: {outcome}"]
        for row in outcome.rows:
            check(row)
        neighbours = outcome.rows[::2]
        if self.whole.neighbours == "same":
            wrong += (
                [] if len({row.status for row in outcome.rows}) == 1 else [f"ended differently: {outcome}"]
            )
        elif self.whole.neighbours == "ok" or isolate == "sample":
            wrong += [f"a neighbour was changed: {row}" for row in neighbours if not self._fine(row)]
        return wrong

    def _fine(self, row: RowResult) -> bool:
        if self.whole.style != "sample":
            return row.value == 0.5
        expected = RowResult("ok", 0.5, {"p": 0.5}, [(0.5, 4)], {"c": 0.25}, [[0.5, 1.0]], "fine")
        return replace(row, wall_ms=0.0, cpu_ms=0.0) == expected


@dataclass(frozen=True)
class ProgramAttack:
    source: str
    kind: str
    accept: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> "ProgramAttack":
        text = path.read_text()
        fields = dict(re.findall(r"^(KIND|ACCEPT|GOAL|MUST): (.*)$", text, re.MULTILINE))
        assert set(fields) == {"KIND", "ACCEPT", "GOAL", "MUST"}, path
        return cls(text, fields["KIND"], frozenset(fields["ACCEPT"].split(", ")))

    def request(self) -> ProgramRun:
        if self.kind == "script":
            return ProgramRun(stdin="5\n" * 1_000_000)
        return ProgramRun(call="f(3)") if self.kind == "call" else ProgramRun(test=TEST)

    def run(self, client: SandboxClient) -> ProgramResult:
        outcome = client.run_programs(self.source, [self.request()], LIMITS)
        assert outcome.status == "ok", outcome
        return outcome.results[0]

    def complaints(self, result: ProgramResult, *secrets: str) -> list[str]:
        wrong = [] if result.status in self.accept else [f"{result.status}: {result}"]
        if self.kind == "test" and result.status == "ok":
            wrong.append("a wrong program passed its test")
        text = result.output + result.notes + (result.message or "")
        wrong += [f"{word!r} in {text[:300]}" for word in ("succeeded", "open ", *secrets) if word in text]
        wrong += (
            ["too much came out"] if len(result.output) > LIMITS.output or len(result.notes) > 2048 else []
        )
        return wrong

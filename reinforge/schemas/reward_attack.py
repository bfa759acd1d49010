"""Request and response of an attack on a reward with wrong completions."""

from typing import Any, Literal

from pydantic import Field

from reinforge.schemas.common import Request, Response

MOST_ATTACK_ROWS = 16


class RewardAttackRow(Request):
    prompt: str | list[dict[str, Any]] = ""
    item: dict[str, Any] = {}


class RewardAttack(Request):
    """Scores wrong completions of `rows` with the stored reward in the path, or with `source` or `grader`."""

    source: str | None = Field(default=None, max_length=262_144)
    """Python code, or a grader's JSON as text."""
    grader: dict[str, Any] | None = None
    entry: str | None = None
    granularity: Literal["sample", "group", "batch"] = "sample"
    rows: list[RewardAttackRow] = Field(min_length=1, max_length=MOST_ATTACK_ROWS)
    answer: str = Field(default="answer", max_length=200)
    """Field of `item` with the right answer. Without this field, only rewards of nonsense are reported."""
    right: str | None = Field(default=None, max_length=20_000)
    """A right completion with `{answer}` in place of the answer; default: the common form
    that the reward pays best.
    """
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)


class AttackExample(Response):
    row: int
    """Index in the request."""
    answer: str | None
    completion: str
    value: float | None
    right_value: float | None
    """Reward of the right completion of the row."""
    reason: str | None = None


class AttackFinding(Response):
    code: str
    """`empty`, `inside_longer`, `other_answer` …"""
    title: str
    severity: Literal["high", "low"]
    """`low`: only a model that knows the right answer is paid; such findings alone do not break a reward."""
    message: str
    implied_by: str | None = None
    """Code of a finding that explains this one: the reward pays similarly for that form of nonsense."""
    rows: int
    """Number of rows on which the reward pays for such completions."""
    tried: int
    value: float
    """Mean reward on those rows."""
    line: int | None = None
    """Line of the code that probably causes it."""
    fix: str
    example: AttackExample


class AttackProbe(Response):
    code: str
    title: str
    tried: int
    paid: int
    value: float | None
    """Mean reward over rows; None if none was scored."""
    errors: int = 0


class AttackReport(Response):
    object: Literal["reward.attack"] = "reward.attack"
    verdict: Literal["broken", "holds", "unknown"]
    message: str
    rows: int
    completions: int
    """Number of completions scored."""
    right: str | None
    """The form of a right completion, with `{answer}`; None if the reward pays for no form."""
    right_value: float | None
    """Mean reward of right completions."""
    findings: list[AttackFinding]
    """High severity first, then findings that no other explains, then the most widely paid."""
    errors: list[AttackExample] = []
    """Completions on which the reward failed; `reason` says how."""
    probes: list[AttackProbe]
    jail: str | None = None
    load_error: str | None = None

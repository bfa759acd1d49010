"""Report card of a job: its adapter on held-out rows, compared with the base and the parent adapter."""

from typing import Any, Literal

from reinforge.diagnosis.verdict import Outcome
from reinforge.schemas.common import Response, Timestamp

CardFormat = Literal["json", "html", "md", "manifest"]
FigureGroup = Literal[
    "reward", "pass_at_k", "best_at_k", "parts", "slices", "behaviour", "failures", "ability"
]


class CardEstimate(Response):
    """Mean over held-out rows with a 95 % bootstrap interval."""

    value: float
    low: float
    high: float
    rows: int


class CardChange(CardEstimate):
    paired: bool
    """Whether rewards are compared row by row; otherwise as two samples of rows, with a wider interval."""


class CardPolicy(Response):
    role: Literal["base", "parent", "adapter"]
    name: str
    job: str | None = None
    step: int
    """Step of the evaluation in `job`."""
    rows: int
    completions: int


class CardFigure(Response):
    key: str
    """Name in conditions, such as `pass@4` or `slice/hard`."""
    group: FigureGroup
    title: str
    unit: str
    better: Literal["higher", "lower"] | None = None
    base: CardEstimate | None = None
    parent: CardEstimate | None = None
    adapter: CardEstimate | None = None
    change: CardChange | None = None
    """Adapter minus base."""
    parent_change: CardChange | None = None
    """Adapter minus parent."""


class CardAbility(Response):
    """Evaluations of base and adapter on the same rows of another dataset, with the same reward and settings."""

    dataset: str
    name: str
    reward: str
    base_evaluation: str
    adapter_evaluation: str
    figures: list[CardFigure]
    worse: bool
    """Whether the adapter's reward is below the base's beyond chance."""


class CardWitness(Response):
    """A sign that the reward was gained in an unintended way."""

    code: str
    message: str
    evidence: dict[str, Any] = {}


class CardFinding(Response):
    code: str
    severity: str
    step: int
    message: str


class CardCompletion(Response):
    row: int
    sample: int
    reward: float
    base_reward: float | None = None
    """Mean reward of the base on the same row."""
    tokens: int
    finish_reason: str
    prompt: str | None = None
    answer: str | None = None
    text: str


class CardVerdict(Response):
    outcome: Outcome
    message: str


class CardSubject(Response):
    """Job and adapter that the card is about, with the SHA-256 of their inputs."""

    job: str
    name: str
    status: str
    step: int
    adapter: str | None = None
    adapter_sha256: str | None = None
    model: str
    model_sha256: str | None = None
    dataset: str
    dataset_sha256: str
    held_out_dataset: str | None = None
    held_out_dataset_sha256: str | None = None
    rewards: list[dict[str, Any]] = []
    """Name, weight and SHA-256 of the source."""
    preset: str | None = None
    seed: int | None = None
    started_from: str | None = None
    spec_sha256: str
    created_at: Timestamp
    finished_at: Timestamp | None = None


class CardCost(Response):
    seconds: float | None = None
    worker_seconds: float
    sampled_tokens: float
    trained_tokens: float
    cost: float | None = None
    """Cost of worker time, at the operator's price of a GPU hour, and of judges."""


class CardCondition(Response):
    condition: str
    met: bool
    value: float | None = None
    message: str


class CardRequirement(Response):
    text: str
    met: bool
    conditions: list[CardCondition]


class ReportCard(Response):
    object: Literal["report_card"] = "report_card"
    version: Literal[1] = 1
    subject: CardSubject
    verdict: CardVerdict | None = None
    policies: list[CardPolicy] = []
    pass_above: float
    slice_column: str | None = None
    figures: list[CardFigure] = []
    abilities: list[CardAbility] = []
    witnesses: list[CardWitness] = []
    findings: list[CardFinding] = []
    """Open findings."""
    best: list[CardCompletion] = []
    worst: list[CardCompletion] = []
    cost: CardCost
    notes: list[str] = []
    """Limitations of the card's figures."""
    requirement: CardRequirement | None = None


class CardManifest(Response):
    """SHA-256 of a card's files and of its subject, signed with the installation's Ed25519 key."""

    object: Literal["report_card_manifest"] = "report_card_manifest"
    version: Literal[1] = 1
    subject: CardSubject
    files: dict[str, str]
    """`card.json`, `card.md`, `card.html` → SHA-256."""
    public_key: str
    """Base64 of 32 bytes."""
    signature: str
    """Signature in Base64 of the manifest without this field, as canonical JSON: keys sorted, no spaces,
    UTF-8.
    """

"""What the suggested values are computed from."""

from dataclasses import dataclass

from reinforge.preflight.report import PreflightReport
from reinforge.spec import JobSpec

CHARACTERS_PER_TOKEN = 4
"""Of ordinary tokenizers, if no worker has counted."""
CHARACTER_VOCABULARY = 1000
"""Smaller vocabularies are of single characters."""


@dataclass(frozen=True, slots=True)
class MeasuredTexts:
    """Lengths of a dataset's prompts and reference answers in tokens."""

    longest_prompt: int
    longest_answer: int | None
    """95th percentile; None without an answer column."""
    counted: bool
    """By the model's tokenizer, not from characters."""


@dataclass(frozen=True, slots=True)
class PreflightSizes:
    id: str
    spec: JobSpec
    report: PreflightReport


@dataclass(frozen=True, slots=True)
class JobSizes:
    """None where unknown."""

    parameters: int | None
    context: int | None
    hidden_size: int | None
    rows: int
    """That are trained on."""
    texts: MeasuredTexts | None
    engine: str
    """What `rollout.engine: auto` becomes."""
    devices: tuple[str, ...]
    """Of the online trainers: `cpu` or `cuda: …`."""
    preflight: PreflightSizes | None = None


def tokens_of(characters: int, vocabulary: int | None) -> int:
    """Estimate without a tokenizer, rounded up."""
    per_token = 1 if vocabulary is not None and vocabulary < CHARACTER_VOCABULARY else CHARACTERS_PER_TOKEN
    return -(-characters // per_token)

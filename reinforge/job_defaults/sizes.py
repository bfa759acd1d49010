"""What the suggested values are computed from."""

from dataclasses import dataclass

from reinforge.preflight.report import PreflightReport
from reinforge.spec import JobSpec

CHARACTERS_PER_TOKEN = 4
"""Characters per token of ordinary tokenizers."""
CHARACTER_VOCABULARY = 1000
"""Size below which a vocabulary has single characters."""


@dataclass(frozen=True, slots=True)
class MeasuredTexts:
    """Lengths of a dataset's prompts and answers in tokens."""

    longest_prompt: int
    longest_answer: int | None
    """95th percentile; None without an answer column."""
    counted: bool
    """Whether the model's tokenizer counted."""


@dataclass(frozen=True, slots=True)
class PreflightSizes:
    id: str
    spec: JobSpec
    report: PreflightReport


@dataclass(frozen=True, slots=True)
class JobSizes:
    """Sizes; None where unknown."""

    parameters: int | None
    context: int | None
    hidden_size: int | None
    rows: int
    texts: MeasuredTexts | None
    engine: str
    devices: tuple[str, ...]
    """Devices of the online trainers: `cpu` or `cuda: …`."""
    preflight: PreflightSizes | None = None


def tokens_of(characters: int, vocabulary: int | None) -> int:
    """Estimate without a tokenizer, rounded up."""
    per_token = 1 if vocabulary is not None and vocabulary < CHARACTER_VOCABULARY else CHARACTERS_PER_TOKEN
    return -(-characters // per_token)

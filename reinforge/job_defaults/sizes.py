"""Facts on model, dataset and workers from which job values are suggested."""

from dataclasses import dataclass

from reinforge.preflight.report import PreflightReport
from reinforge.spec import JobSpec

CHARACTERS_PER_TOKEN = 4
CHARACTER_VOCABULARY = 1000


@dataclass(frozen=True, slots=True)
class MeasuredTexts:
    longest_prompt: int
    longest_answer: int | None
    counted: bool


@dataclass(frozen=True, slots=True)
class PreflightSizes:
    id: str
    spec: JobSpec
    report: PreflightReport


@dataclass(frozen=True, slots=True)
class JobSizes:
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
    per_token = 1 if vocabulary is not None and vocabulary < CHARACTER_VOCABULARY else CHARACTERS_PER_TOKEN
    return -(-characters // per_token)

"""Grader types that OpenAI does not have."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from reinforge.grading import templates
from reinforge.grading.base import GraderBase, TemplateText
from reinforge.grading.types import SamplingParams

Label = Annotated[str, Field(min_length=1, max_length=64)]


class CheckpointGrader(GraderBase):
    """Base of graders that load a checkpoint."""

    model: str = Field(min_length=1, max_length=4096)
    """Folder on the worker with config.json and .safetensors files, or `hub:org/name@revision`."""
    max_tokens: int = Field(default=1024, ge=8, le=131_072)
    """Maximum tokens of a text; longer ones lose their beginning."""
    batch_size: int = Field(default=16, ge=1, le=1024)
    """Texts per batch."""


class Classifier(CheckpointGrader):
    """Value of the label that a sequence-classification or NLI checkpoint predicts."""

    type: Literal["classifier"] = "classifier"
    input: TemplateText = "{{ sample.output_text }}"
    """Text to classify; for NLI the premise."""
    hypothesis: TemplateText | None = None
    """Second text of the pair, for NLI."""
    labels: dict[Label, float] = Field(min_length=1, max_length=64)
    """Label → value; others count 0."""
    output: Literal["expected", "likeliest"] = "expected"
    """Mean of the values weighted by probability, or the likeliest label's value."""

    def templates(self) -> tuple[str, ...]:
        return (self.input,) if self.hypothesis is None else (self.input, self.hypothesis)


class RewardModel(CheckpointGrader):
    """Score of a sequence-classification checkpoint with one output."""

    type: Literal["reward_model"] = "reward_model"
    input: TemplateText | None = None
    """Text to rate; default: the conversation in the checkpoint's chat template."""
    transform: Literal["none", "sigmoid"] = "none"
    """`sigmoid` maps scores to 0 … 1."""

    def templates(self) -> tuple[str, ...]:
        return () if self.input is None else (self.input,)


class ReferenceLogprob(CheckpointGrader):
    """Probability of the reference answer after prompt and completion, under a model that is not
    trained.
    """

    type: Literal["reference_logprob"] = "reference_logprob"
    model: str = Field(default="", max_length=4096)
    """Default: the job's base model."""
    reference: TemplateText = "{{ item.answer }}"
    """Answer whose probability counts."""
    completion: TemplateText = "{{ sample.output_text }}"
    """Text before the answer; empty to omit the completion."""
    joiner: str = Field(default="\n", max_length=1024)
    """Text between completion and answer."""
    reduce: Literal["mean", "sum"] = "mean"
    """Reduction over the answer's tokens."""
    transform: Literal["logprob", "probability"] = "logprob"
    """`probability`: exp of the log-probability, between 0 and 1."""

    def templates(self) -> tuple[str, ...]:
        return self.reference, self.completion


class RankingJudge(GraderBase):
    """A judge that ranks the completions of a prompt: 1 for the best, 0 for the last."""

    type: Literal["ranking_judge"] = "ranking_judge"
    model: str = Field(min_length=1, max_length=200)
    """A judge of the project, or of the job file's `judges`."""
    criteria: TemplateText = "The better answer is right, complete and to the point."
    """What makes a completion better. May use `{{ item.column }}`, not `sample`."""
    sampling_params: SamplingParams = SamplingParams()
    """How the judge samples."""
    max_characters: int = Field(default=8000, ge=100, le=200_000)
    """Maximum characters of a completion; longer ones are cut in the middle, with a note to the judge."""

    @field_validator("criteria")
    @classmethod
    def no_sample(cls, value: str) -> str:
        if any(variable.namespace == "sample" for variable in templates.parse(value).variables):
            raise ValueError("criteria are the same for all completions: they cannot use {{ sample… }}")
        return value

    def templates(self) -> tuple[str, ...]:
        return (self.criteria,)


class ProgramTests(GraderBase):
    """Share of the row's hidden tests that the completion's program passes, in the sandbox.

    Expected outputs stay outside the sandbox. Formats: MBPP, HumanEval, APPS, or lists of `{input, output}`
    and `{call, expected}`.
    """

    type: Literal["program_tests"] = "program_tests"
    tests: str = Field(default="tests", min_length=1, max_length=200)
    """Column with the row's tests."""
    entry: str | None = None
    """The function that HumanEval's tests call `candidate`: its name, or a column with it."""
    code: Literal["block", "text"] = "block"
    """The program: the completion's last fenced block, or the whole completion."""
    prefix: str | None = None
    """Column with source to put before the completion's, such as HumanEval's prompt."""
    all_or_nothing: bool = False
    """Score 1 if every test passes, else 0."""
    output: Literal["lines", "words", "exact"] = "lines"
    """Comparison of a script's output: lines without trailing blanks, words, or exact bytes."""
    tolerance: float = Field(default=0.0, ge=0)
    """Absolute and relative tolerance, for numbers in outputs (`words`) and in values."""
    in_process: Literal["leave_out", "count"] = "leave_out"
    """Whether tests in the program's own process, which the program can fool, are left out or counted."""
    timeout_seconds: float = Field(default=5.0, gt=0, le=30)
    """Maximum wall time of one test."""
    memory_mib: int = Field(default=512, ge=32, le=2048)
    """Maximum memory of one test."""
    output_kib: int = Field(default=64, ge=1, le=1024)
    """Maximum output of one test; a test with more fails."""

"""Grader types of ours that ask a model on the worker, or a judge about a whole group."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from reinforge.grading import templates
from reinforge.grading.base import GraderBase, TemplateText
from reinforge.grading.types import SamplingParams

Label = Annotated[str, Field(min_length=1, max_length=64)]


class CheckpointGrader(GraderBase):
    """What graders that load a checkpoint have in common."""

    model: str = Field(min_length=1, max_length=4096)
    """A folder on the worker with config.json and .safetensors files, or `hub:org/name@revision`."""
    max_tokens: int = Field(default=1024, ge=8, le=131_072)
    """Longer texts lose their beginning."""
    batch_size: int = Field(default=16, ge=1, le=1024)
    """Texts that the model reads at once."""


class Classifier(CheckpointGrader):
    """A sequence-classification or NLI checkpoint: the value of the label that it gives."""

    type: Literal["classifier"] = "classifier"
    input: TemplateText = "{{ sample.output_text }}"
    """Text to classify; the premise for NLI."""
    hypothesis: TemplateText | None = None
    """Second text of the pair, for NLI."""
    labels: dict[Label, float] = Field(min_length=1, max_length=64)
    """Label of the checkpoint → its value; labels that are not named count 0."""
    output: Literal["expected", "likeliest"] = "expected"
    """The labels' values weighted by their probabilities, or the value of the likeliest label."""

    def templates(self) -> tuple[str, ...]:
        return (self.input,) if self.hypothesis is None else (self.input, self.hypothesis)


class RewardModel(CheckpointGrader):
    """A sequence-classification checkpoint with one output: a reward model."""

    type: Literal["reward_model"] = "reward_model"
    input: TemplateText | None = None
    """Text to rate; by default the conversation in the checkpoint's own chat template."""
    transform: Literal["none", "sigmoid"] = "none"
    """`sigmoid` brings scores between 0 and 1."""

    def templates(self) -> tuple[str, ...]:
        return () if self.input is None else (self.input,)


class ReferenceLogprob(CheckpointGrader):
    """How probable the reference answer is after prompt and completion, under a model that is not trained."""

    type: Literal["reference_logprob"] = "reference_logprob"
    model: str = Field(default="", max_length=4096)
    """Default: the job's base model."""
    reference: TemplateText = "{{ item.answer }}"
    """The answer whose probability counts."""
    completion: TemplateText = "{{ sample.output_text }}"
    """What stands before it; an empty text leaves the completion out."""
    joiner: str = Field(default="\n", max_length=1024)
    """Between the two."""
    reduce: Literal["mean", "sum"] = "mean"
    """Over the answer's tokens."""
    transform: Literal["logprob", "probability"] = "logprob"
    """`probability` is exp of it, between 0 and 1."""

    def templates(self) -> tuple[str, ...]:
        return self.reference, self.completion


class RankingJudge(GraderBase):
    """A judge that sees the completions of one prompt together and ranks them: 1 for the best, 0 for the last."""

    type: Literal["ranking_judge"] = "ranking_judge"
    model: str = Field(min_length=1, max_length=200)
    """Name of a judge of the project, or of the job file's `judges`."""
    criteria: TemplateText = "The better answer is right, complete and to the point."
    """What makes a completion better. `{{ item.column }}` may be used, `sample` may not."""
    sampling_params: SamplingParams = SamplingParams()
    """How the judge samples."""
    max_characters: int = Field(default=8000, ge=100, le=200_000)
    """Maximum characters of each completion; a longer one is cut in the middle, with a note to the judge."""

    @field_validator("criteria")
    @classmethod
    def no_sample(cls, value: str) -> str:
        if any(variable.namespace == "sample" for variable in templates.parse(value).variables):
            raise ValueError("criteria are the same for all completions: they cannot use {{ sample… }}")
        return value

    def templates(self) -> tuple[str, ...]:
        return (self.criteria,)


class ProgramTests(GraderBase):
    """Code by hidden tests: the share of the row's tests that the program in the completion passes, in the sandbox.

    Expected outputs stay outside of it. Tests may be written as MBPP, HumanEval, APPS or lists of
    `{input, output}` and `{call, expected}` have them.
    """

    type: Literal["program_tests"] = "program_tests"
    tests: str = Field(default="tests", min_length=1, max_length=200)
    """Column of the row with its tests."""
    entry: str | None = None
    """Column with, or the name itself of, the function that HumanEval's tests call `candidate`."""
    code: Literal["block", "text"] = "block"
    """Where the program is: the last fenced block of the completion, or all of it."""
    prefix: str | None = None
    """Column with source that comes before the completion's, such as HumanEval's prompt."""
    all_or_nothing: bool = False
    """1 when every test passes, else 0."""
    output: Literal["lines", "words", "exact"] = "lines"
    """How a script's output is compared: lines without trailing blanks, words, or to the last byte."""
    tolerance: float = Field(default=0.0, ge=0)
    """Absolute and relative, of numbers in outputs (`words`) and values."""
    in_process: Literal["leave_out", "count"] = "leave_out"
    """Tests that judge from within the program's own process, which a program can fool: left out, or counted."""
    timeout_seconds: float = Field(default=5.0, gt=0, le=30)
    """Wall time of one test."""
    memory_mib: int = Field(default=512, ge=32, le=2048)
    """Memory of one test."""
    output_kib: int = Field(default=64, ge=1, le=1024)
    """Output of one test; more is a failed test."""

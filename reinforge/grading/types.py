"""OpenAI's grader types, and our `endpoint`. Unknown keys are errors."""

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from reinforge.algorithm.base import SpecModel
from reinforge.grading import similarity
from reinforge.grading.base import GraderBase, Message, TemplateText
from reinforge.net.http_fields import checked_address, checked_headers

Operation = Literal["eq", "ne", "like", "ilike"]
Metric = Literal[
    "fuzzy_match", "bleu", "gleu", "meteor", "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"
]
assert Metric.__args__ == similarity.METRICS  # type: ignore[attr-defined]


class StringCheck(GraderBase):
    """1 when `input` and `reference` compare by `operation`, else 0."""

    type: Literal["string_check"] = "string_check"
    input: TemplateText
    """Text to check, for example `{{ sample.output_text }}`."""
    reference: TemplateText
    """Text to compare with, for example `{{ item.answer }}`."""
    operation: Annotated[Operation, BeforeValidator(lambda value: "ne" if value == "neq" else value)]
    """`eq` equal, `ne` (or `neq`) not equal, `like` contains the reference, `ilike` ignoring case."""

    def templates(self) -> tuple[str, ...]:
        return self.input, self.reference


class TextSimilarity(GraderBase):
    """Similarity of two texts, 0 to 1."""

    type: Literal["text_similarity"] = "text_similarity"
    input: TemplateText
    """Text to compare."""
    reference: TemplateText
    """Reference text."""
    evaluation_metric: Metric
    """`meteor` needs WordNet's data on the worker."""
    pass_threshold: float | None = None
    """Ignored: the score stays the similarity."""

    @field_validator("evaluation_metric", mode="before")
    @classmethod
    def no_embeddings(cls, value: Any) -> Any:
        if value == "cosine":
            raise ValueError(
                "cosine needs an embedding model and is not offered: use rouge_l, or a score_model"
            )
        return value

    def templates(self) -> tuple[str, ...]:
        return self.input, self.reference


class SamplingParams(SpecModel):
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Default: the judge's."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Default: the judge's."""
    seed: int | None = None
    """Seed, for judges that support it."""
    max_completions_tokens: int | None = Field(
        default=None,
        ge=1,
        le=1_048_576,
        validation_alias=AliasChoices("max_completions_tokens", "max_completion_tokens"),
    )
    """Longest reply, including reasoning. OpenAI's spelling; `max_completion_tokens` works too."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """Effort of judges that reason."""


class ModelGrader(GraderBase):
    """Base of graders that ask a judge."""

    model: str = Field(min_length=1, max_length=200)
    """A judge of the project, or of the job file's `judges`."""
    input: list[Message] = Field(min_length=1, max_length=32)
    """Conversation shown to the judge."""
    sampling_params: SamplingParams = SamplingParams()
    """How the judge samples."""

    def templates(self) -> tuple[str, ...]:
        return tuple(text for message in self.input for text in message.templates())


class ScoreModel(ModelGrader):
    """A judge's number, limited to `range`. The reply has `steps` and `result`, which prompts may
    name.
    """

    type: Literal["score_model"] = "score_model"
    range: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest score; the judge's number is limited to it."""
    pass_threshold: float | None = None
    """Ignored: the score stays the number."""

    @field_validator("range")
    @classmethod
    def ordered(cls, value: tuple[float, float]) -> tuple[float, float]:
        if value[0] >= value[1]:
            raise ValueError(f"range is [lowest, highest]: {value[0]:g} is not below {value[1]:g}")
        return value


class LabelModel(ModelGrader):
    """1 when the judge gives a passing label, else 0."""

    type: Literal["label_model"] = "label_model"
    labels: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(min_length=2, max_length=32)
    """Labels the judge can choose."""
    passing_labels: list[str] = Field(min_length=1)
    """Labels that score 1."""

    @model_validator(mode="after")
    def labels_agree(self) -> Self:
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("two labels are the same")
        if unknown := sorted(set(self.passing_labels) - set(self.labels)):
            raise ValueError(f"passing_labels has {', '.join(unknown)}, which the list `labels` lacks")
        return self


class PythonGrader(GraderBase):
    """`grade(sample, item)` or another of the three signatures, run in the sandbox."""

    type: Literal["python"] = "python"
    source: str = Field(min_length=1, max_length=262_144)
    """Python source code."""
    image_tag: str | None = None
    """Accepted for OpenAI's clients and ignored: the worker's packages are used."""
    entry: str | None = None
    """Function name; needed with several functions and none called `grade`."""
    isolate: Literal["batch", "sample"] = "batch"
    """`sample` runs each completion in its own process: for code that executes completions."""
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)
    """Maximum wall time for one completion."""


class EndpointGrader(GraderBase):
    """Score from your server: one signed POST per completion."""

    type: Literal["endpoint"] = "endpoint"
    url: str = Field(max_length=2048)
    """Receives `{id, item, sample, prompt}`, returns `{score}` and optionally `reason` and `parts`."""
    headers: dict[str, str] = Field(default_factory=dict, max_length=16)
    """Additional headers, without passwords: they are stored unencrypted. Requests are signed."""
    timeout_s: float = Field(default=30.0, gt=0, le=300)
    """Maximum time of one try, from connecting to the last byte."""
    retries: int = Field(default=3, ge=0, le=10)
    """Retries after a time-out, 429 or 5xx, with growing pauses."""
    range: tuple[float, float] | None = None
    """Limits of scores; default none."""
    secret_env: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w{0,99}$")
    """Environment variable with the signing secret, for offline training; servers use the project's."""

    @field_validator("url")
    @classmethod
    def http_only(cls, value: str) -> str:
        return checked_address(value, "https://example.com/grade", no_password="requests are signed")

    @field_validator("headers")
    @classmethod
    def plain_headers(cls, value: dict[str, str]) -> dict[str, str]:
        return checked_headers(value, own_prefix="webhook-")

"""OpenAI's grader types with their JSON, and `endpoint`, whose JSON is ours. Unknown keys are errors."""

from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from reinforge.algorithm.base import SpecModel
from reinforge.grading import similarity
from reinforge.grading.base import GraderBase, Message, TemplateText

Operation = Literal["eq", "ne", "like", "ilike"]
Metric = Literal[
    "fuzzy_match", "bleu", "gleu", "meteor", "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"
]
assert Metric.__args__ == similarity.METRICS  # type: ignore[attr-defined]


class StringCheck(GraderBase):
    """1 when `input` and `reference` compare as `operation` says, else 0."""

    type: Literal["string_check"] = "string_check"
    input: TemplateText
    """What is looked at, for example `{{ sample.output_text }}`."""
    reference: TemplateText
    """What it is compared with, for example `{{ item.answer }}`."""
    operation: Annotated[Operation, BeforeValidator(lambda value: "ne" if value == "neq" else value)]
    """`eq` equal, `ne` (or `neq`) not equal, `like` contains the reference, `ilike` the same for any case."""

    def templates(self) -> tuple[str, ...]:
        return self.input, self.reference


class TextSimilarity(GraderBase):
    """How alike two texts are, from 0 to 1."""

    type: Literal["text_similarity"] = "text_similarity"
    input: TemplateText
    """What is looked at."""
    reference: TemplateText
    """What it should be like."""
    evaluation_metric: Metric
    """`meteor` needs WordNet's data on the worker."""
    pass_threshold: float | None = None
    """Kept for evaluations; the score stays the similarity."""

    @field_validator("evaluation_metric", mode="before")
    @classmethod
    def no_embeddings(cls, value: Any) -> Any:
        if value == "cosine":
            raise ValueError(
                "cosine needs an embedding model and is not offered: take rouge_l, or a score_model"
            )
        return value

    def templates(self) -> tuple[str, ...]:
        return self.input, self.reference


class SamplingParams(SpecModel):
    """How a judge samples."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    """Default: the judge's own."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Default: the judge's own."""
    seed: int | None = None
    """For judges that take one."""
    max_completions_tokens: int | None = Field(
        default=None,
        ge=1,
        le=1_048_576,
        validation_alias=AliasChoices("max_completions_tokens", "max_completion_tokens"),
    )
    """Longest reply, reasoning included. Spelled as OpenAI does; `max_completion_tokens` is taken too."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """For judges that reason."""


class ModelGrader(GraderBase):
    """What graders that ask a judge have in common."""

    model: str = Field(min_length=1, max_length=200)
    """Name of a judge of the project, or of the job file's `judges`."""
    input: list[Message] = Field(min_length=1, max_length=32)
    """The conversation that the judge is shown."""
    sampling_params: SamplingParams = SamplingParams()
    """How the judge samples."""

    def templates(self) -> tuple[str, ...]:
        return tuple(text for message in self.input for text in message.templates())


class ScoreModel(ModelGrader):
    """A number from a judge, cut to `range`. The judge's reply has `steps` and `result`; prompts may name them."""

    type: Literal["score_model"] = "score_model"
    range: tuple[float, float] = (0.0, 1.0)
    """Lowest and highest score; what the judge says beyond is cut."""
    pass_threshold: float | None = None
    """Kept for evaluations; the score stays the number."""

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
    """What the judge chooses from."""
    passing_labels: list[str] = Field(min_length=1)
    """Those that score 1."""

    @model_validator(mode="after")
    def labels_agree(self) -> Self:
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("two labels are the same")
        if unknown := sorted(set(self.passing_labels) - set(self.labels)):
            raise ValueError(f"passing_labels has {', '.join(unknown)}, which labels does not have")
        return self


class PythonGrader(GraderBase):
    """`grade(sample, item)` or another of the three signatures, run in the sandbox."""

    type: Literal["python"] = "python"
    source: str = Field(min_length=1, max_length=262_144)
    """The code."""
    image_tag: str | None = None
    """Taken for OpenAI's sake; the worker's packages are used whatever it says."""
    entry: str | None = None
    """Name of the function; needed when the code defines several and none is called `grade`."""
    isolate: Literal["batch", "sample"] = "batch"
    """`sample` runs every completion in a process of its own: for code that executes completions."""
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)
    """Wall time for one completion."""


class EndpointGrader(GraderBase):
    """A score from a server of yours: one signed POST for each completion."""

    type: Literal["endpoint"] = "endpoint"
    url: str = Field(max_length=2048)
    """Gets `{id, item, sample, prompt}` and answers `{score}`, beside it `reason` and `parts` if it likes."""
    headers: dict[str, str] = Field(default_factory=dict, max_length=16)
    """Sent along. They are stored as they are: a password has no place here, requests are signed."""
    timeout_s: float = Field(default=30.0, gt=0, le=300)
    """For one try, from connecting to the last byte."""
    retries: int = Field(default=3, ge=0, le=10)
    """After a time-out, 429 or 5xx, with growing pauses."""
    range: tuple[float, float] | None = None
    """Scores beyond are cut; by default none is."""
    secret_env: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w{0,99}$")
    """Offline: environment variable with the secret that signs. On a server the project's secret does."""

    @field_validator("url")
    @classmethod
    def http_only(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError("write an address such as https://example.com/grade")
        if parts.username or parts.password:
            raise ValueError("take user and password out of the address: requests are signed")
        return value

    @field_validator("headers")
    @classmethod
    def plain_headers(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if name.lower() in _OWN_HEADERS or name.lower().startswith("webhook-"):
                raise ValueError(f"the header {name} is set by the sender")
            if not (name + text).isascii() or not (name + text).isprintable() or not name.strip():
                raise ValueError(f"the header {name!r} has characters that headers cannot have")
        return value


_OWN_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)

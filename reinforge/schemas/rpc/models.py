"""RPCs `inspect_model` (facts about a base model) and `render` (rows through its chat template)."""

from pydantic import Field, TypeAdapter

from reinforge.dataset import Message, Tool
from reinforge.schemas.rpc.base import Rpc, RpcModel


class ModelRequest(RpcModel):
    model_source: str
    hub_token: str | None = Field(default=None, repr=False)


class PromptRows(RpcModel):
    rows: list[list[Message]]
    tools: list[list[Tool] | None] | None = None
    tolerant: bool = False
    """A row that cannot be rendered gets an error instead of failing the RPC."""
    texts: bool = True
    tool_turns: list[Tool] | None = None
    """Tools of an environment; the worker checks that the chat template can continue after their results."""
    user_turns: bool = False
    """Whether a simulated user replies; the worker checks that the chat template can continue after
    replies.
    """


class RenderingRequest(ModelRequest, PromptRows):
    pass


class RowTokens(RpcModel):
    text: str | None = None
    tokens: int | None = None
    error: str | None = None


class LongestRow(RpcModel):
    index: int
    tokens: int


class RenderingResult(RpcModel):
    prompts: list[RowTokens]
    longest: LongestRow | None = None
    context_length: int | None = None
    hidden_size: int | None = None
    takes_tools: bool = False
    """False: the template ignores tools."""


class InspectRequest(RpcModel):
    source: str
    hub_token: str | None = Field(default=None, repr=False)
    added: bool = False
    any_folder: bool = False
    """`added`, `any_folder`: as in `ModelStore`."""


class ModelFacts(RpcModel):
    source: str | None = None
    revision: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    shape: dict[str, int | None] | None = None
    architecture: str | None = None
    parameters: int | None = None
    context_length: int | None = None
    has_chat_template: bool = False
    chat_template_source: str | None = None
    vocabulary: int | None = None
    lora_targets: list[str] = []
    licence: str | None = None


RENDER = Rpc("render", TypeAdapter(RenderingRequest), TypeAdapter(RenderingResult))
INSPECT_MODEL = Rpc("inspect_model", TypeAdapter(InspectRequest), TypeAdapter(ModelFacts))

"""Schema of a tool in the format of OpenAI's API."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TOOL_NAME = r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"


class ToolFunction(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=TOOL_NAME, description="Name by which the model calls the tool.")
    description: str = Field(default="", description="What the tool does, for the model.")
    parameters: dict[str, Any] = Field(
        default_factory=lambda: {"type": "object", "properties": {}},
        description="JSON Schema of the arguments.",
    )


class ToolSchema(BaseModel):
    """A tool in OpenAI's format, `{"type": "function", "function": {…}}`, for chat templates and the page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["function"] = "function"
    function: ToolFunction = Field(description="Name, description and parameters.")

    @property
    def name(self) -> str:
        return self.function.name

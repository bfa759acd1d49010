"""Base class of graders, fields for templates, and messages to judges."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from reinforge.algorithm.base import SpecModel
from reinforge.grading import templates

MAX_TEXT = 65_536


def _readable(text: str) -> str:
    templates.parse(text)  # a TemplateSyntaxError is a ValueError: pydantic names the field
    return text


TemplateText = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_readable)]


class GraderBase(SpecModel):
    name: str = Field(default="", max_length=100)
    """Name shown with the grader's scores."""

    def templates(self) -> tuple[str, ...]:
        return ()


class TextPart(SpecModel):
    type: Literal["input_text", "output_text"] = "input_text"
    text: TemplateText
    """Text, which may contain `{{ … }}`."""


class ImagePart(SpecModel):
    type: Literal["input_image"]
    image_url: TemplateText
    """Address or data URL of the image."""
    detail: Literal["auto", "low", "high"] | None = None
    """Image resolution, for judges with such a setting."""


class Audio(SpecModel):
    data: TemplateText
    """Audio data in Base64."""
    format: Literal["mp3", "wav"]
    """Format of the data."""


class AudioPart(SpecModel):
    type: Literal["input_audio"]
    input_audio: Audio
    """Data and format of the sound."""


Part = Annotated[TextPart | ImagePart | AudioPart, Field(discriminator="type")]


def _one_is_a_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


class Message(SpecModel):
    role: Literal["system", "developer", "user", "assistant"] = "user"
    """Role; judges get `developer` as `system`."""
    content: TemplateText | Annotated[list[Part], BeforeValidator(_one_is_a_list)]
    """Text, or parts `{type: input_text, text}`."""
    type: Literal["message"] = "message"

    def templates(self) -> tuple[str, ...]:
        if isinstance(self.content, str):
            return (self.content,)
        return tuple(text for part in self.content for text in _texts(part))


def _texts(part: TextPart | ImagePart | AudioPart) -> tuple[str, ...]:
    if isinstance(part, TextPart):
        return (part.text,)
    return (part.image_url,) if isinstance(part, ImagePart) else (part.input_audio.data,)

"""Renders chat templates as transformers' `apply_chat_template` does, and counts tokens.

Templates are untrusted programs and run in Jinja's sandbox.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Never

import jinja2.ext
import jinja2.meta
import jinja2.nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from tokenizers import Tokenizer

from reinforge.errors import InvalidInput
from reinforge.tool_calls import prepared
from worker.models.tokenizer_files import chat_template, special_tokens

Message = dict[str, Any]
_REASONING = ("reasoning_content", "thinking", "reasoning")


class PromptRenderer:
    """Renders and tokenizes prompts for one model. Raises InvalidInput if its files cannot be read."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "tokenizer.json").is_file():
            raise InvalidInput(
                "The model has no tokenizer.json.",
                code="no_tokenizer",
                hint="Load its tokenizer with transformers and save_pretrained() it into the folder.",
                param="model",
            )
        self._tokenizer = _load_tokenizer(folder / "tokenizer.json")
        self._specials = special_tokens(folder)
        default, for_tools = chat_template(folder), chat_template(folder, tools=True)
        try:
            self._template = _environment().from_string(default.text) if default else None
            self._tool_template = self._template
            if for_tools is not None and for_tools != default:
                self._tool_template = _environment().from_string(for_tools.text)
            takes_tools = for_tools is not None and has_place_for_tools(for_tools.text)
        except TemplateError as error:
            raise InvalidInput(
                f"The model's chat template does not parse: {error}",
                code="invalid_chat_template",
                param="model",
            ) from error

        self.takes_tools = takes_tools

    def render(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        *,
        generation: bool = True,
    ) -> str:
        """Render a prompt; without a template, join the contents. Raises InvalidInput.

        generation: whether to add the beginning of the assistant's turn.
        """
        if tools and not self.takes_tools:
            raise InvalidInput(
                "The model's chat template has no place for tools.",
                code="tools_not_supported",
                hint="Leave tools out, or describe them in the system message.",
                param="tools",
            )
        if not messages:
            raise _unrenderable("There are no messages.")
        try:
            if self._template is None:
                return "\n\n".join(message["content"] for message in messages)
            plain = [
                _aliased({key: value for key, value in message.items() if value is not None})
                for message in messages
            ]
            template = (self._tool_template if tools else None) or self._template
            return template.render(
                messages=plain,
                tools=tools or None,
                documents=None,
                add_generation_prompt=generation,
                **self._specials,
            )
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise _unrenderable(f"{type(error).__name__}: {error}") from error

    def conversation_text(
        self, messages: list[Message], tools: list[dict[str, Any]] | None, generation: bool
    ) -> str:
        return self.render(messages, tools, generation=generation)

    def render_row(self, messages: list[Message], tools: list[dict[str, Any]] | None) -> str:
        """Like `render`, but leaves out tools if the template has no place for them."""
        if not tools or not self.takes_tools:
            return self.render(messages)
        return self.render(prepared(messages), tools)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=self._template is None).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the token ids, with special tokens."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=False)
        return text

    def count(self, texts: list[str]) -> list[int]:
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=self._template is None)
        return [len(encoding.ids) for encoding in encodings]


def has_place_for_tools(template: str) -> bool:
    return "tools" in jinja2.meta.find_undeclared_variables(_environment().parse(template))


def renderer(folder: Path) -> PromptRenderer:
    """Renderer of a model's folder, cached until one of its files changes."""
    names = (
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja",
        "special_tokens_map.json",
    )
    stamps = tuple(
        path.stat().st_mtime_ns if path.exists() else 0 for path in (folder / name for name in names)
    )
    return _cached_renderer(folder, stamps)


@lru_cache(maxsize=8)
def _cached_renderer(folder: Path, _stamps: tuple[int, ...]) -> PromptRenderer:
    return PromptRenderer(folder)


def _load_tokenizer(path: Path) -> Any:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise InvalidInput(
            f"tokenizer.json cannot be read: {error}",
            code="damaged_model",
            hint="Copy the file again.",
            param="model",
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _unrenderable(why: str) -> InvalidInput:
    return InvalidInput(
        f"The model's chat template cannot render these messages: {why}",
        code="prompt_not_renderable",
        hint="Many templates need an optional system message, then user and assistant alternately, all with strings as "
        "content.",
        param="data.dataset",
    )


def _aliased(message: Message) -> Message:
    reasoning = next((message[key] for key in _REASONING if key in message), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


# ── The environment that templates are written for ─────────────────────────────────────────────────────────


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {
        "raise_exception": _raise_exception,
        "strftime_now": _strftime_now,
        "dict": _Dict(),
        "namespace": _Namespace,
    }
    return environment


class _Generation(jinja2.ext.Extension):
    """Jinja extension that accepts and ignores `{% generation %}`, which marks the assistant's text."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[jinja2.nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Dict:
    """`dict(…)` and `dict.fromkeys` without access to the class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


class _Namespace(Namespace):
    """Jinja's namespace without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        # `self` is positional only, so that a template may use the name.
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(args[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: str) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace must not have {name!r}, a name that begins with an underscore")


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja's own filter would escape HTML.
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> Never:
    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)

"""The call `render`: prompts through a model's chat template, and their token counts."""

from pathlib import Path
from typing import Any

from reinforge.base_models.config import hidden_size
from reinforge.dataset import Message, Tool
from reinforge.errors import InvalidInput
from worker.isolated.process import Apart
from worker.models.chat import PromptRenderer, renderer
from worker.models.inspect import context_length
from worker.models.sources import ModelStore
from worker.models.tokenizer_files import read_json


def render(apart: Apart, models: ModelStore, payload: dict[str, Any]) -> dict[str, Any]:
    """{model_source, rows: [messages], tools?: [each row's, or null], tolerant?, texts?} → {prompts,
    longest: {index, tokens}, context_length, hidden_size, takes_tools}.

    prompts: one `{text, tokens}` per row, or `{error}` for a row that the template refuses if the call is
    `tolerant`; `texts: false` omits the texts. Otherwise the first refused row raises InvalidInput with `row`
    in its `errors`.
    longest: among the rendered rows, None without any.
    takes_tools: whether the template renders tools; if not, the rows' tools are ignored.
    """
    folder = models.resolve(str(payload["model_source"]), token=payload.get("hub_token"), added=True)
    names = ("rows", "tools", "tolerant", "texts")
    return apart.ask("render", folder, {name: payload[name] for name in names if name in payload})


def rendered(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """The answer of `render`; runs in a child process."""
    prompts = renderer(folder)
    rows = payload["rows"]
    tools = payload.get("tools") or [None] * len(rows)
    rows_with_tools = list(zip(rows, tools, strict=True))
    texts = _render_rows(prompts, rows_with_tools, tolerant=bool(payload.get("tolerant")))
    good = [index for index, (text, _) in enumerate(texts) if text is not None]
    tokens = dict(zip(good, prompts.count([texts[index][0] or "" for index in good]), strict=True))
    answers: list[dict[str, Any]] = []
    for index, (text, why) in enumerate(texts):
        if text is None:
            answers.append({"error": why})
        elif payload.get("texts", True):
            answers.append({"text": text, "tokens": tokens[index]})
        else:
            answers.append({"tokens": tokens[index]})
    longest = max(good, key=tokens.__getitem__, default=None)
    config = read_json(folder / "config.json")
    return {
        "prompts": answers,
        "longest": None if longest is None else {"index": longest, "tokens": tokens[longest]},
        "context_length": context_length(config),
        "hidden_size": hidden_size(config),
        "takes_tools": prompts.takes_tools,
    }


def _render_rows(
    prompts: PromptRenderer, rows: list[tuple[list[Message], list[Tool] | None]], *, tolerant: bool
) -> list[tuple[str | None, str | None]]:
    """(text, None) or, in a tolerant call, (None, error) of every row."""
    results: list[tuple[str | None, str | None]] = []
    for index, (messages, tools) in enumerate(rows):
        try:
            results.append((prompts.render_row(messages, tools), None))
        except InvalidInput as error:
            if not tolerant:
                error.errors = [{"code": error.code, "message": error.message, "row": index}]
                raise
            results.append((None, error.message))
    return results

"""RPC `render`: renders prompts with the chat template and counts their tokens."""

from pathlib import Path
from typing import Any

from reinforge.base_models.config import hidden_size
from reinforge.dataset import Message, Tool
from reinforge.errors import InvalidInput
from reinforge.schemas.rpc.base import dump
from reinforge.schemas.rpc.models import LongestRow, PromptRows, RenderingRequest, RenderingResult, RowTokens
from worker.isolated.process import Apart
from worker.models.chat import PromptRenderer, renderer
from worker.models.inspect import context_length
from worker.models.sources import ModelStore
from worker.models.tokenizer_files import read_json


def render(apart: Apart, models: ModelStore, request: RenderingRequest) -> RenderingResult:
    """Render rows. Raises InvalidInput at the first row that the template refuses, unless `tolerant`."""
    folder = models.resolve(request.model_source, token=request.hub_token, added=True)
    if request.tool_turns or request.user_turns:
        turns = {"tools": request.tool_turns or [], "reply": request.user_turns}
        apart.ask("prove_continuation", folder, turns)
    rows = request.model_dump(include=set(PromptRows.model_fields), exclude_unset=True)
    return RenderingResult.model_validate(apart.ask("render", folder, rows))


def render_rows(folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Render rows in a child process: `PromptRows` → `RenderingResult`, as JSON values."""
    request = PromptRows.model_validate(payload)
    prompts = renderer(folder)
    tools = request.tools or [None] * len(request.rows)
    texts = _render_rows(prompts, list(zip(request.rows, tools, strict=True)), tolerant=request.tolerant)
    good = [index for index, (text, _) in enumerate(texts) if text is not None]
    tokens = dict(zip(good, prompts.count([texts[index][0] or "" for index in good]), strict=True))
    rows: list[RowTokens] = []
    for index, (text, why) in enumerate(texts):
        if text is None:
            rows.append(RowTokens(error=why))
        elif request.texts:
            rows.append(RowTokens(text=text, tokens=tokens[index]))
        else:
            rows.append(RowTokens(tokens=tokens[index]))
    longest = max(good, key=tokens.__getitem__, default=None)
    config = read_json(folder / "config.json")
    result = RenderingResult(
        prompts=rows,
        longest=None if longest is None else LongestRow(index=longest, tokens=tokens[longest]),
        context_length=context_length(config),
        hidden_size=hidden_size(config),
        takes_tools=prompts.takes_tools,
    )
    return dump(result)


def _render_rows(
    prompts: PromptRenderer, rows: list[tuple[list[Message], list[Tool] | None]], *, tolerant: bool
) -> list[tuple[str | None, str | None]]:
    """(text, None) of each row, or if `tolerant`, (None, error) of a refused row."""
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

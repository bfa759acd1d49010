"""Readers of `parsers.py` that need a little around them."""

import asyncio
import atexit
import contextlib
import io
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from fastapi import Request
from httpx_sse import EventSource

from backend.access import auth
from backend.base_models import sources as model_sources
from backend.datasets.leakage import near_duplicates
from backend.http import compression, conditional, strict_json
from backend.http import multipart as upload
from backend.jobs.monitoring import step_tables
from backend.openai import model_names
from backend.openai.chat import tools as chat_tools
from reinforge.base_models import config
from reinforge.bundles.archive import read_manifest
from reinforge.bundles.records import read_completions
from reinforge.client import protocol
from reinforge.dataset import DatasetLimits, equal, inspect, iter_rows, prompts, tools
from reinforge.errors import ReinforgeError
from reinforge.evaluation import final_answer
from reinforge.grading import formula, templates
from reinforge.offline import jobfile
from reinforge.parsing import json_depth, suggestions
from reinforge.parsing.validation import problems
from reinforge.spec import JobSpec
from reinforge.system import archives
from reinforge.tool_calls import NOTATIONS
from worker.models import inspect as model_facts
from worker.models import safetensors, tokenizer_files
from worker.rewards.judge import replies
from worker.rewards.programs import runner
from worker.serving.text import TextStream


@cache
def folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="rf-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def render(content: str) -> object:
    return templates.parse(content).render({"a": "x"}, {"output_text": "x"})


def evaluate(content: str) -> object:
    return formula.parse(content).value({"a": 1.0})


def final(content: str) -> object:
    return (
        final_answer.reference(content),
        final_answer.is_right(content, 4.0),
        final_answer.is_right(content, "four"),
    )


def prompt_template(content: str) -> object:
    parsed = prompts.PromptTemplate.parse(content)
    return parsed.columns, parsed.render({"a": "x"})


def row(row: Any) -> object:
    if not isinstance(row, dict):
        row = {"prompt": row, "tools": row}
    return prompts.render_messages(row), tools.row_tools(row)


def normalised(content: str) -> object:
    text = equal.normalised([{"role": "user", "content": content}])
    return near_duplicates.sequences(text), equal.prompt_key(text)


def rows(path: Path) -> object:
    """As a file is checked, and as it is read again."""
    report = inspect(path, path.name, DatasetLimits())
    return report, sum(1 for _ in iter_rows(path))


def json_body(body: bytes) -> object:
    scope = {"type": "http", "path": "/api/v1/jobs"}
    return strict_json._Strict(scope).checked(body), strict_json._Lenient(scope).checked(body)


def depth_and_width(value: Any) -> object:
    return json_depth.is_deeper(value), json_depth.is_wider(value, 100)


def cell(content: str) -> object:
    with step_tables.readable():
        return step_tables.value_of(content, "null")


def multipart(body: bytes) -> object:
    """As the part's content, and as the whole body."""

    async def read(content: bytes) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        head = (b"content-type", b"multipart/form-data; boundary=xyz")
        request = Request({"type": "http", "method": "POST", "headers": [head]}, receive)
        async with upload.receive(request, folder() / "uploads", 1 << 30):
            pass

    start = b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    field = b'--xyz\r\nContent-Disposition: form-data; name="name"\r\n\r\n'
    for content in (body, start + body + b"\r\n--xyz--\r\n", field + body, b"--xyz\r\n" + body):
        with contextlib.suppress(ReinforgeError):
            asyncio.run(read(content))
    return None


def headers(text: str) -> object:
    """What is read from headers, of which all together have 64 KiB."""
    content = text.encode("utf-8", "replace")
    names = (b"authorization", b"cookie", b"origin", b"if-none-match", b"host", b"content-type")
    request = Request({"type": "http", "method": "GET", "headers": [(name, content) for name in names]})
    conditional.unchanged(request, {"etag": '"a"'})
    match = conditional.Match(text)
    return auth.bearer(request), request.cookies, compression.accepts_gzip(text), match


def events(body: bytes) -> object:
    """Server-sent events, as the SDK reads them."""

    response = httpx.Response(
        200, headers={"content-type": "text/event-stream"}, stream=httpx.ByteStream(body)
    )
    return sum(len(event.data) for event in EventSource(response).iter_sse())


def error(body: bytes) -> object:
    return protocol.error_from(httpx.Response(422, content=body))


def reply(content: str) -> object:
    for form in (
        replies.number_form(),
        replies.label_form(["a", "b"]),
        replies.ranking_form(3),
    ):
        with contextlib.suppress(replies.JudgeFailed):
            reply = replies.parse_reply(content, form)
            replies.reason(reply)
            replies.number(reply)
            replies.label(reply, ["a", "b"])
            replies.ranks(reply, 3)
    return None


def output(content: str) -> object:
    settings = runner.CodeTests(column="tests", tolerance=1e-6, output="words")
    changed = content + "0"
    return (
        runner._same_value(content, changed, 1e-6),
        runner._same_output(content, changed, settings),
        runner.extract_code(content),
    )


def stream(content: str) -> object:
    """A completion that grows by a few tokens at a time, with stop texts that nearly come."""
    tokens = [ord(character) for character in content]
    stream = TextStream(lambda ids: "".join(map(chr, ids)), ["STOP", content[:50] + "!"])
    holder = chat_tools.ToolCallBuffer()
    for end in range(0, len(tokens), max(1, len(tokens) // 64)):
        holder.push(stream.push(tokens[:end]))
    return stream.finish(tokens), holder.rest()


def spec(value: Any) -> object:
    """A job's JSON with what people are told about its faults."""
    from pydantic import ValidationError

    try:
        return JobSpec.model_validate(value)
    except ValidationError as error:
        return problems(error.errors(), value, jobfile.spec_schema)


def suggest(content: str) -> object:
    return suggestions.did_you_mean(content, ["prompts_per_step", "temperature", "max_completion_tokens"])


def unpack(content: bytes) -> object:
    with (
        tempfile.TemporaryDirectory(dir=folder()) as inside,
        tarfile.open(fileobj=io.BytesIO(content)) as archive,
    ):
        return archives.unpack(archive, Path(inside))


def bundle(content: str) -> object:
    """A text as the manifest of a bundle."""
    body = content.encode("utf-8", "replace")
    info = tarfile.TarInfo("bundle.json")
    info.size = len(body)
    return read_manifest(io.BytesIO(info.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)))


def table(path: Path) -> object:
    return read_completions(path)


def weights(path: Path) -> object:
    header = path.read_bytes()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    return safetensors.read_header(path)


def facts(path: Path) -> object:
    return (
        tokenizer_files.special_tokens(path.parent),
        tokenizer_files.chat_template(path.parent),
        config.read_hidden_size(path.parent),
    )


def configuration(path: Path) -> object:
    return model_facts.read_facts(path.parent, {})


def names(content: str) -> object:
    return model_names.plain(content), model_names._TUNED.fullmatch(content), model_sources.plain(content)


def tool_calls(text: str) -> None:
    for notation in NOTATIONS.values():
        notation.read(text)

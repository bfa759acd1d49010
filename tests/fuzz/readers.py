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
from backend.datasets.uploads import multipart as upload
from backend.http import compression, conditional, strict_json
from backend.jobs.monitoring import step_tables
from backend.openai import model_names
from backend.openai.chat import tools as chat_tools
from reinforge.base_models import config
from reinforge.client import wire
from reinforge.dataset import Limits, equal, inspect, iter_rows, prompts, tools
from reinforge.errors import ReinforgeError
from reinforge.evaluation import final_answer
from reinforge.grading import formula, templates
from reinforge.offline import jobfile
from reinforge.parsing import json_depth, suggestions
from reinforge.parsing.validation import problems
from reinforge.spec import JobSpec
from reinforge.system import archives
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


def render(given: str) -> object:
    return templates.parse(given).render({"a": "x"}, {"output_text": "x"})


def evaluate(given: str) -> object:
    return formula.parse(given).value({"a": 1.0})


def final(given: str) -> object:
    return (
        final_answer.reference(given),
        final_answer.is_right(given, 4.0),
        final_answer.is_right(given, "four"),
    )


def prompt_template(given: str) -> object:
    parsed = prompts.PromptTemplate.parse(given)
    return parsed.columns, parsed.render({"a": "x"})


def row(row: Any) -> object:
    if not isinstance(row, dict):
        row = {"prompt": row, "tools": row}
    return prompts.render_messages(row), tools.row_tools(row)


def normalised(given: str) -> object:
    found = equal.normalised([{"role": "user", "content": given}])
    return near_duplicates.sequences(found), equal.prompt_key(found)


def rows(path: Path) -> object:
    """As a file is checked, and as it is read again."""
    report = inspect(path, path.name, Limits())
    return report, sum(1 for _ in iter_rows(path))


def json_body(body: bytes) -> object:
    scope = {"type": "http", "path": "/api/v1/jobs"}
    return strict_json._Strict(scope).checked(body), strict_json._Lenient(scope).checked(body)


def depth_and_width(given: Any) -> object:
    return json_depth.is_deeper(given), json_depth.is_wider(given, 100)


def cell(given: str) -> object:
    with step_tables.readable():
        return step_tables.value_of(given, "null")


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


def headers(given: str) -> object:
    """What is read from headers, of which all together have 64 KiB."""
    content = given.encode("utf-8", "replace")
    names = (b"authorization", b"cookie", b"origin", b"if-none-match", b"host", b"content-type")
    request = Request({"type": "http", "method": "GET", "headers": [(name, content) for name in names]})
    conditional.unchanged(request, {"etag": '"a"'})
    match = conditional.Match(given)
    return auth.bearer(request), request.cookies, compression.accepts_gzip(given), match


def events(body: bytes) -> object:
    """Server-sent events, as the SDK reads them."""

    response = httpx.Response(
        200, headers={"content-type": "text/event-stream"}, stream=httpx.ByteStream(body)
    )
    return sum(len(event.data) for event in EventSource(response).iter_sse())


def error(body: bytes) -> object:
    return wire.error_from(httpx.Response(422, content=body))


def reply(given: str) -> object:
    for form in (
        replies.number_form(),
        replies.label_form(["a", "b"]),
        replies.ranking_form(3),
    ):
        with contextlib.suppress(replies.JudgeFailed):
            reply = replies.parse_reply(given, form)
            replies.reason(reply)
            replies.number(reply)
            replies.label(reply, ["a", "b"])
            replies.ranks(reply, 3)
    return None


def output(given: str) -> object:
    settings = runner.CodeTests(column="tests", tolerance=1e-6, output="words")
    changed = given + "0"
    return (
        runner._same_value(given, changed, 1e-6),
        runner._same_output(given, changed, settings),
        runner.extract_code(given),
    )


def stream(given: str) -> object:
    """A completion that grows by a few tokens at a time, with stop texts that nearly come."""
    tokens = [ord(each) for each in given]
    stream = TextStream(lambda ids: "".join(map(chr, ids)), ["STOP", given[:50] + "!"])
    holder = chat_tools.Holder()
    for end in range(0, len(tokens), max(1, len(tokens) // 64)):
        holder.push(stream.push(tokens[:end]))
    return stream.finish(tokens), holder.rest()


def spec(given: Any) -> object:
    """A job's JSON with what people are told about its faults."""
    from pydantic import ValidationError

    try:
        return JobSpec.model_validate(given)
    except ValidationError as error:
        return problems(error.errors(), given, jobfile.spec_schema)


def suggest(given: str) -> object:
    return suggestions.did_you_mean(given, ["prompts_per_step", "temperature", "max_completion_tokens"])


def unpack(content: bytes) -> object:
    with (
        tempfile.TemporaryDirectory(dir=folder()) as inside,
        tarfile.open(fileobj=io.BytesIO(content)) as found,
    ):
        return archives.unpack(found, Path(inside))


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


def names(given: str) -> object:
    return model_names.plain(given), model_names._TUNED.fullmatch(given), model_sources.plain(given)

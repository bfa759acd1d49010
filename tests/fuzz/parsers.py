"""Every reader of strangers' text and bytes, with seeds, and the modules that read something else, with the reason.

A module that calls a decoder (JSON, YAML, Python's parser, patterns …) has to be in one of the two lists:
`test_parsers.py` compares them with the source.
"""

import ast
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from backend.adapters import archive
from backend.http import cursors, sse
from backend.jobs.monitoring import search, search_text
from backend.openai.chat import tools
from reinforge.base_models.adapter_config import read_adapter_config
from reinforge.cli.evaluation import golden
from reinforge.dataset.formats import strict_json as rows_json
from reinforge.errors import ReinforgeError
from reinforge.grading import samples
from reinforge.grading import source as grader_source
from reinforge.imports.read import read as read_import
from reinforge.offline import jobfile
from reinforge.parsing import delimited, json_depth, python_source
from reinforge.preflight import offline as records
from reinforge.records import RECORD
from reinforge.report_card import conditions, markdown
from reinforge.schemas.tools import ToolRunCall
from reinforge.tool_calls import openai as openai_calls
from reinforge.tool_calls import prepared
from reinforge.tool_calls.notations.literals import Literals
from reinforge.tools import docstrings, hints, schemas_of
from tests.fuzz import readers as r
from worker.environment.agent import messages as agent_messages
from worker.environment.tools import json_rpc, openenv_session
from worker.models import chat, licence
from worker.rewards.judge import replies
from worker.rewards.programs import hidden_tests
from worker.rpc import run_tools
from worker.sandbox.daemon import parse as sandbox_parse
from worker.sandbox.transport import frames as sandbox_wire
from worker.training.checkpoint import archive as training_archive

KIB, MIB = 1024, 1 << 20
REFUSALS = (
    *(ReinforgeError, ValueError, LookupError, TypeError, SyntaxError, jinja2.TemplateError),
    *(replies.JudgeFailed, hidden_tests.UnreadableTests, sandbox_wire.WireError),
)
"""How readers refuse. Anything else that they raise is a fault: RecursionError, MemoryError, AttributeError …"""

IN_THE_SANDBOX = ("reinforge/reward_library/rewards/", "worker/sandbox/jailed/")
"""Runs with limits of its own."""

Prepare = Callable[[str], Callable[[], object]]
"""Makes what reads a text; what stands before (a file, a value) is not measured."""


@dataclass(frozen=True)
class Parser:
    name: str
    prepare: Prepare
    seeds: tuple[str, ...] = ()
    module: str = ""
    largest: int = 65_536
    """Characters of the longest input that is tried: no longer than what is accepted."""
    refusals: tuple[type[Exception], ...] = REFUSALS
    amplification: float = 150
    """Bytes of memory for each byte of the input."""
    seconds_per_character: float = 8e-6
    general: bool = True
    """Whether families for all parsers are of use; else only its seeds."""


def text(read: Callable[[str], object]) -> Prepare:
    return lambda content: lambda: _whole(read(content))


def raw(read: Callable[[bytes], object]) -> Prepare:
    def prepare(source: str) -> Callable[[], object]:
        content = source.encode("utf-8", "replace")
        return lambda: _whole(read(content))

    return prepare


def value(read: Callable[[Any], object]) -> Prepare:
    """Reads a value of JSON; texts that are none are tried as strings."""

    def prepare(content: str) -> Callable[[], object]:
        try:
            parsed = json.loads(content)
        except (ValueError, RecursionError):
            parsed = content
        if json_depth.is_deeper(parsed, 64):  # refused before it is a value
            parsed = content
        return lambda: _whole(read(parsed))

    return prepare


def file(name: str, read: Callable[[Path], object]) -> Prepare:
    def prepare(content: str) -> Callable[[], object]:
        path = r.folder() / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode("utf-8", "replace"))
        return lambda: _whole(read(path))

    return prepare


def tar(read: Callable[[bytes], object], *, compressed: bool = False) -> Prepare:
    """Reads an archive with one file for each line of the text, named by the line."""

    def prepare(source: str) -> Callable[[], object]:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz" if compressed else "w") as made:
            for number, line in enumerate(source.split("\n")[:500]):
                info = tarfile.TarInfo(f"{number}/{line[:5000].replace(chr(0), '')}")
                made.addfile(info)
        content = buffer.getvalue()
        return lambda: _whole(read(content))

    return prepare


def _whole(value: object) -> object:
    """What is read lazily is read."""
    if isinstance(value, Iterator):
        for _ in value:
            pass
    return value


_JOB = '{"model": "tiny", "data": {"dataset": "@@"}, "rewards": [{"type": "python", "name": "r", "source": "@"}]}'
_GRADER = (
    '{"type": "string_check", "name": "a", "input": "@@", "reference": "{{ item.a }}", "operation": "eq"}'
)
_MULTI = (
    '{"type": "multi", "graders": {"a": {"type": "string_check", "name": "a", "input": "x", "reference": "y",'
    ' "operation": "eq"}}, "calculate_output": "@@"}'
)
_RECORD = '{"kind": "log", "sequence": 1, "ts": 1.0, "level": "info", "message": "@@"}'
_TOOL = 'def add(a: int, b: "@@" = 1) -> int:\n    """Adds.\n\n    Args:\n        a: @@\n    """\n'
_EVENTS = {"content-type": "text/event-stream"}
_CODE = 'def grade(sample, item):\n    return float(item["answer"] in sample["output_text"])  # @@\n'

PARSERS = (
    Parser("grading template", text(r.render), ("{{ item.@@ }}", "{{ item.a[0] }} and {{ sample.output_text }}"),
           "reinforge.grading.templates"),
    Parser("grading formula", text(r.evaluate), ("(a + 1) * 2 ** 3", "min(a, @@)"), "reinforge.grading.formula",
           largest=4096, amplification=800),
    Parser("grader", text(grader_source.parse_grader), (_GRADER, _MULTI, '{"type": "multi", "@@": 1}', '{"a@@": 1}'),
           "reinforge.grading.source", largest=262_144),
    Parser("conditions on a report card", text(conditions.parse), ("held_out_gain>0.02, a b >= @@",),
           "reinforge.report_card.conditions", largest=1000),
    Parser("completion in a report card", text(markdown._fenced), ("```\na `@@` b", "````"),
           "reinforge.report_card.markdown"),
    Parser("calls of tools", text(openai_calls.split), ('<tool_call>{"name": "@@"}</tool_call>',),
           "reinforge.tool_calls.openai"),
    Parser("calls in all notations", text(r.tool_calls), (
        '<tool_call>{"name": "@@"}</tool_call>',
        "<tool_call><function=f><parameter=a>@@</parameter></function></tool_call>",
        "<tool_call>f<arg_key>a</arg_key><arg_value>@@</arg_value></tool_call>", '[TOOL_CALLS][{"name": "@@"}]',
        '<|tool_call>call:f{a:<|"|>@@<|"|>}<tool_call|>', "<|tool_call_start|>[f(a='@@')]<|tool_call_end|>",
        '<|channel|>commentary to=functions.f<|message|>{"a": "@@"}<|call|>', "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}",
        '<atem:function_calls><atem:invoke name="f">@@</atem:invoke></atem:function_calls>',
        '{"name": "f", "parameters": {"a": "@@"}}'), "reinforge.tool_calls.base", amplification=400),
    Parser("values that are nearly JSON", text(lambda content: Literals(content).value()), ("{a: '@@', b: [1, None]}",),
           "reinforge.tool_calls.notations.literals", refusals=(*REFUSALS, ValueError)),
    Parser("calls of tools in a chat", text(tools.split), ('<tool_call>{"name": "f"}</tool_call>',),
           "reinforge.tool_calls.openai", amplification=400),
    Parser("prepared calls", value(lambda arguments: prepared([{"tool_calls": [
        {"function": {"arguments": json.dumps(arguments)}}]}])), module="reinforge.tool_calls.history"),
    Parser("sample", text(samples.tool_fields), ("<tool_call>@@</tool_call>",), "reinforge.grading.samples"),
    Parser("sample's JSON", text(samples._parsed), ('{"a": "@@"}',), "reinforge.grading.samples"),
    Parser("marked passages", text(lambda content: delimited.passages(content, "<a>", "</a>")), ("<a>@@</a>",),
           "reinforge.parsing.delimited"),
    Parser("final answer", text(r.final), ("so the answer is @@", "#### 1,000", r"\boxed{@@}"),
           "reinforge.evaluation.final_answer"),
    Parser("row of JSON", text(lambda content: rows_json.parse(content, 64)),
           ('{"a": "@@"}', '{"a": [@@]}', '{"a": 1, @@'),
           "reinforge.dataset.formats.strict_json", largest=MIB),
    Parser("JSONL", file("a.jsonl", r.rows), ('{"prompt": "@@"}\n', '{"prompt": "a", "answer": "b"}\n'),
           "reinforge.dataset.formats.jsonl", largest=MIB, amplification=60),
    Parser("CSV", file("a.csv", r.rows), ('prompt,answer\n"@@",b\n', "a,b\n@@\n"), "reinforge.dataset.formats.csv_rows",
           largest=MIB, amplification=150),
    Parser("TSV", file("a.tsv", r.rows), ("prompt\tanswer\n@@\tb\n",), "reinforge.dataset.formats.csv_rows",
    amplification=150),
    Parser("prompt template", text(r.prompt_template), ("{a} and {@@}", "{a} {{ b }}"), "reinforge.dataset.prompts"),
    Parser("row as a prompt", value(r.row), ('{"messages": [{"role": "user", "content": "@@"}], "tools": "[]"}',
           '{"prompt": "a", "tools": [{"type": "function", "function": {"name": "f", "parameters": {"a": @@}}}]}'),
           "reinforge.dataset.tools"),
    Parser("equal prompts", text(r.normalised), ("a b c d",), "backend.datasets.leakage.near_duplicates", largest=MIB),
    Parser("depth and width of JSON", value(r.depth_and_width),
           module="reinforge.parsing.json_depth", largest=MIB),
    Parser("body of JSON", raw(r.json_body), ('{"a": "@@"}', '{"a": "\\u0000@@"}'), "backend.http.strict_json",
    largest=MIB),
    Parser("multipart", raw(r.multipart), ('Content-Disposition: form-data; name="@@"\r\n\r\na\r\n--xyz--', "a\r\n--xy",
           "a: @@\r\n\r\n", "\r\n--xyz\r\n\r\n"), "backend.http.multipart", largest=MIB),
    Parser("headers", text(r.headers), ('W/"a", "b"', "gzip;q=0.5, *", "Bearer @@", "a=b; c=d"),
    "backend.http.compression"),
    Parser("search", text(search_text.condition), ('a or "b c" -d <think> @@',), "backend.jobs.monitoring.search_text",
           refusals=REFUSALS, largest=4096, amplification=3000, seconds_per_character=6e-5),
    Parser("cursor", text(cursors.decode_cursor), ("MjAyNi0wMS0wMVQwMDowMDowMCswMDowMHxh",), "backend.http.cursors"),
    Parser("cursor of a search", text(lambda content: search._decode(content, "-step")),
           ("WyItc3RlcCIsbnVsbCwxLCJ0cmFpbiIsMCwwXQ",), "backend.jobs.monitoring.search"),
    Parser("cell of a step's table", text(r.cell), ('["@@"]',), "backend.jobs.monitoring.step_tables"),
    Parser("names of models", text(r.names), ("ft:tiny:project:suffix:abcdefgh", "hub:a/b@main#template=chatml"),
           "backend.openai.model_names"),
    Parser("stored adapter", tar(lambda content: archive.repack(io.BytesIO(content), "card")), ("a\nb",),
           "backend.adapters.archive", amplification=300, seconds_per_character=2e-4),
    Parser("downloaded adapter", tar(r.unpack, compressed=True), ("a\nb",), "reinforge.system.archives",
           refusals=(*REFUSALS, tarfile.TarError, OSError), largest=4096, amplification=3000,
           seconds_per_character=1e-3, general=False),
    Parser("manifest of a bundle", text(r.bundle), ('{"format": 1, "job": "@@"}',
           '{"format": 1, "files": [{"path": "@@"}]}'),
           "reinforge.bundles.archive", amplification=300),
    Parser("completions of a bundle", file("a.parquet", r.table), ("PAR1@@PAR1",), "reinforge.bundles.records"),
    Parser("stored state", tar(training_archive.unpack), ("a\nb",), "worker.training.checkpoint.archive",
    amplification=300,
           seconds_per_character=2e-4),
    Parser("frames of events", raw(sse.frame), ('{"a": "@@"}',), "backend.http.sse", largest=MIB),
    Parser("events", raw(r.events), ("data: @@\n\n", "event: a\ndata: b\n\n", "id: 1\r\n: @@\n"),
           "reinforge.client.sync.playground", largest=MIB),
    Parser("error of a server", raw(r.error), ('{"error": {"message": "@@"}}', '{"error": {"errors": [@@]}}'),
           "reinforge.client.protocol"),
    Parser("job file", file("job.yaml", jobfile.load), ("model: @@\ndata: {dataset: a}\n", "model: &a [b]\nx: *a\n"),
           "reinforge.offline.jobfile", largest=256, amplification=1500, seconds_per_character=4e-4),
    Parser("a value of the command line", text(jobfile.value_of), ("[a, @@]",), "reinforge.offline.jobfile",
    largest=256,
           amplification=1500, seconds_per_character=4e-4),
    Parser("golden cases", file("cases.yaml", golden.read_cases), ("- {item: {a: @@}, completion: b}\n",),
           "reinforge.cli.evaluation.golden", largest=256, amplification=1500, seconds_per_character=4e-4),
    Parser("job's JSON", value(r.spec), (_JOB, '{"model": "a", "@@": 1}', '{"rewards": [{"type": "@@"}]}'),
           "reinforge.parsing.validation", amplification=500, seconds_per_character=4e-5),
    Parser("suggestion", text(r.suggest), ("prompts_per_step",), "reinforge.parsing.suggestions"),
    Parser("imported job", file("job.json", lambda path: read_import(path, "tiny")),
           ('{"model": "a", "method": {"type": "reinforcement", "reinforcement": {"grader": {"@@": 1}}}}',),
           "reinforge.imports.read", amplification=500),
    Parser("imported reward", file("reward.py", lambda path: read_import(path, "tiny")), (_CODE,),
           "reinforge.imports.reward_file", amplification=2000, seconds_per_character=1e-4),
    Parser("Python", text(python_source.parse), (_CODE,), "reinforge.parsing.python_source",
           refusals=(*REFUSALS, RecursionError, MemoryError), amplification=1500, seconds_per_character=3e-5),
    Parser("tools", text(schemas_of), (_TOOL,), "reinforge.tools.source", largest=4096, amplification=3000,
           seconds_per_character=1e-4),
    Parser("type hint of a tool", text(lambda hint: hints.schema_of_hint(ast.Constant(hint, lineno=1, col_offset=0))),
           ("list[@@]", "int | None"), "reinforge.tools.hints", refusals=(*REFUSALS, hints.UnsupportedHint),
           largest=4096, amplification=3000, seconds_per_character=1e-4),
    Parser("docstring of a tool", text(docstrings.read_docstring), ("Adds.\n\nArgs:\n    a (@@): b\n        c\n",),
           "reinforge.tools.docstrings"),
    Parser("file of records", file("records.jsonl", records.read_records), (_RECORD + "\n",),
           "reinforge.preflight.offline", amplification=300),
    Parser("record", raw(RECORD.validate_json), (_RECORD,), "reinforge.records", amplification=300),
    Parser("weights' header", file("m/model.safetensors", r.weights),
           ('{"a": {"dtype": "F32", "shape": [@@1], "data_offsets": [0, 4]}}', '{"@@": {"dtype": "F32", "shape": [], '
            '"data_offsets": [0, 4]}}'), "worker.models.safetensors", amplification=200),
    Parser("tokenizer's files", file("t/tokenizer_config.json", r.facts), ('{"chat_template": "@@", "eos_token": "@@"}',
           '{"extra_special_tokens": {"@@": "a"}}'), "worker.models.tokenizer_files", amplification=200),
    Parser("model's configuration", file("c/config.json", r.configuration), ('{"architectures": ["@@"]}',),
           "reinforge.base_models.config", amplification=200),
    Parser("adapter's configuration", text(read_adapter_config), (
           '{"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["@@"]}', '{"peft_type": "@@"}'),
           "reinforge.base_models.adapter_config", amplification=200),
    Parser("card", file("l/README.md", lambda path: licence.find_licence(path.parent)), ("---\nlicense: @@\n---\n",
           "---\nlicense: [a, b]\n"), "worker.models.licence", largest=256, amplification=2000,
           seconds_per_character=4e-4),
    Parser("chat template", text(chat.has_place_for_tools), ("{% for a in messages %}{{ a }}{% endfor %}", "{{ @@ }}"),
           "worker.models.chat", refusals=(*REFUSALS, RecursionError), largest=4096, amplification=2500,
           seconds_per_character=5e-5),
    Parser("hidden tests", text(hidden_tests.read_tests), ("assert f(1) == 2\n", 'assert f("@@") == 2\n',
           "a = [1]\nassert f(a) == 2\n", "def check(candidate):\n    assert candidate(1) == 2\n", '[{"input": "@@"}]'),
           "worker.rewards.programs.hidden_tests", amplification=2500, seconds_per_character=1e-4),
    Parser("hidden tests' JSON", value(hidden_tests.read_tests), ('{"inputs": ["@@"], "outputs": ["a"]}',),
           "worker.rewards.programs.hidden_tests", amplification=2500, seconds_per_character=1e-4),
    Parser("output of a program", text(r.output), ("1 2 3.5", "```python\n@@\n```"), "worker.rewards.programs.runner",
           amplification=400),
    Parser("judge's answer", raw(replies.parse_completion), ('{"choices": [{"message": {"content": "@@"}}]}',),
           "worker.rewards.judge.replies"),
    Parser("judge's reply", text(r.reply), ('{"result": "@@"}', '{"ranking": [3, 1, 2], "steps": [@@]}',
           '```json\n{"result": 1}\n```', "<think>@@</think>"), "worker.rewards.judge.replies", amplification=400),
    Parser("calls that a program sends back", text(lambda content: agent_messages.chain_digests([
           {"role": "assistant", "tool_calls": [{"function": {"arguments": content}}]}], None)), ('{"a": ["@@"]}',),
           "worker.environment.agent.messages"),
    Parser("arguments of a call outside a job", text(lambda content: run_tools.parsed_call(
           ToolRunCall.model_construct(name="f", arguments=content))), ('{"a": ["@@"]}',), "worker.rpc.run_tools"),
    Parser("answer of a tool server", raw(lambda content: json_rpc.result(content, {}, 1)),
           ('{"jsonrpc": "2.0", "id": 1, "result": {"@@": 1}}', '{"id": 1, "error": {"code": @@}}'),
           "worker.environment.tools.json_rpc", refusals=(*REFUSALS, json_rpc.RpcError, json_rpc.RpcMalformed),
           amplification=300),
    Parser("answer of an environment", text(openenv_session.observation_of),
           ('{"type": "observation", "data": {"observation": {"a": @@}, "reward": @@, "done": false}}',
            '{"type": "error", "data": {"code": "@@", "message": "a", "errors": [{"loc": ["@@"], "msg": "@@"}]}}'),
           "worker.environment.tools.openenv_session",
           refusals=(*REFUSALS, openenv_session.OpenEnvError, openenv_session.OpenEnvMalformed)),
    Parser("events of a tool server", raw(lambda content: json_rpc.result(content, _EVENTS, 1)),
           ('data: {"id": 1, "result": {"@@": 1}}\n\n', "data: @@\r\n\r\n"),
           "worker.environment.tools.json_rpc", refusals=(*REFUSALS, json_rpc.RpcError, json_rpc.RpcMalformed),
           amplification=300),
    Parser("columns of a reward", text(sandbox_parse.parse_columns), ('{"grade": ["@@"]}',),
    "worker.sandbox.daemon.parse"),
    Parser("prints of a reward", raw(sandbox_parse.clean_text), module="worker.sandbox.daemon.parse"),
    Parser("sandbox's frame", raw(sandbox_wire.decode), ('{"op": "@@"}',), "worker.sandbox.transport.frames"),
    Parser("completion as it grows", text(r.stream), ("a <tool_call>@@",), "worker.serving.text"),
)  # fmt: skip

"""`environment:` of a job file: what is refused at creation, and with which code."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.environment_spec import ToolsSpec
from reinforge.errors import InvalidInput
from reinforge.offline import jobfile
from reinforge.preflight import probe
from reinforge.spec import JobSpec
from reinforge.tools import ToolFunction, ToolSchema

ADD = 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'


LISTED = {"type": "function", "function": {"name": "add"}}


SEARCH = {"type": "function", "function": {"name": "search"}}


def job(environment: dict[str, Any], **fields: Any) -> dict[str, Any]:
    rewards = [{"source": "def grade(sample, item): return 0"}]
    data = {"dataset": "rows.jsonl"}
    return {"model": "m", "data": data, "rewards": rewards, "environment": environment, **fields}


def tools(*sources: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "tools", "sources": list(sources), **fields}


def python(source: str) -> dict[str, Any]:
    return {"type": "python", "source": source}


def test_the_default_is_a_single_turn() -> None:
    spec = JobSpec.model_validate({name: part for name, part in job({}).items() if name != "environment"})
    assert spec.environment.model_dump() == {"type": "single_turn"}


def test_tools_are_resolved_with_their_schemas() -> None:
    spec = JobSpec.model_validate(job(tools(python(ADD)))).resolved(engine="vllm")
    assert spec.rollout.engine == "vllm"
    assert spec.environment.type == "tools"
    assert [schema.name for schema in spec.environment.schemas()] == ["add"]
    assert JobSpec.model_validate(spec.model_dump()) == spec


def test_a_server_has_tools_once_they_are_listed() -> None:
    spec = JobSpec.model_validate(job(tools(python(ADD), {"mcp": "https://example.org/mcp?key=1"})))
    environment = spec.environment
    assert isinstance(environment, ToolsSpec) and environment.runs_code
    assert [schema.name for schema in environment.schemas()] == ["add"]
    search = ToolSchema(function=ToolFunction(name="search"))
    listing = environment.listing({1: [search]})
    assert [schema.name for schema in listing.schemas()] == ["add", "search"]
    assert ToolsSpec.model_validate(listing.model_dump(mode="json")) == listing
    with pytest.raises(InvalidInput) as caught:
        environment.listing({1: [ToolSchema(function=ToolFunction(name="add"))]})
    assert caught.value.code == "tool_name_twice" and "key=1" not in caught.value.message
    assert not environment.model_copy(update={"sources": environment.sources[1:]}).runs_code


def test_the_action_of_an_openenv_server_is_a_tool_once_it_is_read() -> None:
    server = {"openenv": "https://example.org/env", "action": "move", "columns": ["level"], "concurrency": 2}
    environment = JobSpec.model_validate(job(tools(server))).environment
    assert isinstance(environment, ToolsSpec) and not environment.runs_code
    assert (environment.servers.keys(), environment.schemas()) == ({0}, ())
    listing = environment.listing({0: [ToolSchema(function=ToolFunction(name="move"))]})
    assert ToolsSpec.model_validate(listing.model_dump(mode="json")) == listing
    assert [schema.name for schema in listing.schemas()] == ["move"]


@pytest.mark.parametrize(
    ("environment", "code", "param"),
    [
        (tools({"mcp": "docs"}), "value_error", None),
        (tools({"mcp": "https://me:secret@example.org/mcp"}), "value_error", None),
        (tools({"mcp": "https://example.org", "headers": {"Mcp-Session-Id": "1"}}), "value_error", None),
        (tools({"mcp": "https://example.org", "headers": {"Accept": "*/*"}}), "value_error", None),
        (tools(python(ADD), {"mcp": "https://a.org", "tools": [LISTED]}), "tool_name_twice", "environment.sources"),
        (tools({"openenv": "example.org"}), "value_error", None),
        (tools({"openenv": "https://example.org", "columns": ["seed"]}), "value_error", None),
        (tools({"openenv": "https://example.org", "action": "a b"}), "string_pattern_mismatch", None),
        (tools({"openenv": "https://example.org", "headers": {"Sec-WebSocket-Key": "1"}}), "value_error", None),
        (tools({"openenv": "https://example.org", "mcp": "https://example.org"}), None, None),
        (tools(python("x = 1")), "no_tools", "environment.sources[0]"),
        (tools(python("def f(x) -> int: return 1")), None, "environment.sources[0]"),
        (tools(python(ADD), python(ADD)), "tool_name_twice", "environment.sources"),
        (tools({"type": "class", "source": "class A:\n    def f(self) -> int: return 1"}), "tool_class_without_reset",
         "environment.sources[0]"),
        (tools({"type": "python"}), "value_error", None),
        (tools(python(ADD), max_turns=257), "less_than_equal", None),
        (tools(python(ADD), max_turns=0), "greater_than_equal", None),
        (tools(python(ADD), invalid_call="drop"), "literal_error", None),
        (tools(reply=python(ADD)), "reply_missing", "environment.reply"),
        (tools(reply=python("async def reply(messages): ...")), "tool_is_async", "environment.reply"),
        (tools(reply=python("def reply(messages, name): ...")), "reply_parameters", "environment.reply"),
        (tools(reply=python("def reply(messages, /): ...")), "reply_parameters", "environment.reply"),
        (tools(reply=python("def reply(*messages): ...")), "reply_parameters", "environment.reply"),
        (tools(reply=python("def reply(")), "tool_syntax_error", "environment.reply"),
        (tools(reply={"class": "user.py"}), "extra_forbidden", None),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused(environment: dict[str, Any], code: str | None, param: str | None) -> None:
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(job(environment))
    (error,) = caught.value.errors()
    assert code is None or error["type"] == code
    assert param is None or error["ctx"]["param"] == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"rollout": {"stop": ["x"]}}, "rollout.stop"),
        ({"rollout": {"ahead": 1}}, "rollout.ahead"),
        (
            {"algorithm": {"preset": "axpo", "advantage": {"type": "rloo"}}},
            "algorithm.advantage.type",
        ),
        (
            {"algorithm": {"preset": "axpo", "loss": {"ratio_level": "sequence"}}},
            "algorithm.loss.ratio_level",
        ),
        ({"algorithm": {"selection": {"type": "guided_correction"}}}, "algorithm.selection.type"),
    ],
)
def test_what_does_not_go_with_tools_is_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(job(tools(python(ADD)), **fields))
    (error,) = caught.value.errors()
    assert error["ctx"]["param"] == param


def test_a_pre_flight_runs_the_tools() -> None:
    spec = JobSpec.model_validate(job(tools(python(ADD), {"mcp": "https://example.org", "tools": [SEARCH]})))
    assert probe(spec).environment == spec.environment


def test_agents_presets_that_compare_turns_are_taken() -> None:
    spec = JobSpec.model_validate(job(tools(python(ADD)), algorithm={"preset": "gagpo"}))
    assert spec.algorithm.advantage.type == "gagpo"
    spec = JobSpec.model_validate(job(tools(python(ADD)), algorithm={"preset": "ih_grpo"}))
    assert spec.algorithm.loss.aux.type == "hierarchy"
    spec = JobSpec.model_validate(job(tools(python(ADD)), algorithm={"preset": "axpo"}))
    assert spec.algorithm.selection.type == "axpo"


def test_a_job_file_takes_the_code_of_its_tools_along(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(ADD, encoding="utf-8")
    raw = job(
        tools(
            {"python": "tools.py", "timeout_seconds": 5},
            {"type": "python", "source": ADD.replace("add", "plus")},
        )
    )
    raw["data"]["dataset"] = "file-1"
    read = jobfile.absolute(raw, tmp_path, "job.yaml")
    first, second = read["environment"]["sources"]
    assert first == {"type": "python", "timeout_seconds": 5, "source": ADD}
    assert second == raw["environment"]["sources"][1]
    assert jobfile.validate(read).environment.type == "tools"


@pytest.mark.parametrize(
    "parameters", ["messages, item, state", "messages", "", "state, n=3, *, k=1, **rest"]
)
def test_a_simulated_user_needs_no_tools(parameters: str) -> None:
    source = f"def reply({parameters}): return None\n\ndef helper(x): ..."
    environment = JobSpec.model_validate(job(tools(reply=python(source)))).environment
    assert isinstance(environment, ToolsSpec) and environment.runs_code
    assert environment.schemas() == ()


def test_a_job_file_takes_the_code_of_its_user_along(tmp_path: Path) -> None:
    code = ADD + "\ndef reply(messages):\n    return None\n"
    (tmp_path / "user.py").write_text(code, encoding="utf-8")
    raw = job(tools({"python": "user.py"}, reply={"python": "user.py", "timeout_seconds": 5}))
    read = jobfile.absolute(raw | {"data": {"dataset": "file-1"}}, tmp_path, "job.yaml")
    assert read["environment"]["reply"] == {"type": "python", "timeout_seconds": 5, "source": code}
    assert jobfile.validate(read).environment.type == "tools"
    with pytest.raises(InvalidInput) as caught:
        jobfile.absolute(job(tools(reply={"python": "gone.py"})) | {"data": {}}, tmp_path, "job.yaml")
    assert (caught.value.code, caught.value.param) == ("file_not_found", "environment.reply.path")


def test_a_missing_file_of_tools_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        jobfile.absolute(job(tools({"class": "gone.py"})) | {"data": {}}, tmp_path, "job.yaml")
    assert (caught.value.code, caught.value.param) == ("file_not_found", "environment.sources[0].path")

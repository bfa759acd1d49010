"""Job files: a `JobSpec` in YAML or JSON, with paths relative to the file (docs/job-file.md)."""

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from reinforge.errors import InvalidInput
from reinforge.parsing.suggestions import nearest
from reinforge.parsing.validation import problems
from reinforge.reward_library.jobs import expanded
from reinforge.spec import JobSpec

_DATA_FILES = (".jsonl", ".json", ".ndjson", ".csv", ".parquet", ".txt")
_CHECKPOINTS = ("classifier", "reward_model", "reference_logprob")


def load(path: str | Path) -> JobSpec:
    """Read and validate a job file. Paths relative to it become absolute."""
    path = Path(path)
    return validate(absolute(read(path), path.resolve().parent, path.name))


def read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(f"There is no file {path}.", code="file_not_found") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", code="file_unreadable") from error
    try:
        raw = yaml.load(text, Loader=_Loader)
    except RecursionError:
        raise InvalidInput(f"{path.name} is nested too deeply.", code="invalid_yaml") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InvalidInput(
            f"{path.name} is not valid YAML{place}: {problem}.", code="invalid_yaml"
        ) from error
    if not isinstance(raw, dict):
        raise InvalidInput(f"{path.name} must be a mapping such as `model: …`.", code="invalid_job_file")
    return raw


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a job file, for editors: `JobSpec`, library rewards and tool files."""
    job_schema = copy.deepcopy(spec_schema())
    rewards = job_schema["properties"]["rewards"]
    rewards["items"] = {"anyOf": [*rewards["items"]["oneOf"], {"$ref": "#/$defs/ReadyReward"}]}
    job_schema["$defs"]["ReadyReward"] = {
        "title": "ReadyReward",
        "description": "A reward of the library (`reinforge reward library list`); other fields override its own.",
        "type": "object",
        "required": ["ready"],
        "properties": {
            "ready": {"type": "string", "description": "Name of the reward in the library."},
            "parameters": {"type": "object", "description": "Values in place of the library's."},
        },
    }
    sources = job_schema["$defs"]["ToolsSpec"]["properties"]["sources"]
    short = [{"$ref": "#/$defs/ToolFile"}, {"$ref": "#/$defs/ToolServer"}]
    sources["items"] = {"anyOf": [*sources["items"]["oneOf"], *short]}
    job_schema["$defs"]["ToolFile"] = {
        "title": "ToolFile",
        "description": "A `.py` file with tools, relative to the job file.",
        "type": "object",
        "oneOf": [{"required": ["python"]}, {"required": ["class"]}],
        "properties": {
            "python": {"type": "string", "description": "Its public functions are tools."},
            "class": {"type": "string", "description": "The methods of its public class are tools."},
        },
    }
    job_schema["$defs"]["ToolServer"] = {
        "title": "ToolServer",
        "description": "A server of tools, or of an environment; other fields of the source may be added.",
        "type": "object",
        "oneOf": [{"required": ["mcp"]}, {"required": ["openenv"]}],
        "properties": {
            "mcp": {
                "type": "string",
                "description": "Address of a server that offers tools by MCP over HTTP.",
            },
            "openenv": {"type": "string", "description": "Address of an OpenEnv server."},
        },
    }
    reply = job_schema["$defs"]["ToolsSpec"]["properties"]["reply"]
    reply["anyOf"].insert(1, {"$ref": "#/$defs/UserFile"})
    job_schema["$defs"]["UserFile"] = {
        "title": "UserFile",
        "description": "A `.py` file with `def reply(messages, item, state)`, relative to the job file.",
        "type": "object",
        "required": ["python"],
        "properties": {"python": {"type": "string", "description": "Path of the file."}},
    }
    return (
        {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        | job_schema
        | {"title": "Reinforge job file"}
    )


@cache
def spec_schema() -> dict[str, Any]:
    return JobSpec.model_json_schema()


def value_of(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInput(f"{text!r} is not valid YAML: {error}.", code="invalid_yaml") from error


def validate(raw: dict[str, Any]) -> JobSpec:
    """Raises one `InvalidInput` whose `errors` name every invalid field."""
    try:
        return JobSpec.model_validate(raw)
    except ValidationError as error:
        errors = problems(error.errors(), raw, spec_schema)
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise InvalidInput(
            f"{first['param'] or 'job'}: {first['message']}{more}",
            code="invalid_spec",
            param=first["param"] or None,
            errors=errors,
            hint=first["hint"] or "`docs/job-file.md` lists every field.",
        ) from None


def absolute(raw: dict[str, Any], folder: Path, name: str) -> dict[str, Any]:
    """The job with absolute paths and library rewards expanded. Raises InvalidInput for a missing file."""
    raw = dict(raw)
    data = raw.get("data")
    if isinstance(data, dict):
        raw["data"] = {
            k: _dataset(v, folder, name, f"data.{k}") if k in ("dataset", "held_out") else v
            for k, v in data.items()
        }
    adapter = raw.get("adapter")
    if isinstance(adapter, dict) and isinstance(adapter.get("start"), str):
        place = folder / adapter["start"]
        raw["adapter"] = adapter | ({"start": str(place)} if place.is_dir() else {})
    if isinstance(raw.get("environment"), dict):
        raw["environment"] = _environment(raw["environment"], folder, name)
    rewards = raw.get("rewards")
    if isinstance(rewards, list):
        raw["rewards"] = [_absolute_reward(r, folder) if isinstance(r, dict) else r for r in rewards]
        for number, reward in enumerate(raw["rewards"]):
            path = reward.get("path") if isinstance(reward, dict) else None
            if isinstance(path, str) and not Path(path).is_file():
                raise _no_file(Path(path), folder, name, f"rewards[{number}].path")
    return raw


def _dataset(value: Any, folder: Path, name: str, param: str) -> Any:
    if not isinstance(value, str):
        return value
    path = folder / value
    if path.exists():
        return str(path)
    if path.suffix.lower() in _DATA_FILES or "/" in value:
        raise _no_file(path, folder, name, param)
    return value


def _no_file(path: Path, folder: Path, name: str, param: str) -> InvalidInput:
    path_text = path.relative_to(folder) if path.is_relative_to(folder) else path
    where = f" beside {name}" if not Path(path_text).is_absolute() else ""
    siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = nearest(path.name, siblings)
    hint = f"Did you mean {near}?" if near else f"Paths in a job file are relative to it: {folder}."
    return InvalidInput(
        f"There is no file {path_text}{where}.", code="file_not_found", param=param, hint=hint
    )


def _environment(environment: dict[str, Any], folder: Path, name: str) -> dict[str, Any]:
    if isinstance(environment.get("sources"), list):
        sources = [
            _with_code(source, folder, name, f"environment.sources[{number}].path")
            for number, source in enumerate(environment["sources"])
        ]
        environment = environment | {"sources": sources}
    if isinstance(environment.get("reply"), dict):
        reply = _with_code(environment["reply"], folder, name, "environment.reply.path")
        environment = environment | {"reply": reply}
    return environment


def _with_code(source: Any, folder: Path, name: str, param: str) -> Any:
    """The source of tools with its code in place of its path."""
    kind = next((kind for kind in ("python", "class") if isinstance(source, dict) and kind in source), None)
    if kind is not None and "type" not in source:
        rest = {key: value for key, value in source.items() if key != kind}
        source = {"type": kind, "path": source[kind], **rest}
    if not isinstance(source, dict) or not isinstance(source.get("path"), str):
        return source
    path = folder / source["path"]
    if not path.is_file():
        raise _no_file(path, folder, name, param)
    try:
        code = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", code="file_unreadable", param=param) from error
    return {key: value for key, value in source.items() if key != "path"} | {"source": code}


def _absolute_reward(reward: dict[str, Any], folder: Path) -> dict[str, Any]:
    resolved = expanded(reward) if "ready" in reward else dict(reward)
    if isinstance(resolved.get("path"), str):
        resolved["path"] = str(folder / resolved["path"])
    if resolved.get("type") in _CHECKPOINTS and isinstance(resolved.get("model"), str) and resolved["model"]:
        place = folder / resolved["model"]
        resolved["model"] = str(place) if place.is_dir() else resolved["model"]
    return resolved


class _Loader(yaml.SafeLoader):
    """Loader that refuses duplicate keys, of which PyYAML keeps the last, and reads `1e-3` as a number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str):
                if key in keys:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key!r} occurs twice", problem_mark=key_node.start_mark
                    )
                keys.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]{1,3}$"), list("-+0123456789")
)

"""Rewards of a job that runs without a server: code, graders, secrets and checkpoints."""

import hashlib
import shutil
from pathlib import Path

from reinforge import settings
from reinforge.environment_spec import McpSource, OpenEnvSource, ToolsSpec
from reinforge.errors import InvalidInput
from reinforge.grading.multi import GRADER, Grader, canonical, leaves
from reinforge.grading.own_types import CheckpointGrader
from reinforge.grading.source import parse_grader
from reinforge.grading.types import EndpointGrader
from reinforge.records import RewardCode
from reinforge.reward_spec import GraderReward, PythonReward, StoredGrader, grader_of, judges_of
from reinforge.spec import JobSpec


def write_rewards(spec: JobSpec, folder: Path) -> list[RewardCode]:
    """Write each reward's code or grader to `folder`. Raises InvalidInput with the field at fault."""
    entries = []
    for index, reward in enumerate(spec.rewards):
        param = f"rewards[{index}]"
        if reward.type == "python":
            path = _write_code(reward, folder / f"{index}_{reward.name}.py", param)
            _check_judges(spec, judges_of(reward), param)
        else:
            grader = read_grader(reward, param)
            path = folder / f"{index}_{reward.name}.json"
            path.write_text(canonical(grader), encoding="utf-8")
            _check_judges(spec, judges_of(reward, grader), param)
            _check_secrets(grader, param)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        entries.append(
            RewardCode(
                name=reward.name,
                path=str(path.resolve()),
                revision=f"sha256:{digest}",
                kind="python" if reward.type == "python" else "grader",
            )
        )
    return entries


def read_grader(reward: GraderReward, param: str) -> Grader:
    grader = grader_of(reward)
    if grader is not None:
        return grader
    assert isinstance(reward, StoredGrader)
    if reward.path is None:
        raise _stored(reward.reward, param)
    return parse_grader(_file(reward.path, f"{param}.path").read_text(encoding="utf-8"), f"{param}.path")


def secret_variables(spec: JobSpec) -> frozenset[str]:
    variables = {judge.api_key_env for judge in spec.judges.values()}
    for index, reward in enumerate(spec.rewards):
        if reward.type != "python":
            parts = leaves(read_grader(reward, f"rewards[{index}]")).values()
            variables |= {part.secret_env for part in parts if isinstance(part, EndpointGrader)}
    variables |= {server.secret_env for server in tool_servers(spec).values()}
    return frozenset(name for name in variables if name is not None)


def tool_servers(spec: JobSpec) -> dict[int, McpSource | OpenEnvSource]:
    return spec.environment.servers if isinstance(spec.environment, ToolsSpec) else {}


def check_server_secrets(spec: JobSpec) -> None:
    """Raise InvalidInput, with the field at fault, if a tool server's secret is not set."""
    for number, server in tool_servers(spec).items():
        _check_variable(server.secret_env, f"environment.sources[{number}].secret_env")


def checkpoints(code: list[RewardCode], base_model: Path) -> dict[str, str]:
    """Folders of graders' checkpoints by name (empty: base model). Raises InvalidInput if one is missing."""
    folders = {}
    for index, reward in enumerate(code):
        if reward.kind != "grader":
            continue
        grader = GRADER.validate_json(Path(reward.path).read_text(encoding="utf-8"))
        for part in leaves(grader).values():
            if isinstance(part, CheckpointGrader):
                folders[part.model] = str(_checkpoint(part.model, base_model, f"rewards[{index}].model"))
    return folders


def _checkpoint(model: str, base_model: Path, param: str) -> Path:
    folder = Path(model).resolve() if model else base_model
    if not (folder / "config.json").is_file():
        raise InvalidInput(
            f"There is no checkpoint in {model!r}.",
            code="unknown_model",
            param=param,
            hint="Give a folder with config.json and .safetensors files.",
        )
    return folder


def _write_code(reward: PythonReward, path: Path, param: str) -> Path:
    if reward.path is not None:
        shutil.copyfile(_file(reward.path, f"{param}.path"), path)
    elif reward.source is not None:
        path.write_text(reward.source, encoding="utf-8")
    else:
        raise _stored(reward.reward, param)
    return path


def _check_judges(spec: JobSpec, names: frozenset[str], param: str) -> None:
    for name in sorted(names):
        judge = spec.judges.get(name)
        if judge is None:
            have = f"It has {', '.join(sorted(spec.judges))}." if spec.judges else "It has none."
            raise InvalidInput(
                f"The job file has no judge {name!r}.",
                code="unknown_judge",
                param=param,
                hint=f"{have} Add `judges: {{{name}: {{base_url: …, model: …, api_key_env: …}}}}`.",
            )
        _check_variable(judge.api_key_env, f"judges.{name}.api_key_env")


def _check_secrets(grader: Grader, param: str) -> None:
    for part in leaves(grader).values():
        if isinstance(part, EndpointGrader):
            _check_variable(part.secret_env, f"{param}.secret_env")


def _check_variable(name: str | None, param: str) -> None:
    if name is not None and not settings.variable(name):
        raise InvalidInput(
            f"The environment variable {name} is not set.", code="variable_missing", param=param
        )


def _stored(id: str | None, param: str) -> InvalidInput:
    return InvalidInput(
        f"The reward {id} is stored on a server, so it cannot be used offline.",
        code="offline_reward",
        param=f"{param}.reward",
        hint="Name a file with `path`, or write the reward into the job file.",
    )


def _file(path: str, param: str) -> Path:
    if not Path(path).is_file():
        raise InvalidInput(f"There is no file {path}.", code="file_not_found", param=param)
    return Path(path).resolve()

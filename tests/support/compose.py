"""docker-compose.yml and its override as Docker Compose reads them, for tests that have no Docker."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
MAIN, GPU = "docker-compose.yml", "docker-compose.gpu.yml"
REQUIRED = (
    "POSTGRES_PASSWORD",
    "REDIS_PASSWORD",
    "REINFORGE_API_KEY",
    "REINFORGE_WORKER_TOKEN",
    "REINFORGE_SECRET_KEY",
)
_INNERMOST = re.compile(r"\$\{(\w+)(?:(:?[-+?])([^${}]*))?\}")


class RequiredVariable(Exception):
    """A `${NAME:?message}` whose variable is not set."""


def interpolate(text: str, variables: dict[str, str]) -> str:
    """`${NAME}`, `${NAME:-default}`, `${NAME-default}`, `${NAME:+other}`, `${NAME:?message}`; nested ones, too."""

    def value(match: re.Match[str]) -> str:
        name, operator, other = match[1], match[2] or "", match[3] or ""
        present = name in variables and (variables[name] != "" or not operator.startswith(":"))
        if operator.endswith("?") and not present:
            raise RequiredVariable(f"{name}: {other}")
        if operator.endswith("+"):
            return other if present else ""
        return variables[name] if present else other

    while _INNERMOST.search(text):
        text = _INNERMOST.sub(value, text)
    return text


def services(variables: dict[str, str], *overrides: str) -> dict[str, dict[str, Any]]:
    """The services with their variables filled in; overrides: files that follow. Raises RequiredVariable."""
    merged: dict[str, dict[str, Any]] = {}
    for name in (MAIN, *overrides):
        merged = merge(merged, yaml.safe_load(interpolate((ROOT / name).read_text(), variables))["services"])
    return merged


def merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Mappings are merged and other values replaced. Compose appends lists, which no override here has at a place
    where the main file has one."""
    result = dict(first)
    for name, value in second.items():
        old = result.get(name)
        assert not (isinstance(old, list) and isinstance(value, list)), f"Compose appends {name}"
        both = isinstance(old, dict) and isinstance(value, dict)
        result[name] = merge(result[name], value) if both else value
    return result


def environment(service: dict[str, Any], variables: dict[str, str]) -> dict[str, str]:
    """What the service's process gets: a name without a value is passed on if it is set."""
    result: dict[str, str] = {}
    for name, value in service.get("environment", {}).items():
        if value is not None:
            result[name] = str(value)
        elif name in variables:
            result[name] = variables[name]
    return result

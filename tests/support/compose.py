"""docker-compose.yml as Docker Compose reads it, for tests that have no Docker."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
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


def services(variables: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The services with their variables filled in. Raises RequiredVariable."""
    loaded = yaml.safe_load(interpolate((ROOT / "docker-compose.yml").read_text(), variables))
    found: dict[str, dict[str, Any]] = loaded["services"]
    return found


def environment(service: dict[str, Any], variables: dict[str, str]) -> dict[str, str]:
    """What the service's process gets: a name without a value is passed on if it is set."""
    result: dict[str, str] = {}
    for name, value in service.get("environment", {}).items():
        if value is not None:
            result[name] = str(value)
        elif name in variables:
            result[name] = variables[name]
    return result

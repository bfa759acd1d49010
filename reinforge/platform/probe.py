"""Checks that a server is ready, for containers' health checks; standard library only, because it runs often.

python -m reinforge.platform.probe http://127.0.0.1:8321/readyz          # 0: ready
python -m reinforge.platform.probe http://api:8321/readyz worker         # 0: its part `worker` is ready
"""

import json
import sys
import urllib.error
import urllib.request
from typing import Any

_WITHIN = 8.0


def readiness(url: str) -> dict[str, Any]:
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({})
    )  # it is beside us, never behind a proxy
    try:
        with direct.open(url, timeout=_WITHIN) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        answer = json.load(error)
    if not isinstance(answer, dict):
        raise ValueError("the answer is not a JSON object")
    return answer


def problem(url: str, part: str | None = None) -> str | None:
    try:
        answer = readiness(url)
    except (OSError, ValueError) as error:
        return f"{url} does not answer: {error}"
    parts = answer.get("parts", {})
    for name in [part] if part else [part_name for part_name in parts if not answer.get("ready")]:
        state = parts.get(name, {})
        if not state.get("ready"):
            return f"{name} is not ready: {state.get('message') or json.dumps(state)}"
    return None if part or answer.get("ready") else f"{url} is not ready"


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    message = problem(*arguments)
    if message is not None:
        sys.stderr.write(f"{message}\n")
    return 0 if message is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

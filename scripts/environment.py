"""Refuses code outside the settings modules that reads environment variables.

One module per kind of process reads them (`SETTINGS`); everything else takes values as parameters. `EXCEPTIONS` names
the other modules that touch the environment, each with the reason.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("backend", "reinforge", "worker")
SETTINGS = {
    "backend/settings.py": "the backend's processes",
    "reinforge/settings.py": "client, command line, `reinforge up`",
    "worker/machine/settings.py": "trainer, sampling process, reward models",
    "worker/sandbox/settings.py": "the sandbox",
    "worker/settings.py": "supervisor and RPC worker",
}
EXCEPTIONS = {
    "backend/processes/pool.py": "copies the environment for a child",
    "backend/trackers/wandb.py": "copies some variables for a child",
    "reinforge/offline/train.py": "copies the environment for a child",
    "reinforge/platform/environment.py": "makes the environments of the platform's processes",
    "reinforge/platform/postgres.py": "copies the environment for a child",
    "reinforge/system/process_table.py": "reads the environment of other processes",
    "worker/engine_host/client/local.py": "copies the environment for a child",
    "worker/isolated/process.py": "copies the environment for a child",
    "worker/machine/vllm_compiler.py": "PATH and CC, as Triton reads them; also runs without this package",
    "worker/rewards/checkpoints.py": "copies the environment for a child",
    "worker/rollout/vllm/process.py": "copies the environment for a child",
    "worker/sandbox/daemon/probe.py": "proves that a jail does not see the environment",
    "worker/sandbox/jailed/zygote.py": "replaces the environment inside the jail",
    "worker/supervisor/trainer_process.py": "copies the environment for a child",
    "worker/trainer/ranks.py": "copies the environment for a child",
}
READERS = {"environ", "environb", "getenv", "getenvb"}
SETTINGS_CLASSES = {"BaseSettings"}


def reads(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of every use of the environment: `os.environ`, `from os import getenv`, pydantic's settings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in READERS:
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (node.module == "os" and alias.name in READERS) or alias.name in SETTINGS_CLASSES:
                    yield node.lineno, alias.name
        elif isinstance(node, ast.Attribute) and node.attr in SETTINGS_CLASSES:
            yield node.lineno, node.attr


def problems(sources: dict[str, str]) -> list[str]:
    """sources: path → text."""
    uses = {path: list(reads(ast.parse(text))) for path, text in sources.items()}
    allowed = SETTINGS | EXCEPTIONS
    messages = [
        f"{path}:{line}: {name}: read it in a settings module and pass the value (scripts/environment.py lists them)"
        for path, lines in uses.items()
        if path not in allowed
        for line, name in lines
    ]
    return messages + [
        f"{path}: is listed in scripts/environment.py and reads nothing"
        for path in sorted(allowed)
        if not uses.get(path)
    ]


def main() -> int:
    command = ["git", "ls-files", "-co", "--exclude-standard", *ROOMS]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    sources = {name: Path(name).read_text(encoding="utf-8") for name in names if name.endswith(".py")}
    messages = problems(sources)
    print("\n".join(messages) or f"environment: read in {len(SETTINGS)} settings modules")
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())

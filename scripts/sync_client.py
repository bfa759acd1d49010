"""Generates `reinforge/client/sync` from `reinforge/client/aio` with unasync, so that the client is written once.

`--check` fails if the two differ.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from unasync import Rule, unasync_files

CLIENT = Path(__file__).resolve().parents[1] / "reinforge" / "client"
SOURCE, TARGET = CLIENT / "aio", CLIENT / "sync"
REPLACEMENTS = {
    "aio": "sync",
    "asyncio": "time",
    "aread": "read",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aiter_sse": "iter_sse",
}
"""Names beside those that unasync replaces itself. A prefix `Async` is dropped."""


def write(folder: Path) -> None:
    """All modules of the synchronous client, formatted."""
    sources = sorted(SOURCE.glob("*.py"))
    classes = {name for path in sources for name in re.findall(r"\bAsync[A-Z]\w*", path.read_text())}
    replacements = REPLACEMENTS | {name: name.removeprefix("Async") for name in classes}
    unasync_files([str(path) for path in sources], [Rule(str(SOURCE), str(folder), replacements)])
    for path in folder.glob("*.py"):
        note = f"# Generated from reinforge/client/aio/{path.name} by scripts/sync_client.py: change that file.\n"
        path.write_text(note + path.read_text(encoding="utf-8"), encoding="utf-8")
    config = ["--config", str(CLIENT.parents[1] / "pyproject.toml")]
    ruff = [sys.executable, "-m", "ruff"]
    fix = [*ruff, "check", "--quiet", "--fix", "--select", "F401,F811,I", *config, str(folder)]
    subprocess.run(fix, check=True)
    subprocess.run([*ruff, "format", "--quiet", *config, str(folder)], check=True)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}


def main() -> int:
    if "--check" not in sys.argv:
        write(TARGET)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        write(Path(temporary))
        generated = contents(Path(temporary))
    current = contents(TARGET)
    names = generated.keys() | current.keys()
    if changed := sorted(name for name in names if generated.get(name) != current.get(name)):
        print(f"reinforge/client/sync differs: {', '.join(changed)}. Run scripts/sync_client.py.")
        return 1
    print(f"client: {len(generated)} modules of reinforge/client/sync are up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Install libraries of others with which rollouts are run, each in a folder of its own below .venv/agents: clients of
programs, and servers of environments.

Tests run by night drive them: they bring a gigabyte that nothing else needs.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".venv" / "agents"
LIBRARIES = {
    "openai-agents": ("openai-agents==0.24.0",),
    "langgraph": ("langgraph==1.2.24", "langchain-openai==1.7.4"),
    "verifiers": ("verifiers==0.4.0",),
    "openenv": ("openenv==0.10.0",),
}
"""Name of the folder → what pip installs there."""


def is_installed(name: str) -> bool:
    stamp = FOLDER / name / "complete"
    return stamp.exists() and stamp.read_text() == _written(name)


def install(name: str) -> Path:
    """Folder to put on PYTHONPATH. What is there already stays."""
    folder = FOLDER / name
    if not is_installed(name):
        quiet = ("--quiet", "--progress-bar", "off", "--disable-pip-version-check", "--no-warn-conflicts")
        command = [sys.executable, "-m", "pip", "install", *quiet, "--upgrade", "--target", str(folder)]
        subprocess.run([*command, *LIBRARIES[name]], check=True, timeout=600)
        (folder / "complete").write_text(_written(name))
    return folder


def _written(name: str) -> str:
    return "\n".join(LIBRARIES[name]) + "\n"


if __name__ == "__main__":
    for library in sys.argv[1:] or LIBRARIES:
        install(library)

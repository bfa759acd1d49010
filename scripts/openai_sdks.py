"""Install OpenAI's SDKs that tests drive, each in a folder of its own below .venv/openai.

Two majors side by side: the last that builds on httpx, and the newest. Neither touches what Reinforge itself needs.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".venv" / "openai"
RELEASES = {"1.109.1": "openai==1.109.1", "3": "openai>=3,<4"}
"""Name of the folder → what pip installs there."""


def install() -> dict[str, Path]:
    """Name → folder to put on PYTHONPATH. What is there already stays."""
    paths = {}
    for name, requirement in RELEASES.items():
        folder = FOLDER / name
        stamp = folder / "complete"
        if not stamp.exists():
            quiet = ("--quiet", "--progress-bar", "off", "--disable-pip-version-check", "--no-warn-conflicts")
            command = [sys.executable, "-m", "pip", "install", *quiet, "--upgrade", "--target", str(folder)]
            subprocess.run([*command, requirement], check=True, timeout=240)
            stamp.write_text(requirement + "\n")
        paths[name] = folder
    return paths


if __name__ == "__main__":
    install()

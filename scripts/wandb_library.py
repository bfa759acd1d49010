"""Install W&B's library, with which exports are tested, in a folder of its own below .venv.

Most installations of Reinforge do not have it, and it brings twenty packages that the server must work without.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".venv" / "wandb"
REQUIREMENT = "wandb>=0.27,<1"


def install() -> Path:
    """Folder to put on PYTHONPATH. What is there already stays."""
    stamp = FOLDER / "complete"
    if not stamp.exists() or stamp.read_text() != f"{REQUIREMENT}\n":
        quiet = ("--quiet", "--progress-bar", "off", "--disable-pip-version-check", "--no-warn-conflicts")
        command = [sys.executable, "-m", "pip", "install", *quiet, "--upgrade", "--target", str(FOLDER)]
        subprocess.run([*command, REQUIREMENT], check=True, timeout=240)
        stamp.write_text(f"{REQUIREMENT}\n")
    return FOLDER


if __name__ == "__main__":
    install()

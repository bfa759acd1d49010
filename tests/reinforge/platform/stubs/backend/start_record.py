"""Record of a stub process that has started: its pid and environment, in `seen/NAME` of the home."""

import json
import os
from pathlib import Path


def record_start(name: str) -> None:
    home = Path(os.environ["REINFORGE_HOME"])
    (home / "seen").mkdir(exist_ok=True)
    fresh = home / "seen" / f".{name}"
    fresh.write_text(json.dumps({"pid": os.getpid(), "env": dict(os.environ)}))
    fresh.rename(home / "seen" / name)

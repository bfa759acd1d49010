"""Base models on this machine, located by a subprocess because this package does not import `worker`."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import InvalidInput

_LOCATE = """
import json, sys
from pathlib import Path
from reinforge.errors import ReinforgeError
from worker.models.sources import ModelStore
store, source = ModelStore(Path(sys.argv[2])), sys.argv[1]
try:
    folder = Path(source) if Path(source).is_dir() else store.resolve(source, added=True)
    print(json.dumps({"folder": str(folder.resolve()), "sha256": store.content_hash(folder)}))
except ReinforgeError as error:
    print(json.dumps({"error": error.message, "hint": error.hint}))
"""


@dataclass(frozen=True)
class LocatedModel:
    folder: Path
    sha256: str
    """SHA-256 over the names and contents of the folder's files, as jobs store it."""


def locate(source: str, downloads: Path, param: str) -> LocatedModel:
    """Locate a model: a folder, `builtin:NAME`, or `hub:ORG/NAME@REVISION`, downloaded below `downloads`.

    Raises InvalidInput `unknown_model`.
    """
    command = [sys.executable, "-c", _LOCATE, source, str(downloads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it cannot be opened"]
        raise InvalidInput(f"The model {source} cannot be used: {last[0]}", code="unknown_model", param=param)
    place = json.loads(done.stdout.splitlines()[-1])
    if "error" in place:
        raise InvalidInput(place["error"], code="unknown_model", param=param, hint=place["hint"])
    return LocatedModel(Path(place["folder"]), place["sha256"])

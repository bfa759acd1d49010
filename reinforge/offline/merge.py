"""`reinforge adapter merge`: merges an adapter into its base model in a subprocess."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

from pydantic import BaseModel

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS
from reinforge.errors import InvalidInput, StateConflict


class MergedModel(BaseModel):
    out: str
    precision: list[str]
    largest_difference: float
    """Largest difference in log-probability (nats) from the unmerged float32 model, on random tokens."""
    archive: str | None = None


def merge(
    base: Path, adapter: Path, out: Path, *, archive: bool = False, card: str | None = None
) -> MergedModel:
    """Write the merged model to the new folder `out`, with `card` as README.md; `archive`: also as `OUT.tar`.

    Raises InvalidInput for unsuitable folders, StateConflict `merge_failed` if the process fails.
    """
    if out.exists():
        raise InvalidInput(
            f"{out} exists already.", code="out_exists", hint="Choose another folder with --out."
        )
    for name in (CONFIG, WEIGHTS):
        if not (adapter / name).is_file():
            raise InvalidInput(
                f"{adapter} is not an adapter's folder: it has no {name}.", code="adapter_not_found"
            )
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "worker.policy.merge", str(base), str(adapter), str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    if not lines:
        raise StateConflict(
            f"The process that merges failed with status {done.returncode}.",
            code="merge_failed",
            hint="See its output above. It needs enough memory for the base model in float32.",
        )
    facts = json.loads(lines[-1])
    if "error" in facts:
        raise InvalidInput(facts["error"], code=facts["code"], hint=facts["hint"])
    if card is not None:
        (out / "README.md").write_text(card, encoding="utf-8")
    path = None
    if archive:
        path = out.with_name(f"{out.name}.tar")
        with tarfile.open(path, "w") as tar:
            for file in sorted(out.iterdir()):
                tar.add(file, arcname=file.name)
    return MergedModel(out=str(out), archive=None if path is None else str(path), **facts)

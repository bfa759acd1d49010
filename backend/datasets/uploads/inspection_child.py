"""`python -m backend.datasets.uploads.inspection_child PATH FILENAME LIMIT MEMORY SECONDS [TO]`: inspect a
file within limits, and write it without bad rows to TO.
"""

import json
import resource
import sys
from pathlib import Path

from backend.processes.child import NICE
from reinforge.dataset import DatasetLimits, DatasetReport, inspect, inspect_skipping
from reinforge.errors import ReinforgeError, TooLarge
from reinforge.system.priority import give_way

CPU_SECONDS = 900
TOO_COMPLEX = "file_too_complex"


def main(arguments: list[str]) -> None:
    path, filename, limit, memory = Path(arguments[0]), arguments[1], int(arguments[2]), int(arguments[3])
    bound(memory, int(arguments[4]))
    to = Path(arguments[5]) if len(arguments) > 5 else None
    sys.stdout.write(json.dumps(_look(path, filename, limit, to)))


def bound(memory: int, seconds: int = CPU_SECONDS) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    give_way(NICE)


def _look(path: Path, filename: str, limit: int, to: Path | None) -> dict[str, object]:
    try:
        limits = DatasetLimits(max_bytes=limit)
        report: DatasetReport = (
            inspect(path, filename, limits) if to is None else inspect_skipping(path, filename, limits, to)
        )
    except ReinforgeError as error:
        return {"status": error.status, "error": error.envelope()["error"]}
    except MemoryError:
        return {"status": TooLarge.status, "error": needs_too_much().envelope()["error"]}
    return {"report": report.model_dump(mode="json")}


def needs_too_much() -> TooLarge:
    return TooLarge(
        "Reading the file takes too much memory or time.",
        code=TOO_COMPLEX,
        param="file",
        hint="Split it, or write it as JSONL with one small object per line.",
    )


if __name__ == "__main__":
    main(sys.argv[1:])

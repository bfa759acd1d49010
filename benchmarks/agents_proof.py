"""Proof of the acceptance of agents: `make proof-agents`, or some parts with ONLY="continuation".

Writes benchmarks/results/agents.json with commit, machine and date. Fails if a part is wrong.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.agents import capture, continuation, crowd, kills, page  # noqa: E402
from benchmarks.common import measure  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "agents.json"


class Part(NamedTuple):
    measure: Callable[[], dict[str, Any]]
    is_right: Callable[[dict[str, Any]], bool]


PARTS = {
    "continuation": Part(lambda: continuation.measure(10_000), continuation.is_right),
    "capture": Part(capture.measure, capture.is_right),
    "crowd": Part(crowd.measure, crowd.is_right),
    "kills": Part(kills.measure, kills.is_right),
    "page": Part(page.measure, page.is_right),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args().only or list(PARTS)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    wrong = []
    for name in chosen:
        started = time.monotonic()
        result = PARTS[name].measure()
        right = PARTS[name].is_right(result)
        results[name] = {
            "right": right,
            "seconds": round(time.monotonic() - started, 1),
            **measure.stamp("tokenizers", "jinja2", "trl"),
            **result,
        }
        print(f"{name}: {'right' if right else 'WRONG'}, {results[name]['seconds']} s")
        wrong += [] if right else [name]
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())

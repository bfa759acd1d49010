"""Write the data of the page's unit tests that equals what the server sends: the job's schema, and the metrics.

`--check` writes nothing and fails when a file and the code differ.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ["REINFORGE_PLUGINS"] = "off"  # the page's tests are about what everybody has

from pydantic import TypeAdapter

from reinforge.metrics import CHARTS, FAMILIES, METRICS, Metric, MetricChart, MetricFamily
from reinforge.spec import JobSpec

FRONTEND = Path(__file__).parent.parent / "frontend"
FIXTURES = FRONTEND / "src" / "lib" / "fixtures"


def fixtures() -> dict[Path, Any]:
    return {
        FIXTURES / "job-spec.json": JobSpec.model_json_schema(),
        FIXTURES / "metrics.json": {
            "metrics": TypeAdapter(list[Metric]).dump_python(list(METRICS.values()), mode="json"),
            "metric_families": TypeAdapter(list[MetricFamily]).dump_python(list(FAMILIES), mode="json"),
            "charts": TypeAdapter(list[MetricChart]).dump_python(list(CHARTS), mode="json"),
        },
    }


def main() -> int:
    stale = {
        path: data
        for path, data in fixtures().items()
        if json.loads(path.read_text(encoding="utf-8")) != data
    }
    if "--check" in sys.argv:
        if stale:
            print(f"out of date: {', '.join(path.name for path in stale)}; run scripts/page_fixtures.py")
        return bool(stale)
    for path, data in stale.items():
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    if stale:
        subprocess.run(["npx", "biome", "format", "--write", *map(str, stale)], cwd=FRONTEND, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

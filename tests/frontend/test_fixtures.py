"""Data in the page's unit tests equals what the server sends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "frontend" / "src" / "lib" / "fixtures"
SOURCES = {
    "job-spec.json": "from reinforge.spec import JobSpec; data = JobSpec.model_json_schema()",
    "metrics.json": """
from pydantic import TypeAdapter
from reinforge.metrics import CHARTS, FAMILIES, METRICS, Metric, MetricChart, MetricFamily
def dump(kind, items): return TypeAdapter(list[kind]).dump_python(list(items), mode="json")
data = {
    "metrics": dump(Metric, METRICS.values()),
    "metric_families": dump(MetricFamily, FAMILIES),
    "charts": dump(MetricChart, CHARTS),
}
""",
}
WRITE = os.environ.get("REINFORGE_WRITE_FIXTURES") == "1"


@pytest.mark.parametrize("name", SOURCES)
def test_a_fixture_is_what_the_server_sends(name: str) -> None:
    """Without installed packages. `REINFORGE_WRITE_FIXTURES=1` writes it; then run `npm run format`."""
    program = f"import json\n{SOURCES[name]}\nprint(json.dumps(data))"
    environment = os.environ | {"REINFORGE_PLUGINS": "off"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    expected = json.loads(done.stdout)
    if WRITE:
        (FIXTURES / name).write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    assert json.loads((FIXTURES / name).read_text(encoding="utf-8")) == expected

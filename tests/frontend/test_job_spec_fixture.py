"""The schema that the page's unit tests build forms from is the one the server sends."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "frontend" / "src" / "lib" / "fixtures" / "job-spec.json"
PROGRAM = "import json; from reinforge.spec import JobSpec; print(json.dumps(JobSpec.model_json_schema()))"


def test_the_fixture_is_the_schema_of_a_specification() -> None:
    """Without what packages installed here add to it."""
    environment = os.environ | {"REINFORGE_PLUGINS": "off"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    assert json.loads(FIXTURE.read_text(encoding="utf-8")) == json.loads(done.stdout), (
        f"JobSpec has changed: write json.dumps(JobSpec.model_json_schema(), indent=1) to {FIXTURE}"
    )

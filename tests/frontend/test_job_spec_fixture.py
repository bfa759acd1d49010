"""The schema that the page's unit tests build forms from is the one the server sends."""

import json
from pathlib import Path

from reinforge.spec import JobSpec

FIXTURE = Path(__file__).parents[2] / "frontend" / "src" / "lib" / "fixtures" / "job-spec.json"


def test_the_fixture_is_the_schema_of_a_specification() -> None:
    schema = json.loads(json.dumps(JobSpec.model_json_schema()))
    assert json.loads(FIXTURE.read_text(encoding="utf-8")) == schema, (
        f"JobSpec has changed: write json.dumps(JobSpec.model_json_schema(), indent=1) to {FIXTURE}"
    )

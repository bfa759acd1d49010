"""OpenAI's own SDK, unmodified, against the platform: one script under two majors.

Every answer is held against the published schema. The two variables `OPENAI_BASE_URL` and `OPENAI_API_KEY` are all that
tells it where it is.
"""

import json
import os
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from reinforge.platform.up import Platform
from scripts.openai_sdks import RELEASES, install
from tests.backend.openai import schemas
from tests.backend.openai.chat_request import CHUNK
from tests.e2e.conftest import KEY

SCRIPT = Path(__file__).with_name("openai_script.py")
JOBS = r"/v1/fine_tuning/jobs"
OBJECTS: list[tuple[str, str, schemas.Schema]] = [
    ("POST", r"/v1/files", schemas.FILE),
    ("GET", r"/v1/files/[^/]+", schemas.FILE),
    ("DELETE", r"/v1/(files|models)/[^/]+", schemas.DELETED),
    ("POST", r"/v1/uploads(/[^/]+/(complete|cancel))?", schemas.UPLOAD),
    ("POST", r"/v1/uploads/[^/]+/parts", schemas.UPLOAD_PART),
    ("POST", rf"{JOBS}(/[^/]+/(cancel|pause|resume))?", schemas.JOB),
    ("GET", rf"{JOBS}/[^/]+", schemas.JOB),
    ("GET", r"/v1/models/[^/]+", schemas.MODEL),
    ("DELETE", r"/v1/fine_tuning/checkpoints/[^/]+/permissions/[^/]+", schemas.DELETED),
    ("POST", r"/v1/fine_tuning/alpha/graders/validate", schemas.an_object({"grader": {"type": "object"}})),
    ("POST", r"/v1/fine_tuning/alpha/graders/run", schemas.GRADER_RUN),
    ("POST", r"/v1/chat/completions", schemas.CHAT_COMPLETION),
]
LISTS: list[tuple[str, schemas.Schema]] = [
    (r"/v1/files", schemas.FILE),
    (JOBS, schemas.JOB),
    (rf"{JOBS}/[^/]+/events", schemas.EVENT),
    (rf"{JOBS}/[^/]+/checkpoints", schemas.CHECKPOINT),
    (r"/v1/fine_tuning/checkpoints/[^/]+/permissions", schemas.PERMISSION),
    (r"/v1/models", schemas.MODEL),
]


@pytest.fixture(scope="module")
def sdks() -> dict[str, Path]:
    return install()


def check(answer: dict[str, Any]) -> str:
    """Hold one answer against the published schema; returns which."""
    method, path, body = answer["method"], answer["path"], answer["body"]
    assert answer["request_id"].startswith("req_")
    if answer["status"] >= 400:
        schemas.checked(body, schemas.ERROR)
        return "error"
    for pattern, schema in LISTS:
        listed = method == "GET" or path.endswith("/permissions")
        if listed and re.fullmatch(pattern, path):
            schemas.listed(body, schema)
            return pattern
    for verb, pattern, schema in OBJECTS:
        if method == verb and re.fullmatch(pattern, path):
            schemas.checked(body, schema)
            return f"{verb} {pattern}"
    raise AssertionError(f"no schema for {method} {path}")


NEWEST = list(RELEASES)[-1]
SCRIPTS = [
    pytest.param(sdk, kind, marks=[] if sdk == NEWEST and kind != "learn" else [pytest.mark.long])
    for sdk in RELEASES
    for kind in ("life", "errors", "learn")
]
"""CI runs the life of a job and the errors with the newest release; the night runs the rest."""


@pytest.mark.parametrize(("sdk", "kind"), SCRIPTS)
def test_the_script(platform: Platform, sdks: dict[str, Path], tmp_path: Path, sdk: str, kind: str) -> None:
    record = tmp_path / "answers.jsonl"
    # Without the site packages: the SDK and what it brings, and nothing of ours.
    done = subprocess.run(
        [sys.executable, "-S", str(SCRIPT), kind, str(record)],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(sdks[sdk]),
            "OPENAI_BASE_URL": f"{platform.url}/v1",
            "OPENAI_API_KEY": KEY,
        },
        text=True,
        capture_output=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["openai"].startswith(sdk)
    answers = [json.loads(line) for line in record.read_text().splitlines()]
    checked_answers = {check(answer) for answer in answers if "body" in answer}
    streams = [answer["chunks"] for answer in answers if "chunks" in answer]
    for chunk in chain.from_iterable(streams):
        schemas.checked(chunk, CHUNK)
    if kind == "life":
        assert checked_answers >= {pattern for pattern, _ in LISTS} | {
            f"{verb} {path}" for verb, path, _ in OBJECTS
        }
        assert len(streams) == 3 and all(len(chunks) > 2 for chunks in streams)

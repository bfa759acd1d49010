"""What the hostile member has: a project, an editor's key, two datasets, two models and a job that waits."""

import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as parquet
from common.measure import ROOT

STARTER = ROOT / "worker" / "starter" / "starter-arith"
TEMPLATES = {
    "endless": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}x",
    "greedy": "{{ 'a'.ljust(3000000000) }}",
}
ROWS, ROW_BYTES = 200, 2**20


@dataclass(frozen=True)
class Crowd:
    project: str
    owner: str
    """Key of the project's owner, for cleaning up."""
    key: str
    """The member's, an editor's."""
    models: list[str]
    small: str
    large: str
    job: str


def make_crowd(api: httpx.Client, models_folder: Path) -> Crowd:
    """api: as whoever runs the platform. models_folder: where editors may have models."""
    project = answer(api.post("/projects", json={"name": "hostile", "with_key": True}))
    owner = client_of(api, project["key"])
    key = answer(owner.post("/keys", json={"name": "member", "role": "editor"}))["key"]
    with client_of(api, key) as member:
        models = [_model(member, models_folder, name, template) for name, template in TEMPLATES.items()]
        rows = "".join(json.dumps({"prompt": f"{n}+1=", "answer": str(n + 1)}) + "\n" for n in range(20_000))
        small = _dataset(member, "small.jsonl", rows.encode())
        large = _dataset(member, "large.parquet", _large_rows())
        job = _job(member, small)
    owner.close()
    return Crowd(project["id"], project["key"], key, models, small, large, job)


def remove_crowd(api: httpx.Client, crowd: Crowd) -> None:
    """What others would see of it."""
    with client_of(api, crowd.owner) as owner:
        owner.post(f"/jobs/{crowd.job}/cancel")
        for model in crowd.models:
            owner.delete(f"/models/{model}")


def client_of(api: httpx.Client, key: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.Client(base_url=api.base_url, headers=headers, timeout=60, trust_env=False)


def answer(reply: httpx.Response) -> dict[str, Any]:
    if reply.is_error:
        raise RuntimeError(
            f"{reply.request.method} {reply.request.url.path}: {reply.status_code} {reply.text[:500]}"
        )
    body: dict[str, Any] = reply.json()
    return body


def _model(member: httpx.Client, folder: Path, name: str, template: str) -> str:
    """The starter with a chat template that is an attack."""
    copy = folder / f"hostile-{name}"
    shutil.copytree(STARTER, copy, dirs_exist_ok=True)
    for path in copy.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (copy / "chat_template.jinja").write_text(template)
    model = answer(member.post("/models", json={"id": copy.name, "source": str(copy)}))
    return str(model["id"])


def _dataset(member: httpx.Client, name: str, content: bytes) -> str:
    return str(answer(member.post("/datasets", files={"file": (name, content)}))["id"])


def _large_rows() -> bytes:
    """Some hundred bytes of Parquet that are rows of 200 MiB."""
    table = pa.table({"prompt": pa.array(["a" * ROW_BYTES] * ROWS).dictionary_encode()})
    target = io.BytesIO()
    parquet.write_table(table, target, compression="zstd")
    return target.getvalue()


def _job(member: httpx.Client, dataset: str) -> str:
    """It waits for as long as the only worker has another one."""
    spec = {
        "model": "starter-arith",
        "data": {"dataset": dataset, "held_out_rows": 4},
        "rewards": [{"type": "python", "name": "r", "source": "def grade(sample, item):\n    return 0.0\n"}],
        "limits": {"steps": 1},
    }
    return str(answer(member.post("/jobs", json=spec))["id"])

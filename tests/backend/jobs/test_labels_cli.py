"""`reinforge job list|rename|note|tag|archive` against a real backend's API."""

import json
import os
import subprocess

from tests.backend.server import OWNER_KEY, Backend
from tests.support.preloaded import run_module


def run(backend: Backend, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"REINFORGE_URL": backend.url, "REINFORGE_API_KEY": OWNER_KEY, "NO_COLOR": "1"}
    return run_module("reinforge.cli.main", "job", *words, env=environment, timeout=60)


def listed(backend: Backend, *words: str) -> list[str]:
    return [job["id"] for job in json.loads(run(backend, "list", "--json", *words).stdout)]


def test_a_job_is_labelled_listed_by_it_and_archived(rpc_backend: Backend) -> None:
    id, other = rpc_backend.create_job(seed=1), rpc_backend.create_job(seed=2)
    assert run(rpc_backend, "rename", id, "Sums, best").returncode == 0
    run(rpc_backend, "note", id, "Works.")
    run(rpc_backend, "note", id, "Twice.", "--append")
    assert "baseline, sums" in run(rpc_backend, "tag", id, "baseline", "sums").stderr
    assert "tags: sums" in run(rpc_backend, "tag", id, "--remove", "baseline").stderr
    job = rpc_backend.job(id)
    assert (job["name"], job["notes"], job["tags"]) == ("Sums, best", "Works.\n\nTwice.", ["sums"])
    assert "Sums, best #sums" in run(rpc_backend, "list", "--tag", "sums").stdout.replace("\n", "")
    assert listed(rpc_backend, "--tag", "sums") == [id]
    assert listed(rpc_backend, "--sort", "spec.seed") == [id, other]
    refused = run(rpc_backend, "archive", id)
    assert (refused.returncode != 0, "Cancel it" in refused.stderr) == (True, True)
    run(rpc_backend, "cancel", id)
    assert run(rpc_backend, "archive", id).returncode == 0
    assert (listed(rpc_backend), listed(rpc_backend, "--archived")) == ([other], [id])
    assert set(listed(rpc_backend, "--all")) == {id, other}
    run(rpc_backend, "unarchive", id)
    assert set(listed(rpc_backend)) == {id, other}

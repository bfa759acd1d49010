"""`reinforge sweep` against a real backend."""

import json
from pathlib import Path

import pytest

from tests.backend.server import REWARD, Backend
from tests.backend.sweeps.sweeping import advance, jobs, train
from tests.support.command_line import Cli

JOB = """
model: tiny
data: {dataset: sums.jsonl}
rewards: [{type: python, name: right, path: reward.py}]
rollout: {prompts_per_step: 4, completions_per_prompt: 2, max_completion_tokens: 16}
limits: {steps: 3}
"""
SWEEP = """
name: ranks
job: job.yaml
parameters: {adapter.rank: [2, 4]}
seeds: 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = "".join(f'{{"prompt": "{n}+1=", "answer": "{n + 1}"}}\n' for n in range(20))
    (tmp_path / "sums.jsonl").write_text(rows)
    (tmp_path / "reward.py").write_text(REWARD)
    (tmp_path / "job.yaml").write_text(JOB)
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(SWEEP)
    return sweep


def test_a_dry_run_lists_the_first_jobs_or_the_problems(run: Cli, backend: Backend, file: Path) -> None:
    before = backend.sql("SELECT count(*) FROM sweep")
    dry = run("sweep", str(file), "--dry-run")
    assert dry.code == 0, dry.err
    assert dry.out.splitlines()[0] == "4 jobs; the first 4:"
    assert dry.out.splitlines()[3].split() == ["1", "rank", "2", "1"]
    file.write_text(SWEEP.replace("[2, 4]", "[2, 0]"))
    refused = run("sweep", str(file), "--dry-run")
    assert refused.code == 2
    assert "(parameters.adapter.rank)" in refused.err
    assert backend.sql("SELECT count(*) FROM sweep") == before


def test_a_file_becomes_a_sweep_that_ends_in_a_comparison(run: Cli, backend: Backend, file: Path) -> None:
    started = run("sweep", str(file))
    assert started.code == 0, started.err
    id = started.out.strip()
    assert f"4 jobs, {backend.url}/sweeps/{id}" in started.err
    assert "Each seed holds out other rows" in started.err
    advance(backend)
    submitted = jobs(backend, id)
    for job, reward in zip(submitted, (0.1, 0.3, 0.8, 0.6), strict=True):
        train(backend, job, reward)
    advance(backend)
    ended = run("sweep", "show", id).out.splitlines()
    assert ended[0] == "ranks: succeeded, 4 of 4 jobs"
    assert [line.split()[:5] for line in ended[2:6]] == [
        ["2", "4", "0", "succeeded", "0.800"], ["3", "4", "1", "succeeded", "0.600"],
        ["1", "2", "1", "succeeded", "0.300"], ["0", "2", "0", "succeeded", "0.100"],
    ]  # fmt: skip
    assert [line.split() for line in ended[7:9]] == [
        ["rank", "4", "0.700", "0.600", "0.800"], ["rank", "2", "0.200", "0.100", "0.300"],
    ]  # fmt: skip
    assert ended[9].startswith(f"best  {submitted[2]}: 0.800 at step 1, adapter adp_")
    first, *others = [submitted[number] for number in (0, 2, 3, 1)]
    assert ended[-1] == f"{backend.url}/compare?jobs={','.join([first, *others])}&group=seeds"
    [listed] = json.loads(run("sweep", "list", "--json").out)
    assert listed["id"] == id
    assert run("sweep", "cancel", id).code == 5
    assert run("sweep", "delete", id).code == 0


def test_waiting_tells_how_to_come_back(run: Cli, file: Path) -> None:
    waited = run("sweep", str(file), "--wait", "--timeout", "0")
    assert (waited.code, "reinforge sweep show sweep_" in waited.err) == (124, True)
    id = json.loads(run("sweep", "list", "--json").out)[0]["id"]
    assert "cancelling" in run("sweep", "cancel", id).err


def test_errors_name_the_file_or_the_parameter(run: Cli, file: Path) -> None:
    file.write_text(SWEEP.replace("adapter.rank", "adapter.ranks"))
    refused = run("sweep", str(file))
    assert (refused.code, "parameters.adapter.ranks" in refused.err) == (2, True), refused.err
    file.write_text("parameters: {}\n")
    assert "needs `job`" in run("sweep", str(file)).err
    assert "There is no file" in run("sweep", "no.yaml").err
    file.write_text(SWEEP.replace("job.yaml", "ftjob-1"))
    assert "the path of a job file" in run("sweep", str(file)).err
    file.write_text(SWEEP + "budget: {seconds: .inf}\n")
    refused = run("sweep", str(file))
    assert (refused.code, "Use finite numbers" in refused.err) == (2, True), refused.err

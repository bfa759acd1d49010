"""A finished job: curves that equal the trainer's own, completions, an adapter that loads."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from reinforge.client import Reinforge
from tests.e2e.conftest import Demo


@pytest.fixture(scope="module")
def job_id(demo: Demo) -> str:
    return str(demo.summary["job_id"])


def test_every_series_equals_the_trainers_own(demo: Demo, client: Reinforge, job_id: str) -> None:
    """Point by point, against the JSONL that the trainer wrote on its own disk."""
    written: dict[tuple[str, str], dict[int, float | None]] = {}
    for path in sorted((demo.home / "runs" / job_id).glob("*/metrics.jsonl")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            for key, value in entry["values"].items():
                if value is not None:
                    written.setdefault((entry["kind"], key), {})[entry["step"]] = value
    served = {
        (series.kind, series.key): {
            s: v for s, v in zip(series.steps, series.values, strict=True) if v is not None
        }
        for series in client.jobs.metrics(job_id).series
    }
    assert served == written
    assert len(served[("train", "reward/mean")]) == 60
    assert min(served[("held_out", "held_out/reward_mean")]) == 0


def test_completions_come_in_groups_whose_advantages_sum_to_zero(client: Reinforge, job_id: str) -> None:
    page = client.jobs.completions(job_id, step=5, limit=200)
    assert page.total == 128
    groups: dict[int, list[Any]] = {}
    for row in page.data:
        groups.setdefault(row.prompt_no, []).append(row)
    assert sorted(groups) == list(range(16))
    for rows in groups.values():
        assert len(rows) == 8
        assert sum(row.advantage for row in rows) == pytest.approx(0, abs=1e-4)
        rewards = {row.reward for row in rows}
        if len(rewards) == 1:
            assert all(row.advantage == 0 for row in rows)


def test_a_completion_has_everything(client: Reinforge, job_id: str) -> None:
    one = client.jobs.completion(job_id, "train", 3, 2, 1)
    assert (
        one.length == len(one.token_ids) == len(one.sampler_logprobs) == len(one.entropies) == len(one.tokens)
    )
    assert one.rewards[0].name == "correct" and one.rewards[0].reason
    assert one.item["answer"] and one.prompt
    assert all(value <= 0 for value in one.sampler_logprobs)


def test_the_adapter_gives_the_log_probabilities_it_was_stored_with(
    demo: Demo, client: Reinforge, job_id: str
) -> None:
    """20 held-out completions of the adapter's step, the best one, recomputed with PEFT alone."""
    base = AutoModelForCausalLM.from_pretrained(demo.summary["base_path"], dtype=torch.float32)
    model = PeftModel.from_pretrained(base, demo.summary["adapter_path"]).eval()
    step = demo.summary["adapter_step"]
    assert step == next(checkpoint.step for checkpoint in client.jobs.checkpoints(job_id) if checkpoint.best)
    rows = client.jobs.completions(job_id, split="held_out", step=step, limit=20).data
    assert len(rows) == 20
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(demo.summary["base_path"])
    for row in rows:
        one = client.jobs.completion(job_id, "held_out", step, row.prompt_no, row.sample_no)
        prompt = tokenizer.apply_chat_template(
            one.prompt_messages, add_generation_prompt=True, return_dict=False
        )
        ids = torch.tensor([[*prompt, *one.token_ids]])
        with torch.no_grad():
            logits = model(ids).logits[0, len(prompt) - 1 : -1].float()
        logprobs = logits.log_softmax(-1).gather(-1, ids[0, len(prompt) :, None])[:, 0]
        assert torch.allclose(logprobs, torch.tensor(one.sampler_logprobs), atol=1e-5)


def test_checkpoints_and_best(client: Reinforge, job_id: str) -> None:
    checkpoints = client.jobs.checkpoints(job_id)
    assert max(c.step for c in checkpoints) == 60
    scored = [c for c in checkpoints if c.held_out_reward is not None]
    best = [c for c in scored if c.best]
    assert len(best) == 1 and best[0].held_out_reward == max(c.held_out_reward for c in scored)


def test_the_command_line_downloads_it(client: Reinforge, job_id: str, tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    from tests.e2e.conftest import KEY

    environment = os.environ | {"REINFORGE_URL": client.base_url, "REINFORGE_API_KEY": KEY}
    command = [sys.executable, "-m", "reinforge.cli.main", "adapter", "download", job_id, "--to", "mine"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert {"adapter_config.json", "adapter_model.safetensors"} <= {p.name for p in folder.iterdir()}

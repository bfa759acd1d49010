"""Objects that the page's tests open: their ids are part of the addresses."""

import json
from typing import Any

from reinforge.client import Reinforge
from reinforge.offline.demo import job_file

# Every kind of field that the form of a grader has.
GRADER: dict[str, Any] = {
    "type": "multi",
    "graders": {
        "exact": {
            "type": "string_check",
            "input": "{{ sample.output_text }}",
            "reference": "{{ item.answer }}",
            "operation": "eq",
        },
        "judged": {
            "type": "score_model",
            "model": "strict",
            "input": [{"role": "user", "content": "How right is {{ sample.output_text }}?"}],
            "sampling_params": {"temperature": 0},
            "range": [0, 10],
        },
        "kind": {"type": "classifier", "model": "/models/kind", "labels": {"kind": 1, "rude": -1}},
        "code": {"type": "python", "source": "def grade(sample, item):\n    return 1.0\n"},
    },
    "calculate_output": "exact + 0.1 * judged + kind + code",
    "gates": {"judged": {"part": "exact", "above": 0.5}},
}
RECEIVER = "localhost"
"""A name of this machine that the platform may send webhooks to; its addresses stay refused."""
SMALL = {"rows": 6, "samples_per_row": 2, "max_tokens": 24}


def make_places(client: Reinforge, demo_job: str) -> dict[str, str]:
    job = client.jobs.get(demo_job)
    data = str(job.dataset)
    reward = client.rewards.push(job_file().parent / "reward.py", name="correct sum")
    grader = client.rewards.push(source=json.dumps(GRADER), name="several graders")
    options = SMALL | {"dataset": data, "reward": reward.id}
    base = client.evaluations.create(model=job.model, name="main", **options)
    trained = client.evaluations.create(adapter=job.adapter, **options)
    # Nobody listens there: its log shows how a try fails.
    webhook = client.webhooks.create(f"http://{RECEIVER}:9/hooks", description="nobody")
    client.webhooks.test(webhook.id)
    for evaluation in (base, trained):
        finished = client.evaluations.wait(evaluation.id, timeout=300)
        assert finished.status == "succeeded", finished.error
    return {
        "job": job.id,
        "dataset": data,
        "reward": reward.id,
        "grader": grader.id,
        "base": base.id,
        "evaluation": trained.id,
        "webhook": webhook.id,
    }

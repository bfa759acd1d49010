"""Pictures of every screen, with the data of real jobs: `make screens`.

Starts a platform of its own in a temporary home, runs the demo job and a shorter one that is replayed, labelled and
looked at before it starts, and has Chromium take pictures at 1440, 1024 and 390 px, light and dark, into `docs/img`.
Takes about eight minutes on two cores.
"""

import argparse
import json
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from reinforge.client import Reinforge
from reinforge.demo import job_file
from reinforge.golden import Expectation, GoldenCase
from reinforge.platform.up import Platform

ROOT = Path(__file__).resolve().parents[1]
FRONTEND = ROOT / "frontend"
ARITHMETIC = job_file().parent
WAIT = 1800
# As many as the page asks for.
LABELS = 31
# Another revision of the reward: half of it for any number between the tags.
PARTIAL = """\
import re


def grade(sample, item):
    \"\"\"1 for the right sum between the last tags, 0.3 for another number there.\"\"\"
    found = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if not found:
        return {"score": 0.0, "reason": "no <answer> found"}
    if found[-1].strip() == str(item["answer"]):
        return {"score": 1.0, "reason": "right"}
    return {"score": 0.3 * found[-1].strip().isdigit(), "reason": f"expected {item['answer']}"}
"""
CASES = [
    GoldenCase(
        item={"answer": "120"}, completion="<answer>120</answer>", expect=Expectation(value=1), note="plain"
    ),
    GoldenCase(
        item={"answer": "120"},
        completion="<answer>121</answer>",
        expect=Expectation(least=0, most=0.5),
        note="another number is worth less than half",
    ),
    GoldenCase(
        item={"answer": "120"}, completion="120", expect=Expectation(value=0), note="the tags are asked for"
    ),
]
GRADER: dict[str, Any] = {
    "type": "multi",
    "graders": {
        "exact": {
            "type": "string_check",
            "input": "{{ sample.output_text }}",
            "reference": "<answer>{{ item.answer }}</answer>",
            "operation": "like",
        },
        "close": {
            "type": "text_similarity",
            "input": "{{ sample.output_text }}",
            "reference": "<answer>{{ item.answer }}</answer>",
            "evaluation_metric": "fuzzy_match",
        },
    },
    "calculate_output": "max(exact, 0.5 * close)",
}


def scored_job(data: str, reward: str) -> dict[str, Any]:
    """The job with a stored reward: what is replayed, labelled, and looked at before it starts."""
    return {
        "name": "Additions, Dr. GRPO",
        "model": "starter-arith",
        "data": {"dataset": data, "columns": {"answer": "answer"}},
        "rewards": [{"name": "correct", "reward": reward, "revision": 1}],
        "algorithm": {"preset": "dr_grpo"},
        "rollout": {"prompts_per_step": 8, "completions_per_prompt": 8, "max_completion_tokens": 56},
        "optimizer": {"learning_rate": 6e-4},
        "limits": {"steps": 20, "checkpoint_every": 10},
    }


def prepare(client: Reinforge, api: httpx.Client) -> dict[str, str]:
    """Ids that the addresses of the screens are made of, once everything that they show is there."""
    demo = client.jobs.start_demo()
    data = client.datasets.push(ARITHMETIC / "additions.jsonl")
    reward = client.rewards.push(ARITHMETIC / "reward.py", name="correct sum")
    spec = scored_job(data.id, reward.id)
    scored = client.jobs.create(spec)
    for job in (demo, scored):
        status = client.jobs.wait(job.id, timeout=WAIT).status
        if status != "succeeded":
            raise SystemExit(f"{job.id} is {status}: no pictures")
    client.judges.add("strict", base_url="https://judge.example/v1", model="judge-large", input_price=0.4)
    client.rewards.push(source=PARTIAL, name="correct sum")
    client.rewards.add_golden_cases(reward.id, CASES)
    grader = client.rewards.push(source=json.dumps(GRADER, indent=2), name="exact or close")
    replay = client.evaluations.replay(scored.id, reward="correct", stored=reward.id, revision=2)
    client.evaluations.wait(replay.id, timeout=WAIT)
    # As the form has it that starts from the job.
    again = client.jobs.get(scored.id).spec | {"name": f"{spec['name']} (again)"}
    preflight = client.preflights.create(again)
    client.preflights.wait(preflight.id, timeout=WAIT)
    label(api, scored.id)
    return {
        "job": demo.id,
        "scored": scored.id,
        "reward": reward.id,
        "grader": grader.id,
        "replay": replay.id,
        "preflight": preflight.id,
    }


def label(api: httpx.Client, job: str) -> None:
    """Labels of a person who agrees with the reward except at every ninth completion."""
    places = api.get(f"jobs/{job}/calibration").raise_for_status().json()["unlabelled"]
    labels = []
    for number, place in enumerate(places[:LABELS]):
        where = f"{place['split']}/{place['step']}/{place['prompt_no']}/{place['sample_no']}"
        completion = api.get(f"jobs/{job}/completions/{where}").raise_for_status().json()
        labels.append({**place, "right": (completion["reward"] > 0.5) != (number % 9 == 4)})
    api.post(f"jobs/{job}/labels", json={"labels": labels}).raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "img")
    parser.add_argument("options", nargs="*", help="passed on to frontend/e2e/screens.mjs, after --")
    arguments = parser.parse_args()
    key = f"rf-{secrets.token_urlsafe(24)}"
    with (
        tempfile.TemporaryDirectory() as home,
        Platform(Path(home), port=0, bootstrap_api_key=key, say=print) as platform,
    ):
        with Reinforge(platform.url, key) as client:
            print("training the demo job and a second one", flush=True)
            headers = {"authorization": f"Bearer {key}"}
            with httpx.Client(base_url=f"{platform.url}/api/v1/", headers=headers, timeout=120) as api:
                places = prepare(client, api)
        command = ["node", "e2e/screens.mjs", "--url", platform.url, "--key", key]
        command += ["--places", json.dumps(places)]
        out = ["--out", str(arguments.out.resolve())]
        done = subprocess.run([*command, *out, *arguments.options], cwd=FRONTEND, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

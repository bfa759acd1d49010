"""What the pictures of `scripts/screens.py` show: real jobs, evaluations, a deployment, people, webhooks."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from reinforge.client import Reinforge
from reinforge.evaluation.golden import Expectation, GoldenCase
from reinforge.offline.demo import job_file

ARITHMETIC = job_file().parent
WAIT = 1800
RECEIVER_HOST = "127.0.0.1"
"""Of the receiver of webhooks; the platform is configured to allow its address."""
FORKED = {"optimizer.learning_rate": 3e-4}
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


class _Receiver(BaseHTTPRequestHandler):
    """Receives webhooks: `/hooks` takes them, anything else answers 503."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(204 if self.path == "/hooks" else 503)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def receiver() -> Iterator[str]:
    """Address of a server that webhooks are sent to, on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{RECEIVER_HOST}:{server.server_port}"
    finally:
        server.shutdown()


def prepare(client: Reinforge, api: httpx.Client, hooks: str) -> dict[str, str]:
    """Ids that the addresses of the screens are made of, once everything that they show is there.

    Jobs train one after the other; what the calls worker does runs beside them. hooks: address of the receiver.
    """
    webhook = client.webhooks.create(f"{hooks}/hooks", description="training log")
    client.webhooks.create(f"{hooks}/away", events=["fine_tuning.job.failed"], description="pager")
    demo = client.jobs.start_demo()
    data = client.datasets.push(ARITHMETIC / "additions.jsonl")
    reward = client.rewards.push(ARITHMETIC / "reward.py", name="correct sum")
    spec = scored_job(data.id, reward.id)
    scored = client.jobs.create(spec)
    base = evaluation(client, data.id, reward.id, model="starter-arith", name="main")
    client.judges.add("strict", base_url="https://judge.example/v1", model="judge-large", input_price=0.4)
    client.rewards.push(source=PARTIAL, name="correct sum")
    client.rewards.add_golden_cases(reward.id, CASES)
    grader = client.rewards.push(source=json.dumps(GRADER, indent=2), name="exact or close")
    people(client, api)
    finished(client, demo.id, scored.id)
    fork = client.jobs.fork(scored.id, step=10, name="Additions, half the rate", set=FORKED)
    # As the form has it that starts from the job.
    again = client.jobs.get(scored.id).spec | {"name": f"{spec['name']} (again)"}
    preflight = client.preflights.create(again)
    adapter = client.jobs.get(scored.id).adapter
    adapted = evaluation(client, data.id, reward.id, adapter=adapter)
    replay = client.evaluations.replay(scored.id, reward="correct", stored=reward.id, revision=2)
    label(api, scored.id)
    deployed = deployment(client, api, scored.id)
    for one in (base, adapted, replay.id):
        client.evaluations.wait(one, timeout=WAIT)
    client.preflights.wait(preflight.id, timeout=WAIT)
    finished(client, fork.id)
    return {
        "job": demo.id,
        "scored": scored.id,
        "reward": reward.id,
        "grader": grader.id,
        "replay": replay.id,
        "preflight": preflight.id,
        "webhook": webhook.id,
        "base": base,
        "evaluation": adapted,
        "deployment": deployed,
        "paused": paused(client, spec),
    }


def finished(client: Reinforge, *jobs: str) -> None:
    for job in jobs:
        status = client.jobs.wait(job, timeout=WAIT).status
        if status != "succeeded":
            raise SystemExit(f"{job} is {status}: no pictures")


def paused(client: Reinforge, spec: dict[str, Any]) -> str:
    """A job in its middle, with a setting that was changed while it ran."""
    limits = spec["limits"] | {"steps": 200}
    job = client.jobs.create(spec | {"name": "Additions, in the middle", "limits": limits}).id
    until(lambda: client.jobs.get(job).progress.step >= 4)
    client.jobs.change_setting(job, "optimizer.learning_rate", 3e-4)
    until(lambda: client.jobs.get(job).progress.step >= 9)
    client.jobs.pause(job)
    until(lambda: client.jobs.get(job).status == "paused")
    return job


def until(done: Callable[[], bool]) -> None:
    """Wait. Raises TimeoutError."""
    end = time.monotonic() + WAIT
    while not done():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.5)


def evaluation(client: Reinforge, data: str, reward: str, **policy: Any) -> str:
    """Start an evaluation of a base model or an adapter; all of them are on the same rows."""
    rows: dict[str, Any] = {"rows": 60, "samples_per_row": 4, "max_tokens": 56}
    return client.evaluations.create(dataset=data, reward=reward, revision=1, **rows, **policy).id


def deployment(client: Reinforge, api: httpx.Client, job: str) -> str:
    """A name that has answered some requests."""
    name = "adder"
    client.deployments.create(name, adapter=client.jobs.get(job).adapter)
    client.deployments.wait(name, timeout=WAIT)
    client.deployments.create("adder-next", model="starter-arith")
    client.deployments.wait("adder-next", timeout=WAIT)
    for number in range(5):
        messages = [{"role": "user", "content": f"{number + 1}7+{number}5="}]
        answer = api.post(
            f"{client.base_url}/v1/chat/completions", json={"model": name, "messages": messages}
        )
        if answer.is_error:
            raise SystemExit(f"{name} does not answer: {answer.text}")
    client.deployments.stop("adder-next")
    return name


def people(client: Reinforge, api: httpx.Client) -> None:
    for name, role in (("Ada", "owner"), ("Grace", "editor"), ("Vera", "viewer")):
        api.post("members", json={"name": name, "role": role}).raise_for_status()
    client.members.invite("editor", "Linus, evaluation team")
    client.members.invite("viewer", "the auditors")
    client.keys.create("ci", "editor", scopes=["read", "jobs:write"], expires_in_days=90)
    client.keys.create("chat frontend", "editor", scopes=["inference"], expires_in_days=14)
    client.usage.set_budget("device_seconds", 36_000)
    client.usage.set_budget("storage_bytes", 5e9, "total")


def label(api: httpx.Client, job: str) -> None:
    """Labels of a person who agrees with the reward except at every ninth completion."""
    places = api.get(f"jobs/{job}/calibration").raise_for_status().json()["unlabelled"]
    labels = []
    for number, place in enumerate(places[:LABELS]):
        where = f"{place['split']}/{place['step']}/{place['prompt_no']}/{place['sample_no']}"
        completion = api.get(f"jobs/{job}/completions/{where}").raise_for_status().json()
        labels.append({**place, "right": (completion["reward"] > 0.5) != (number % 9 == 4)})
    api.post(f"jobs/{job}/labels", json={"labels": labels}).raise_for_status()

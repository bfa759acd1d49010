"""One successful request of every operation, so that a recorder sees it."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.backend.agents.rollouts import HELLO, agent_trainer, answer, offer, take, work
from tests.backend.evaluations.sampler import sampler
from tests.backend.jobs.lifecycle.test_fork import trained
from tests.backend.openai.requests import body as job_body
from tests.backend.people import browser, sign_in, starter, token_of
from tests.backend.server import OWNER_KEY, REWARD, Backend, wait_until
from tests.backend.tenancy import Operation, Stranger, operations

GRADER = {"type": "string_check", "name": "same", "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}",
          "operation": "eq"}  # fmt: skip
TOOLS = {"type": "python", "source": 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'}
LAST = ("cancel", "delete", "remove", "revoke", "withdraw", "stop", "signOut", "end")
BODIES: dict[str, Any] = {
    "testReward": {"rows": [{"completion": "4", "item": {"answer": "4"}}]},
    "testRewardSource": {"source": REWARD, "rows": [{"completion": "4", "item": {"answer": "4"}}]},
    "attackReward": {"rows": [{"prompt": "2+2", "item": {"answer": "4"}}]},
    "attackRewardSource": {"source": REWARD, "rows": [{"prompt": "2+2", "item": {"answer": "4"}}]},
    "checkRewardSource": {"source": REWARD},
    "checkTools": {"sources": [TOOLS]},
    "runTools": {
        "environment": {"type": "tools", "sources": [TOOLS]},
        "calls": [{"name": "add", "arguments": '{"a": 2, "b": 2}'}],
    },
    "createKey": {"name": "nightly evaluation", "role": "viewer"},
    "createApiKey": {"name": "nightly evaluation", "role": "viewer"},
    "createModel": {"id": "qwen-small", "source": "hub:Qwen/Qwen3-0.6B@main"},
    "createReward": {"name": "right", "source": REWARD},
    "createMember": {"name": "Ada"},
    "createInvitation": {"note": "for Grace"},
    "setBudget": {"kind": "device_seconds", "period": "month", "amount": 36000},
    "validateGrader": {"grader": GRADER},
    "runGrader": {"grader": GRADER, "model_sample": "4", "item": {"answer": "4"}},
    "changeJudge": {"input_price": 0.4},
    "createTracker": {
        "name": "team",
        "kind": "mlflow",
        "url": "http://93.184.215.14/mlflow",
        "destination": "sums",
        "every_job": True,
    },
    "changeTracker": {"every_job": True},
    "changeWebhook": {"description": "Tells the team"},
    "updateDataset": {"name": "Sums"},
    "updateJob": {"notes": "Learning rate too **high**.", "add_tags": ["ablation"]},
    "renameProject": {"name": "zebra two"},
    "updateMember": {"role": "viewer"},
    "createTraceDataset": {"min_reward": 0.9, "name": "solved sums"},
    "createDeployment": {"name": "sums-try", "model": "tiny"},
    "changeDeployment": {"model": "tiny"},
}

_FORM = {"purpose": "fine-tune", "file": "(the bytes of sums.jsonl)"}
_ADAPTER = {
    "config": "(the text of adapter_config.json)", "model": "tiny", "name": "Sums",
    "weights": "(the bytes of adapter_model.safetensors)",
}  # fmt: skip
BY_HAND: dict[str, Any] = {
    "createDataset": {"form": {"file": "(the bytes of sums.jsonl)", "name": "Sums"}},
    "createFile": {"form": _FORM},
    "uploadAdapter": {"form": _ADAPTER},
    "createUploadPart": {"form": {"data": "(the bytes of the part)"}},
    "sample": {
        "response": {
            "status": "200",
            "body": {"type": "delta", "prompt": 0, "sample": 0, "text": "2", "tokens": 1},
        }
    },
    "transferApiKey": {
        "response": {
            "status": "200",
            "body": {
                "created_at": "2026-11-22T19:48:00.730996Z",
                "created_by": "owner",
                "expires_at": None,
                "id": "key_n91boy9wn2l5xwjbkbghhgxt",
                "last_used_at": None,
                "name": "sums",
                "object": "api_key",
                "prefix": "rf-ayE",
                "role": "editor",
                "scopes": None,
                "maker": "user_5k2m8q4v7x1z3b6n9p0r2t4w",
            },
        }
    },
    "sendEmailConfirmation": {
        "response": {
            "status": "202",
            "body": {
                "available": True,
                "confirmation": "pending",
                "confirmed": False,
                "email": "grace@example.org",
                "etag": "7d1f0f5c2f0b4c63b1d1b9a6c1d20e4a",
                "events": [],
                "object": "notifications",
            },
        }
    },
    "createDatasetUploadPartUrl": {
        "response": {
            "status": "200",
            "body": {
                "url": "https://bucket.s3.example.org/uploads/upload_1?partNumber=1&X-Amz-Signature=EXAMPLE",
                "headers": {"x-amz-checksum-sha256": "pY0Xy2Zr0a1cW3vF8nq0S1m2b3c4d5e6f7g8h9i0j1k="},
                "expires_at": "2026-11-22T09:00:00Z",
            },
        }
    },
}
"""Forms, one event of a stream, and what only a bucket's store answers."""


def score(payload: dict[str, Any]) -> dict[str, Any]:
    one = {"name": payload["name"], "status": "ok", "value": 1.0, "wall_ms": 0.4, "cpu_ms": 0.3}
    return {"jail": "L", "results": [one] * len(payload["rows"]), "load_error": None}


def run_tools(payload: dict[str, Any]) -> dict[str, Any]:
    [call] = payload["run"]["calls"]
    result = {"id": "call_0", **call, "status": "ok", "result": "4", "milliseconds": 0.6}
    arguments = json.loads(call["arguments"])
    past = {"source": 0, "name": call["name"], "arguments": arguments, "status": "ok", "text": "4"}
    return {"jail": "L", "calls": [result], "state": "{}", "history": [past]}


def make_all(backend: Backend, examples: dict[str, dict[str, Any]]) -> None:
    with backend.rpc_worker(score=score, run_tools=run_tools):
        people(backend)
        other = Stranger(backend)
        things(backend)
        on_openais_wire(backend, other)
        jobs(backend)
        agents(backend)
    with backend.rpc_worker(score=score, run_tools=run_tools):
        todo = [operation for operation in operations(backend) if operation.id not in examples]
        order = sorted(
            todo,
            key=lambda operation: (
                operation.id.startswith(LAST),
                operation.method != "get",
                operation.id == "deleteProject",
            ),
        )
        for operation in order:
            if operation.id in examples or operation.path.endswith("/stream"):
                continue
            try:
                answer = ask(other, operation)
            except (KeyError, httpx.HTTPError) as error:
                print("not asked:", operation.id, repr(error))
                continue
            if answer.status_code >= 300:
                "no", operation.id, answer.status_code, answer
        backend.bare.get("/healthz")
        backend.bare.get("/readyz")
        other.api.close()
        other.us.close()
    for id, example in BY_HAND.items():
        examples.setdefault(id, {}).update(example)
    print("no example:", sorted(set(all_ids(backend)) - set(examples)))


def all_ids(backend: Backend) -> list[str]:
    return [spec["operationId"] for item in backend.app.openapi()["paths"].values() for spec in item.values()]


def ask(other: Stranger, operation: Operation) -> httpx.Response:
    if operation.id in BODIES:
        url = other.backend.url + other.url(operation)
        return other.api.request(
            operation.method.upper(),
            url,
            json=BODIES[operation.id],
            headers={"if-match": "*"} if operation.id != "setBudget" else {},
        )
    return other.ask(operation, other.api)


def people(backend: Backend) -> None:
    with starter(backend) as owner:
        owner.patch(
            "/me",
            headers={"if-match": "*"},
            json={"name": "Ada", "email": "ada@example.org", "password": "correct horse battery"},
        )
        owner.get("/me")
        link = owner.post("/sign-in-links").json()["url"]
        made = owner.post("/invitations", json={"role": "editor", "note": "for Grace"}).json()
        with browser(backend) as grace:
            grace.post("/invitations/look", json={"token": token_of(made["url"])})
            grace.post(
                "/invitations/accept",
                json={
                    "token": token_of(made["url"]),
                    "name": "Grace",
                    "email": "grace@example.org",
                    "password": "another long one",
                },
            )
            member = next(
                member for member in owner.get("/members").json()["data"] if member["name"] == "Grace"
            )
            reset = owner.post(f"/members/{member['id']}/password-reset").json()["url"]
            grace.post("/password-reset", json={"token": token_of(reset), "password": "a third long one"})
            grace.get("/me/sessions")
            grace.get("/me/notifications")
            grace.patch("/me/notifications", json={"events": []}, headers={"if-match": "*"})
            with browser(backend) as elsewhere:
                elsewhere.post(
                    "/sign-in", json={"email": "grace@example.org", "password": "a third long one"}
                )
                sessions = elsewhere.get("/me/sessions").json()["data"]
                grace.delete(
                    f"/me/sessions/{next(session['id'] for session in sessions if session['current'])}"
                )
            grace.post("/sign-out")
        with sign_in(backend, link) as again:
            project = again.get("/project").json()["id"]
            again.post(f"/projects/{project}/switch")


def things(backend: Backend) -> None:
    """Of the first project: models, uploads, deployments that stop, evaluations, completions asked for."""
    api = backend.api
    second = api.post("/projects", json={"name": "Second project"}).json()["id"]
    api.request("DELETE", f"/projects/{second}", json={"name": "Second project"})
    api.get(f"/models/{backend.add_model()}")
    backend.add_model("unused", project=api.get("/me").json()["project"])
    api.post("/models/unused/share")
    api.delete("/models/unused")
    api.delete(f"/datasets/{backend.add_dataset()}")
    content = b'{"prompt": "1+1=", "answer": "2"}\n'
    upload = api.post("/uploads", json={"filename": "sums.jsonl", "bytes": len(content)}).json()
    digest = hashlib.sha256(content).hexdigest()
    api.put(f"/uploads/{upload['id']}/parts/1", content=content, params={"sha256": digest})
    api.post(f"/uploads/{upload['id']}/complete")
    api.post("/deployments", json={"name": "short", "model": "tiny"})
    api.post("/deployments/short/stop")
    api.delete("/deployments/short")
    config = '{"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}'
    api.post(
        "/adapters",
        files={"weights": ("adapter_model.safetensors", b"weights")},
        data={"model": "tiny", "name": "Sums", "config": config},
    )
    with sampler(backend, lambda prompt, sample: "2"):
        rows = [{"prompt": "1+1=", "answer": "2"}]
        body = {
            "kind": "stand_alone",
            "model": "tiny",
            "dataset": backend.add_dataset(rows),
            "source": REWARD,
        }
        made = api.post("/evaluations", json=body | {"name": "main"}).json()
        wait_until(
            lambda: api.get(f"/evaluations/{made['id']}").json()["status"] != "running", "the evaluation"
        )
        backend.sql("UPDATE evaluation SET status = 'cancelled' WHERE id = %s", made["id"])
        api.post(f"/evaluations/{made['id']}/resume")
        messages = [{"role": "user", "content": "1+1="}]
        api.post("/sample", json={"model": "tiny", "prompts": [messages], "samples_per_prompt": 2})
        with backend.client(OWNER_KEY, "/v1") as wire:
            chat = {"model": "tiny", "messages": messages, "max_tokens": 16}
            wire.post("/chat/completions", json=chat)
            wire.post("/chat/completions", json=chat | {"stream": True})


def on_openais_wire(backend: Backend, other: Stranger) -> None:
    with backend.client(OWNER_KEY, "/v1") as wire:
        rows = b'{"messages": [{"role": "user", "content": "1+1="}], "answer": "2"}\n' * 4
        file = wire.post(
            "/files", data={"purpose": "fine-tune"}, files={"file": ("sums.jsonl", rows)}
        ).json()["id"]
        body = {
            "filename": "sums.jsonl",
            "bytes": len(rows),
            "purpose": "fine-tune",
            "mime_type": "application/jsonl",
        }
        upload = wire.post("/uploads", json=body).json()["id"]
        part = wire.post(f"/uploads/{upload}/parts", files={"data": ("part", rows)}).json()["id"]
        wire.post(f"/uploads/{upload}/complete", json={"part_ids": [part]})
        job = wire.post("/fine_tuning/jobs", json=job_body(backend, training_file=file)).json()["id"]
        trainer = backend.claim(job)
        trainer.start()
        trainer.step(1)
        trainer.checkpoint(1)
        wire.post(f"/fine_tuning/jobs/{job}/pause")
        commands = trainer.heartbeat().json()["commands"]
        trainer.heartbeat(*(command["id"] for command in commands))
        trainer.end("paused")
        wire.post(f"/fine_tuning/jobs/{job}/resume")
        wire.post(f"/fine_tuning/jobs/{job}/cancel")
        checkpoint = wire.get(f"/fine_tuning/jobs/{job}/checkpoints").json()["data"][0][
            "fine_tuned_model_checkpoint"
        ]
        shared = wire.post(
            f"/fine_tuning/checkpoints/{checkpoint}/permissions", json={"project_ids": [other.project]}
        )
        shared
        spare = wire.post(
            "/files", data={"purpose": "fine-tune"}, files={"file": ("spare.jsonl", rows)}
        ).json()["id"]
        wire.delete(f"/files/{spare}")


def agents(backend: Backend) -> None:
    """What a trainer, a runner and a program send about a rollout."""
    trainer = agent_trainer(backend)
    offer(trainer)
    [task] = take(backend, trainer)
    backend.api.get(f"/jobs/{trainer.claimed['job']}/rollouts")
    with backend.client(task["api_key"], "/v1/rollout") as program, ThreadPoolExecutor(1) as pool:
        program.post("/heartbeat")
        responses = {"model": "policy", "input": "hello"}
        for path, body in (("/chat/completions", HELLO), ("/responses", responses)):
            for stream in (False, True):
                asking = pool.submit(program.post, path, json=body | {"stream": stream})
                [call] = work(trainer)["calls"]
                answer(trainer, call["id"])
                asking.result(20)
        program.post("/end", json={"reward": 1.0})
    trainer.client.post("/rollouts/close", json={"attempt": trainer.attempt})
    trainer.end("failed", reason="example_over")


def jobs(backend: Backend) -> None:
    """What is asked of a job while it runs."""
    job, trainer = trained(backend)
    api = backend.api
    spec = backend.job(job)["spec"]
    api.post("/jobs/defaults", json={"model": spec["model"], "data": spec["data"]})
    change = {"type": "setting", "setting": "optimizer.learning_rate", "value": 1e-5}
    api.post(f"/jobs/{job}/changes", json=change)
    api.post(f"/jobs/{job}/checkpoint")
    fork = api.post(f"/jobs/{job}/fork", json={"step": 4, "name": "other way"}).json()["id"]
    both = {"job": [job, fork]}
    api.get("/compare", params=both | {"group": "algorithm.preset"})
    api.get("/compare/curves", params=both | {"key": ["reward/mean"]})
    for prompt in api.get("/compare/prompts", params=both).json()["data"]:
        api.get("/compare/completions", params=both | {"prompt_hash": prompt["prompt_hash"]})
    api.post(f"/jobs/{job}/pause")
    trainer.heartbeat(*(command["id"] for command in trainer.heartbeat().json()["commands"]))
    trainer.end("paused")
    api.post(f"/jobs/{job}/resume")
    api.post(f"/jobs/{job}/cancel")
    backend.get_blob(backend.add_object(b"something"))
    with api.stream("GET", f"/jobs/{job}/stream") as events:
        next(events.iter_lines())

"""A stand-in for the API, for looking at the page without a platform: `python dev/mock_api.py --port 8399`.

It speaks the shapes of `reinforge.schemas`; nothing is stored. Sign in with any token of eight characters.
One job of every state exists. It serves the built page too, as the API does. Not part of the product.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Header, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from mock_bodies import ADAPTER, DATASETS, JOBS, MODEL, REWARDS, STARTED, detail, page, refuse
from mock_data import GROUP, PROMPTS, MockJob, group, held_out_values, train_values
from mock_trust import router as trust

from reinforge.metrics import METRICS
from reinforge.spec import JobSpec

STATIC = Path(__file__).parents[1] / "dist"

app = FastAPI()
# Before the rooms' lists, which would take `/evaluations` for one of theirs.
app.include_router(trust)


@app.middleware("http")
async def signed_in(request: Request, call_next: Any) -> Any:
    path = request.url.path
    if path.startswith("/api/v1/") and path != "/api/v1/sign-in" and "session" not in str(request.cookies):
        return refuse(401, "Sign in first.", code="invalid_api_key")
    return await call_next(request)


@app.post("/api/v1/sign-in")
async def sign_in(body: dict[str, str]) -> Any:
    if body["token"].startswith("bad"):
        return refuse(
            401, "This sign-in link was already used.", hint="Run `reinforge up` again to get a new one."
        )
    answer = JSONResponse({"ok": True})
    answer.set_cookie("reinforge_session", "mock-session", httponly=True)
    return answer


@app.post("/api/v1/sign-out")
async def sign_out() -> Any:
    answer = JSONResponse({})
    answer.delete_cookie("reinforge_session")
    return answer


@app.get("/api/v1/{room}")
async def listing(room: str, status: str | None = None) -> Any:
    match room:
        case "me":
            return {
                "object": "me",
                "key": "key_1",
                "name": "Ada",
                "role": "owner",
                "project": "default",
                "project_name": "arithmetic",
                "version": "0.1.0",
            }
        case "jobs":
            return page([job.body() for job in JOBS.values() if status in (None, job.status)])
        case "datasets":
            return page(list(DATASETS.values()))
        case "rewards":
            return page(list(REWARDS.values()))
        case "models":
            return page([MODEL])
        case "adapters":
            return page([ADAPTER])
        case "workers":
            return page(
                [
                    {
                        "object": "worker",
                        "id": f"wrk_{kind}",
                        "kind": kind,
                        "hostname": "box",
                        "online": True,
                        "jail": "namespaces",
                        "jail_reasons": [],
                        "device": "cpu, 2 cores",
                        "version": "0.1.0",
                        "last_seen_at": STARTED,
                        "job": None,
                    }
                    for kind in ("trainer", "calls")
                ]
            )
        case "meta":
            return {
                "version": "0.1.0",
                "metrics": [vars(metric) for metric in METRICS.values()],
                "presets": {},
                "job_spec": JobSpec.model_json_schema(),
            }
    return refuse(404, "No such thing.")


@app.post("/api/v1/datasets")
async def upload(file: UploadFile) -> Any:
    body = await file.read()
    if b"bad" in body or not body:
        return refuse(
            422,
            "2 rows cannot be read.",
            param="file",
            hint="Correct the lines and upload the file again.",
            errors=[
                {
                    "line": 3,
                    "column": 27,
                    "message": "The JSON ends inside a string.",
                    "text": '{"messages": [{"role": "user',
                },
                {
                    "line": 8,
                    "column": 1,
                    "message": "Column `answer` is a list here and text above.",
                    "text": '{"messages": [], "answer": []}',
                },
            ],
        )
    new = {**DATASETS["file-additions"], "id": f"file-{len(DATASETS)}", "name": file.filename, "jobs": 0}
    DATASETS[new["id"]] = new
    return JSONResponse(new, 201)


@app.get("/api/v1/datasets/{id}")
async def dataset(id: str) -> Any:
    return DATASETS.get(id) or refuse(404, "There is no such dataset.")


@app.get("/api/v1/datasets/{id}/rows")
async def rows(id: str, offset: int = 0, limit: int = 50) -> Any:
    data = [group(i // PROMPTS, "train", i % PROMPTS)[0] for i in range(offset, min(400, offset + limit))]
    return {
        "object": "list",
        "data": [{"messages": row["prompt_messages"], **row["item"]} for row in data],
        "offset": offset,
        "total": 400,
    }


@app.post("/api/v1/rewards")
async def create_reward(body: dict[str, Any]) -> Any:
    if "def " not in body["source"]:
        return refuse(
            422,
            "The source defines nothing callable.",
            param="source",
            hint="Define `def grade(sample, item)`.",
        )
    new = {**REWARDS["rew_demo"], "id": f"rew_{len(REWARDS)}", "name": body["name"]}
    REWARDS[new["id"]] = new
    return JSONResponse(new, 201)


@app.get("/api/v1/rewards/{id}")
async def reward(id: str) -> Any:
    return REWARDS.get(id) or refuse(404, "There is no such reward.")


@app.post("/api/v1/rewards/{id}/revisions")
async def revise(id: str, body: dict[str, Any]) -> Any:
    return REWARDS[id]


@app.get("/api/v1/models/{id}")
async def model(id: str) -> Any:
    return MODEL


@app.post("/api/v1/models")
async def add_model(body: dict[str, Any]) -> Any:
    return refuse(422, f"There is no folder {body['source']} on the worker.", param="source")


@app.post("/api/v1/jobs")
async def create_job(body: dict[str, Any]) -> Any:
    if body["rollout"]["completions_per_prompt"] < 2:
        return refuse(
            422,
            "Needs at least 2 completions per prompt.",
            param="rollout.completions_per_prompt",
            hint="With one completion there is nothing to compare.",
        )
    job = MockJob(
        f"ftjob-{len(JOBS)}", body.get("name") or "Untitled", "running", steps=body["limits"]["steps"]
    )
    JOBS[job.id] = job
    return JSONResponse(detail(job), 201)


@app.get("/api/v1/jobs/{id}")
async def one_job(id: str) -> Any:
    return detail(JOBS[id]) if id in JOBS else refuse(404, "There is no such job.", code="not_found")


@app.post("/api/v1/jobs/{id}/cancel")
async def cancel(id: str) -> Any:
    job = JOBS[id]
    job.done, job.status, job.ended = job.step(), "cancelled", time.time()
    return detail(job)


@app.get("/api/v1/jobs/{id}/metrics")
async def metrics(id: str) -> Any:
    job = JOBS[id]
    job.step()
    step = job.step()
    steps, evaluated = list(range(1, step + 1)), job.evaluated() if step else []
    points = {
        "train": (steps, [train_values(s, job.seed) for s in steps]),
        "held_out": (evaluated, [held_out_values(s, job.seed) for s in evaluated]),
    }
    series = [
        {
            "key": key,
            "kind": kind,
            "steps": at,
            "values": [row[key] for row in values],
            "ts": [job.started + s * job.seconds_per_step for s in at],
        }
        for kind, (at, values) in points.items()
        if values
        for key in values[0]
    ]
    return {"object": "metrics", "job": id, "seq": step * 10, "series": series}


@app.get("/api/v1/jobs/{id}/stream")
async def stream(id: str, after: int = 0, last_event_id: str = Header(default="")) -> Any:
    job = JOBS[id]
    cursor = int(last_event_id.rsplit(":", 1)[-1]) if last_event_id else after

    async def frames() -> Any:
        sent = cursor // 10
        yield ": hello\n\n"
        while True:
            step = job.step()
            events: list[dict[str, Any]] = []
            for s in range(sent + 1, step + 1):
                values = {"step": s, "kind": "train", "values": train_values(s, job.seed), "ts": time.time()}
                events += [{"seq": s * 10 - 5, "job": id, "type": "metrics", "data": values}]
                if s % 10 == 0:
                    values = {
                        "step": s,
                        "kind": "held_out",
                        "values": held_out_values(s, job.seed),
                        "ts": time.time(),
                    }
                    events += [{"seq": s * 10 - 3, "job": id, "type": "metrics", "data": values}]
                done = {"step": s, "split": "train", "count": PROMPTS * GROUP}
                events += [
                    {"seq": s * 10 - 1, "job": id, "type": "completions", "data": done},
                    {
                        "seq": s * 10,
                        "job": id,
                        "type": "status",
                        "data": json.loads(json.dumps(job.body(), default=lambda t: t.isoformat())),
                    },
                ]
            if events:
                sent = step
                body = json.dumps({"seq": step * 10, "events": events})
                yield f"id: {id}:{step * 10}\nevent: batch\ndata: {body}\n\n"
            if job.status in ("succeeded", "failed", "cancelled"):
                return
            await asyncio.sleep(0.5)

    return StreamingResponse(frames(), media_type="text/event-stream")


def sampled(id: str, split: str) -> list[int]:
    job = JOBS[id]
    return list(range(1, job.step() + 1)) if split == "train" else job.evaluated()


@app.get("/api/v1/jobs/{id}/groups")
async def groups(id: str, step: int | None = None, split: str = "train") -> Any:
    steps = sampled(id, split)
    step = steps[-1] if step is None and steps else step
    heads = []
    for rows in (group(step, split, n) for n in range(PROMPTS)) if step in steps else ():
        head = {key: rows[0][key] for key in ("prompt_no", "prompt_hash", "row_index", "prompt")}
        heads.append({**head, "rewards": [row["reward"] for row in rows]})
    return {"object": "list", "data": heads, "step": step, "steps": steps}


@app.get("/api/v1/jobs/{id}/groups/{split}/{step}/{prompt_no}")
async def one_group(id: str, split: str, step: int, prompt_no: int) -> Any:
    rows = group(step, split, prompt_no)
    return {**rows[0], "object": "group", "completions": rows, "steps": sampled(id, split)}


@app.get("/api/v1/jobs/{id}/completions/search")
async def search(id: str, q: str = "", split: str = "train", prompt_hash: str | None = None) -> Any:
    rows = [row for s in sampled(id, split) for n in range(PROMPTS) for row in group(s, split, n)]
    hits = [row for row in rows if q in row["text"] and prompt_hash in (None, row["prompt_hash"])]
    return {"object": "list", "data": hits[:1000], "total": len(hits), "counted_to": 10_000}


@app.get("/api/v1/jobs/{id}/completions/{split}/{step}/{prompt_no}/{sample_no}")
async def one_completion(id: str, split: str, step: int, prompt_no: int, sample_no: int) -> Any:
    return group(step, split, prompt_no)[sample_no]


@app.get("/api/v1/jobs/{id}/checkpoints")
async def checkpoints(id: str) -> Any:
    job = JOBS[id]
    at = [s for s in job.evaluated() if s]
    return page(
        [
            {
                "object": "checkpoint",
                "id": f"ftckpt_{s}",
                "job": id,
                "step": s,
                "bytes": 312_000,
                "held_out_reward": held_out_values(s, job.seed)["held_out/reward_mean"],
                "best": s == at[-1],
                "final": s == job.steps,
                "adapter": "adp_demo" if s == job.steps else None,
                "created_at": STARTED,
            }
            for s in reversed(at)
        ]
    )


@app.get("/api/v1/jobs/{id}/logs")
async def logs(id: str, after: int = 0) -> Any:
    job = JOBS[id]
    lines = (
        ["info", "Loaded starter-arith: 1.05 M parameters, 78 k trainable."],
        ["warning", "3 rows appear twice."],
    )
    steps = [
        ["info", f"step {s}: reward {train_values(s, job.seed)['reward/mean']:.3f}"]
        for s in range(1, job.step() + 1)
    ]
    return page(
        [
            {"seq": n, "ts": job.started + n, "level": level, "message": text, "step": n, "attempt": 1}
            for n, (level, text) in enumerate([*lines, *steps], 1)
            if n > after
        ]
    )


@app.get("/api/v1/jobs/{id}/findings")
async def findings(id: str) -> Any:
    if JOBS[id].step() < 22:
        return page([])
    return page(
        [
            {
                "code": "groups_solved",
                "severity": "warning",
                "step": 22,
                "evidence": {},
                "message": "62 % of groups are all right since step 22, so they teach nothing.",
                "hint": "Harder rows would use the time better.",
            }
        ]
    )


@app.get("/api/v1/adapters/{id}/download")
async def download(id: str) -> Any:
    return PlainTextResponse(
        "adapter", headers={"content-disposition": "attachment; filename=adapter.tar.gz"}
    )


@app.get("/{path:path}")
async def built_page(path: str) -> Any:
    file = STATIC / path
    return FileResponse(file if path and file.is_file() else STATIC / "index.html")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=8399)
    uvicorn.run(app, host="127.0.0.1", port=arguments.parse_args().port, log_level="warning")

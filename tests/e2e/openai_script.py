"""What somebody does with OpenAI's SDK, run as it is under two majors of it: `python openai_script.py KIND FILE`.

The address and the key come from OPENAI_BASE_URL and OPENAI_API_KEY, as anywhere. Every answer is written to FILE, one
JSON object a line, for the test to hold against the published schema. KIND `life` follows one job from its file to
its deletion, `errors` looks at failures, `learn` trains with nothing but a grader.
"""

import json
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import openai
from openai import OpenAI

MODEL = "starter-arith"
ROWS = "".join(
    json.dumps({"messages": [{"role": "user", "content": f"{n}+{n + 3}="}], "answer": str(2 * n + 3)}) + "\n"
    for n in range(10, 34)
).encode()
GRADER = {
    "type": "multi",
    "name": "graded",
    "graders": {
        "exact": {
            "type": "string_check", "name": "exact", "operation": "like",
            "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}",
        },
        "short": {
            "type": "python", "name": "short",
            "source": "def grade(sample, item):\n    return 1.0 if len(sample['output_text']) < 40 else 0.0\n",
        },
    },
    "calculate_output": "0.9 * exact + 0.1 * short",
}  # fmt: skip


SUM = {
    "type": "python", "name": "sum",
    "source": "import re\n\ndef grade(sample, item):\n"
    "    found = re.findall(r'<answer>(.*?)</answer>', sample['output_text'])\n"
    "    return float(bool(found) and found[-1].strip() == item['answer'])\n",
}  # fmt: skip
AUTO = {
    "batch_size": 16, "n_epochs": 50, "learning_rate_multiplier": 1, "compute_multiplier": 1, "eval_interval": 6,
    "eval_samples": 4,
}  # fmt: skip
"""What `auto` comes to for the 22 of `ROWS` that train: at most 50 epochs, which are 69 steps."""


class Recorder:
    """Sees every answer; loses one where it is told to."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a")
        self.lose = 0

    def __call__(self, response: Any) -> None:
        request = response.request
        line = {"method": request.method, "path": request.url.path, "status": response.status_code}
        line["request_id"] = response.headers.get("x-request-id")
        if response.headers.get("content-type", "").startswith("application/json"):
            line["body"] = json.loads(response.read())
        self.write(line)
        if self.lose and request.method == "POST" and request.url.path.endswith("/fine_tuning/jobs"):
            self.lose -= 1
            # As if the connection had broken after the server had done its work.
            library = import_module(type(response).__module__.partition(".")[0])
            raise library.ReadError("the answer is lost", request=request)

    def write(self, line: "dict[str, Any]") -> None:
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def until(what: str, look: Any, within: float = 240.0) -> Any:
    deadline = time.monotonic() + within
    while not (result := look()):
        assert time.monotonic() < deadline, f"waited {within:g} s for {what}"
        time.sleep(0.3)
    return result


def refused(kind: type[openai.APIStatusError], do: Any, code: str, param: "str | None", status: int) -> None:
    try:
        do()
    except kind as error:
        actual = (type(error), error.code, error.param, error.status_code)
        assert actual == (kind, code, param, status), actual
        assert error.request_id and error.request_id.startswith("req_"), error.request_id
        # The SDK prints the body as Python does, which escapes quotes.
        assert isinstance(error.body, dict)
        message = error.body["message"]
        assert message in error.message or repr(message) in error.message, error.message
    else:
        raise AssertionError(f"{code} was not refused")


def create(client: OpenAI, file: str, *, alone: bool = False, **changes: Any) -> Any:
    """alone: with no hyperparameters but those given."""
    hyperparameters = changes.pop("hyperparameters", {})
    ours: Any = {
        "batch_size": 4, "n_epochs": "auto", "compute_multiplier": 0.25, "eval_interval": 1, "eval_samples": 1,
        "steps": 2, "max_completion_tokens": 24, "lora_rank": 4, "eval_rows": 2,
    }  # fmt: skip
    reinforcement = {
        "grader": GRADER,
        "hyperparameters": hyperparameters if alone else ours | hyperparameters,
    }
    method: Any = {"type": "reinforcement", "reinforcement": reinforcement}
    return client.fine_tuning.jobs.create(model=MODEL, training_file=file, method=method, **changes)


def life(client: OpenAI, recorder: Recorder) -> None:
    file = files(client)
    alpha = client.fine_tuning.alpha.graders
    assert alpha.validate(grader=GRADER).grader is not None  # type: ignore[arg-type]
    score = alpha.run(grader=GRADER, model_sample="10+13=23", item={"answer": "23"})  # type: ignore[arg-type]
    assert abs(score.reward - 1.0) < 1e-9, score

    run = f"run-{time.time_ns()}"
    recorder.lose = 1
    job = create(client, file, suffix="sdk", seed=11, metadata={"run": run})
    own_jobs = list(client.fine_tuning.jobs.list(limit=1, metadata={"run": run}))
    assert [item.id for item in own_jobs] == [job.id], "a request sent again is one job"
    assert (job.seed, job.metadata) == (11, {"run": run})
    hyperparameters = job.method.reinforcement.hyperparameters
    assert "auto" not in hyperparameters.to_dict().values(), hyperparameters
    assert (hyperparameters.n_epochs, hyperparameters.batch_size) == (1, 4), hyperparameters  # of 2 steps
    waiting(client, file)

    done = until("the job", lambda: ended(client, job.id))
    assert done.status == "succeeded", done.error
    assert done.fine_tuned_model.startswith(f"ft:{MODEL}:"), done.fine_tuned_model
    events = list(client.fine_tuning.jobs.list_events(job.id, limit=3))
    assert len({event.id for event in events}) == len(events)
    newest = next(event for event in events if event.type == "metrics")
    assert newest.data["step"] == newest.data["total_steps"] == 2
    assert newest.data["train_mean_reward"] is not None
    assert newest.data["full_valid_mean_reward"] is not None
    parts = {score["name"] for score in newest.data["scores"]["graders"]}
    assert {"graded", "exact", "short"} <= parts, parts
    checkpoints = list(client.fine_tuning.jobs.checkpoints.list(job.id, limit=1))
    assert [checkpoint.step_number for checkpoint in checkpoints] == [2, 1], checkpoints
    assert checkpoints[0].metrics.valid_reward_mean is not None
    permissions(client, job.organization_id, checkpoints[0].fine_tuned_model_checkpoint)
    models(client, done.fine_tuned_model, checkpoints[-1].fine_tuned_model_checkpoint)
    for name in (MODEL, done.fine_tuned_model, checkpoints[-1].fine_tuned_model_checkpoint):
        chat(client, recorder, name)

    assert client.models.delete(done.fine_tuned_model).deleted
    refused(
        openai.NotFoundError,
        lambda: client.models.retrieve(done.fine_tuned_model),
        "model_not_found",
        "model",
        404,
    )
    assert client.files.delete(file).deleted
    assert client.fine_tuning.jobs.retrieve(job.id).training_file == file


def files(client: OpenAI) -> str:
    file = client.files.create(
        file=("rows.jsonl", ROWS),
        purpose="fine-tune",
        expires_after={"anchor": "created_at", "seconds": 86400},
    )
    assert client.files.wait_for_processing(file.id).status == "processed"
    assert client.files.retrieve(file.id) == file
    assert file.id in [listed_file.id for listed_file in client.files.list(limit=2, order="asc")]
    assert client.files.content(file.id).read() == ROWS
    upload = client.uploads.upload_file_chunked(
        file=ROWS, filename="large.jsonl", bytes=len(ROWS), mime_type="application/jsonl", purpose="fine-tune",
        part_size=500,
    )  # fmt: skip
    assert upload.file is not None
    assert client.files.content(upload.file.id).read() == ROWS
    assert client.files.delete(upload.file.id).deleted
    return file.id


def waiting(client: OpenAI, file: str) -> None:
    """A second job, behind the first one."""
    jobs = client.fine_tuning.jobs
    auto = dict.fromkeys(AUTO, "auto") | {"max_completion_tokens": 24}
    made = create(client, file, alone=True, hyperparameters=auto)
    hyperparameters, other = made.method.reinforcement.hyperparameters.to_dict(), made.id
    assert {name: hyperparameters[name] for name in AUTO} == AUTO, hyperparameters
    assert jobs.pause(other).status in ("paused", "pausing")
    until("the pause", lambda: jobs.retrieve(other).status == "paused")
    assert jobs.resume(other).status == "queued"
    jobs.cancel(other)
    until("the end", lambda: jobs.retrieve(other).status == "cancelled")
    refused(openai.ConflictError, lambda: jobs.resume(other), "job_not_paused", None, 409)


def ended(client: OpenAI, id: str) -> Any:
    job = client.fine_tuning.jobs.retrieve(id)
    return job if job.status in ("succeeded", "failed", "cancelled", "paused") else None


def permissions(client: OpenAI, project: str, checkpoint: str) -> None:
    room = client.fine_tuning.checkpoints.permissions
    (made,) = list(room.create(checkpoint, project_ids=[project]))
    listed = room.list(checkpoint) if hasattr(room, "list") else room.retrieve(checkpoint)
    assert [permission.id for permission in listed.data] == [made.id]
    assert room.delete(made.id, fine_tuned_model_checkpoint=checkpoint).deleted


def models(client: OpenAI, *names: str) -> None:
    listed = [listed_model.id for listed_model in client.models.list()]
    for name in (MODEL, *names):
        assert name in listed, (name, listed)
        assert client.models.retrieve(name).id == name


def chat(client: OpenAI, recorder: Recorder, model: str) -> None:
    ask: Any = {
        "model": model,
        "messages": [{"role": "user", "content": "12+30="}],
        "max_tokens": 8,
        "seed": 1,
    }
    whole = client.chat.completions.create(**ask, temperature=0)
    assert whole.model == model
    assert whole.choices[0].finish_reason in ("stop", "length")
    stream = client.chat.completions.create(
        **ask, temperature=0, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    recorder.write({"chunks": [chunk.to_dict() for chunk in chunks]})
    assert chunks[-1].usage == whole.usage, chunks[-1]
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == whole.choices[0].message.content


def learn(client: OpenAI, recorder: Recorder) -> None:
    """A model, a file and a grader, and no hyperparameter but a smaller number of steps."""
    rows = [{"messages": [{"role": "user", "content": f"{a}+{b}="}], "answer": str(a + b)}
            for a in range(10, 100, 3) for b in range(7, 100, 7)]  # fmt: skip
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    file = client.files.create(file=("additions.jsonl", content), purpose="fine-tune")
    reinforcement = {"grader": SUM, "hyperparameters": {"steps": 24, "eval_interval": 24}}
    method: Any = {"type": "reinforcement", "reinforcement": reinforcement}
    jobs = client.fine_tuning.jobs
    job = jobs.create(model=MODEL, training_file=file.id, method=method, seed=0)
    hyperparameters = job.method.reinforcement.hyperparameters
    assert (hyperparameters.learning_rate_multiplier, hyperparameters.learning_rate) == (1, 1.25e-3), (
        hyperparameters
    )
    done = until("the job", lambda: ended(client, job.id))
    assert done.status == "succeeded", done.error
    held_out = [
        event.data["full_valid_mean_reward"]
        for event in jobs.list_events(job.id, limit=100)  # newest first
        if event.type == "metrics" and event.data.get("full_valid_mean_reward") is not None
    ]
    assert held_out[0] - held_out[-1] >= 0.3, held_out
    assert recorder.lose == 0


def errors(client: OpenAI, recorder: Recorder) -> None:
    jobs, none = client.fine_tuning.jobs, "ftjob-none"
    for look in (
        jobs.retrieve,
        jobs.cancel,
        jobs.pause,
        jobs.resume,
        jobs.list_events,
        jobs.checkpoints.list,
    ):
        refused(openai.NotFoundError, lambda look=look: look(none), "job_not_found", "id", 404)
    refused(
        openai.NotFoundError, lambda: client.files.retrieve("file-none"), "file_not_found", "file_id", 404
    )
    refused(openai.NotFoundError, lambda: client.models.retrieve("gpt-5"), "model_not_found", "model", 404)
    bad = openai.BadRequestError
    refused(
        bad,
        lambda: client.files.create(file=("a.jsonl", b"{"), purpose="fine-tune"),
        "truncated_json",
        "file",
        400,
    )
    refused(
        bad,
        lambda: client.files.create(file=("a.jsonl", ROWS), purpose="batch"),
        "purpose_not_offered",
        "purpose",
        400,
    )
    file = client.files.create(file=("rows.jsonl", ROWS), purpose="fine-tune").id
    where = "method.reinforcement.hyperparameters"
    for name, value, code in (
        ("batch_size", 1000, "invalid_input"),
        ("colour", "red", "unknown_hyperparameter"),
    ):
        wrong = lambda name=name, value=value: create(client, file, hyperparameters={name: value})  # noqa: E731
        refused(bad, wrong, code, f"{where}.{name}", 400)
    refused(bad, lambda: create(client, "file-none"), "file_not_found", "training_file", 400)
    supervised: Any = {"type": "supervised", "supervised": {}}
    refused(
        bad,
        lambda: jobs.create(model=MODEL, training_file=file, method=supervised),
        "method_not_offered",
        "method.type",
        400,
    )
    before = sum(1 for _ in recorded(recorder))
    held = create(client, file)
    jobs.cancel(held.id)
    until("the end", lambda: jobs.retrieve(held.id).status == "cancelled")
    sent = sum(1 for line in recorded(recorder) if line["path"].endswith("/resume"))
    refused(openai.ConflictError, lambda: jobs.resume(held.id), "job_not_paused", None, 409)
    tries = sum(1 for line in recorded(recorder) if line["path"].endswith("/resume")) - sent
    assert (tries, before > 0) == (1, True), "a conflict is not tried again"
    stranger = client.with_options(api_key="rf-nobodys-key")
    refused(openai.AuthenticationError, stranger.models.list, "invalid_api_key", None, 401)
    client.files.delete(file)


def recorded(recorder: Recorder) -> Iterator[Any]:
    return (json.loads(line) for line in Path(recorder.file.name).read_text().splitlines())


if __name__ == "__main__":
    kind, path = sys.argv[1], Path(sys.argv[2])
    watching = Recorder(path)
    http = openai.DefaultHttpxClient(event_hooks={"response": [watching]})
    with OpenAI(http_client=http) as one:
        {"life": life, "errors": errors, "learn": learn}[kind](one, watching)
    print(json.dumps({"openai": openai.__version__}))

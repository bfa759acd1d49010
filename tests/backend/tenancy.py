"""Two projects on one backend, and requests made from the OpenAPI document: what the tenancy tests are built of.

A new endpoint that names a thing of a kind not in `Stranger.things` fails `test_tenancy.py`: make such a thing in
`Stranger`, and give its body in `BODIES` if the smallest one that the schema allows says nothing.
"""

import io
import re
import tarfile
from dataclasses import dataclass
from typing import Any

import httpx
from psycopg.types.json import Jsonb

from tests.backend.jobs.monitoring.test_completions import row, send
from tests.backend.server import REWARD, Backend

MARK = "zebra"
"""Is in the name of everything that the other project holds."""
PLACES = {
    "split": "train",
    "step": "1",
    "prompt_no": "0",
    "sample_no": "0",
    "number": "1",
    "kind": "judge_spend",
    "period": "total",
    "example": "rubric",
}
METHODS = ("get", "post", "put", "patch", "delete")

_CASE = {"completion": "1", "expect": {"value": 1.0}}
BODIES: dict[str, Any] = {
    "updateMember": {"role": "viewer"},
    "renameProject": {"name": "stolen"},
    "deleteProject": {"name": MARK},
    "renderDataset": {"model": "tiny"},
    "measureDataset": {"model": "tiny"},
    "createRewardRevision": {"source": REWARD},
    "attackReward": {"rows": [{"item": {"answer": "1"}}]},
    "testReward": {"rows": [{"completion": "1"}]},
    "createGoldenCases": {"cases": [_CASE]},
    "putLabels": {"labels": [{"step": 1, "prompt_no": 0, "sample_no": 0, "right": True}]},
    "changeDeployment": {"model": "tiny"},
    "createJobExport": {"tracker": MARK},
    "changeJob": {"reward": "right"},
}


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    spec: dict[str, Any]

    @property
    def params(self) -> list[tuple[str, str]]:
        """Each parameter of the path with the name of the collection that it stands behind."""
        return re.findall(r"([a-z_-]+)/\{([a-z0-9_]+)\}", self.path.replace("}/{", "}/-/{"))


def operations(backend: Backend) -> list[Operation]:
    """What people may ask for, of both surfaces."""
    return [
        Operation(spec["operationId"], method, path, spec)
        for path, methods in backend.app.openapi()["paths"].items()
        for method, spec in methods.items()
        if method in METHODS and path.startswith(("/api/v1/", "/v1/"))
    ]


class Stranger:
    """A second project with one of everything, and an owner's key for it."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.project = f"proj_{MARK}"
        backend.sql("INSERT INTO project (id, name, created_at) VALUES (%s, %s, now())", self.project, MARK)
        self.api = backend.add_key("owner", project=MARK)
        self.us = backend.add_key("owner")
        """An owner of the first project, who does not run the platform."""
        self.things: dict[str, str] = {}
        self._data()
        self._trained()
        self._people()
        self._golden()
        self.things["base models"] = f"model-{MARK}"
        backend.add_model(f"model-{MARK}", project=self.project)
        self._on_openais_wire()

    def _made(self, path: str, **body: Any) -> str:
        answer = self.api.post(path, **body)
        assert answer.status_code == 201, f"{path}: {answer.text}"
        return str(answer.json()["id"])

    def _data(self) -> None:
        rows = "".join(f'{{"prompt": "{n}+1=", "answer": "{MARK}"}}\n' for n in range(8)).encode()
        files = {"file": (f"{MARK}.jsonl", rows)}
        self.things["datasets"] = self._made("/datasets", files=files, data={"name": MARK})
        self.things["rewards"] = self._made("/rewards", json={"name": MARK, "source": REWARD})
        judge = {"name": MARK, "base_url": "http://127.0.0.1:9/v1", "model": MARK}
        self.things["judges"] = self._made("/judges", json=judge)
        tracker = {"name": MARK, "kind": "mlflow", "url": "http://127.0.0.1:9", "destination": MARK}
        self.things["trackers"] = self._made("/trackers", json=tracker)

    def spec(self) -> dict[str, Any]:
        return self.backend.spec(name=MARK) | {
            "data": {"dataset": self.things["datasets"]},
            "rewards": [{"type": "python", "name": "right", "reward": self.things["rewards"]}],
        }

    def _trained(self) -> None:
        self.things["jobs"] = job = self._made("/jobs", json=self.spec())
        trainer = self.backend.claim(job)
        trainer.start()
        trainer.step(1)
        send(trainer, 1, "train", [row(0, sample) for sample in range(2)])
        trainer.send({"kind": "log", "level": "info", "message": MARK, "step": 1})
        blob = trainer.blob(adapter())
        trainer.send(
            {"kind": "checkpoint_saved", "step": 1, "blob": blob, "held_out_reward": 0.5, "final": True}
        )
        trainer.step(3)
        trainer.end("succeeded")
        self.running = self._made("/jobs", json=self.spec())
        self.backend.claim(self.running).start()
        self.things["preflights"] = self._made("/preflights", json=self.spec())
        sweep = {"name": MARK, "job": self.spec(), "parameters": {"adapter.rank": [2, 4]}}
        self.things["sweeps"] = self._made("/sweeps", json=sweep)
        self.things["exports"] = self._made(f"/jobs/{job}/exports", json={"tracker": MARK})
        self.things["shares"] = self._made(f"/jobs/{job}/shares", json={})
        self.things["adapters"] = self.api.get("/adapters").json()["data"][0]["id"]
        self.things["aliases"] = f"alias-{MARK}"
        body = {"adapter": self.things["adapters"]}
        self.api.put(f"/adapters/aliases/alias-{MARK}", json=body).raise_for_status()
        [(self.checkpoint,)] = self.backend.sql("SELECT id FROM checkpoint WHERE job_id = %s", job)
        self.things["evaluations"] = f"eval_{MARK}"
        self.backend.sql(
            "INSERT INTO evaluation (id, project_id, job_id, kind, params, status, done, total, touched_at, created_at)"
            " VALUES (%s, %s, %s, 'replay', %s, 'running', 0, 1, now(), now())",
            self.things["evaluations"],
            self.project,
            job,
            Jsonb({"reward": "right"}),
        )

    def _on_openais_wire(self) -> None:
        """The same things under other names, and what only this wire has."""
        self.things["files"] = self.things["datasets"]
        code = self.things["jobs"].removeprefix("ftjob-")[:8]
        self.things["models"] = f"ft:tiny:{MARK}::{code}"
        self.things["checkpoints"] = f"{self.things['models']}:ckpt-step-1"
        self.things["uploads"], self.things["permissions"] = f"upload_{MARK}", f"cp_{MARK}"
        self.backend.sql(
            "INSERT INTO upload (id, project_id, filename, bytes, status, expires_at, created_at)"
            " VALUES (%s, %s, %s, 1, 'pending', now() + interval '1 h', now())",
            self.things["uploads"],
            self.project,
            MARK,
        )
        self.numbered = f"upload_numbered_{MARK}"
        self.backend.sql(
            "INSERT INTO upload (id, project_id, filename, bytes, part_bytes, status, expires_at, created_at)"
            " VALUES (%s, %s, %s, 1, 1, 'pending', now() + interval '1 h', now())",
            self.numbered,
            self.project,
            MARK,
        )
        self.backend.sql(
            "INSERT INTO checkpoint_permission (id, checkpoint_id, project_id, created_at) VALUES (%s, %s, %s, now())",
            self.things["permissions"],
            self.checkpoint,
            self.project,
        )

    def _golden(self) -> None:
        """Put there last: a job starts only once a sandbox has tried its reward's golden cases."""
        self.things["golden-cases"] = f"gold_{MARK}"
        self.backend.sql(
            "INSERT INTO golden_case (id, reward_id, item, prompt, completion, expect, created_at)"
            " VALUES (%s, %s, '{}', '\"\"', '1', %s, now())",
            self.things["golden-cases"],
            self.things["rewards"],
            Jsonb({"value": 1.0}),
        )

    def _people(self) -> None:
        self.things["deployments"] = self._made("/deployments", json={"name": MARK, "model": "tiny"})
        self.things["keys"] = self._made("/keys", json={"name": MARK})
        hook = {"url": "http://93.184.215.14/hook", "description": MARK}
        self.api.put("/budgets", json={"kind": "judge_spend", "period": "total", "amount": 1e9})
        self.things["webhooks"] = self._made("/webhooks", json=hook)
        self.things["deliveries"] = f"msg_{MARK}"
        self.backend.sql(
            "INSERT INTO webhook_delivery (id, webhook_id, event_id, type, body, state, tries, next_at, give_up_at,"
            " created_at) VALUES (%s, %s, 'evt', 'webhook.test', '{}', 'delivered', 1, now(), now(), now())",
            self.things["deliveries"],
            self.things["webhooks"],
        )
        self.things["members"] = self._made("/members", json={"name": MARK})
        self.things["invitations"] = self._made("/invitations", json={"note": MARK})
        self.things["projects"] = self.project
        [(user,)] = self.backend.sql("SELECT user_id FROM member WHERE id = %s", self.things["members"])
        self.things["sessions"] = f"sess_{MARK}"
        self.backend.sql(
            "INSERT INTO browser_session (sha256, id, project_id, user_id, last_seen_at, expires_at, created_at)"
            " VALUES (%s, %s, %s, %s, now(), now() + interval '1 day', now())",
            MARK,
            self.things["sessions"],
            self.project,
            user,
        )

    def url(self, operation: Operation) -> str:
        """The operation's address with this project's things in it. KeyError for a kind that is not here."""
        url = operation.path
        for collection, name in operation.params:
            value = PLACES[name] if name in PLACES else self.things[collection]
            if url.startswith("/api/v1/uploads"):
                value = PLACES.get(name, self.numbered)
            if url.startswith("/api/v1/models"):
                value = self.things["base models"]
            url = url.replace(f"{{{name}}}", value)
        return url

    def ask(self, operation: Operation, client: httpx.Client) -> httpx.Response:
        """The operation on this project's thing with a body that would do, as whoever `client` is."""
        body = self.body(operation)
        options: dict[str, Any] = {} if body is None else {"json": body}
        query = {
            parameter["name"]: smallest(parameter["schema"], self.backend.app.openapi())
            for parameter in operation.spec.get("parameters", [])
            if parameter["in"] == "query" and parameter.get("required")
        }
        if needs_match(operation):
            options["headers"] = {"if-match": "*"}
        url = self.backend.url + self.url(operation)
        return client.request(operation.method.upper(), url, params=query, **options)

    def body(self, operation: Operation) -> Any:
        if operation.id in BODIES:
            return BODIES[operation.id]
        content = operation.spec.get("requestBody", {}).get("content", {}).get("application/json")
        return None if content is None else smallest(content["schema"], self.backend.app.openapi())


def needs_match(operation: Operation) -> bool:
    return any(parameter["name"] == "if-match" for parameter in operation.spec.get("parameters", []))


def adapter() -> bytes:
    """A PEFT folder as a worker sends it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("adapter_config.json"))
    return packed.getvalue()


def smallest(schema: dict[str, Any], document: dict[str, Any]) -> Any:
    """The smallest value that a JSON schema allows, as far as our schemas go."""
    if "$ref" in schema:
        return smallest(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return smallest(schema[key][0], document)
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            return {name: smallest(schema["properties"][name], document) for name in required}
        case "array":
            return [smallest(schema["items"], document)] * schema.get("minItems", 0)
        case "string" if "{64}" in schema.get("pattern", ""):
            return "0" * 64
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
    return {}

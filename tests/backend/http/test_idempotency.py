"""A POST that is sent again with its key is done once.

Made from the OpenAPI document: a new POST without a key fails here.
"""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.backend.people import refusal
from tests.backend.server import OWNER_KEY, REWARD, Backend
from tests.backend.tenancy import Operation, Stranger, operations

_ASKS = "answers a question and keeps nothing"
_SIGNS = "opens or ends a browser session, before it is known who asks: signing in again opens another"
_ALREADY = "finds what is there, however often it is asked"
EXCEPT: dict[str, str] = {
    "checkJob": _ASKS,
    "checkSweep": _ASKS,
    "checkRewardSource": _ASKS,
    "checkTools": _ASKS,
    "createChatCompletion": _ASKS,
    "suggestJobDefaults": _ASKS,
    "lookAtInvitation": _ASKS,
    "measureDataset": _ASKS,
    "renderDataset": _ASKS,
    "runGoldenCases": _ASKS,
    "runGrader": _ASKS,
    "runTools": _ASKS,
    "sample": _ASKS,
    "attackReward": _ASKS,
    "attackRewardSource": _ASKS,
    "testReward": _ASKS,
    "testRewardSource": _ASKS,
    "validateGrader": _ASKS,
    "acceptInvitation": _SIGNS,
    "resetPassword": _SIGNS,
    "signIn": _SIGNS,
    "signOut": _SIGNS,
    "createSignInLink": "an address for ten minutes; one whose answer was lost opens nothing for anybody",
    "completeDatasetUpload": _ALREADY,
    "shareModel": "a model that is shared already stays so",
    "createDatasetUploadPartUrl": "an address for an hour: a stored one may be over by the time it is asked for again",
    "startDemo": _ALREADY,
    "startExample": _ALREADY,
    "switchProject": _ALREADY,
    "createRolloutCompletion": "found again by the rollout's own key, the SDK's retry count, or its messages",
    "createRolloutResponse": "found again by the rollout's own key, the SDK's retry count, or its messages",
    "takeRollouts": "a rollout whose key was lost is offered again when its heartbeats stop",
    "renewRollout": _ALREADY,
    "endRollout": "an ended rollout's key opens nothing: a repeated end is refused, and changes nothing",
}
"""Operations that take no idempotency key, with the reason. (The worker door has sequence numbers.)"""
GRADER = "def grade(sample, item):\n    return 0.25\n"
HOOK = {"url": "http://93.184.215.14/hook", "description": "once"}
MAKES: dict[str, tuple[str, Any, str]] = {
    "api key": ("/keys", {"name": "once"}, "/keys"),
    "webhook": ("/webhooks", HOOK, "/webhooks"),
    "project": ("/projects", {"name": "once"}, "/projects"),
    "invitation": ("/invitations", {"note": "once"}, "/invitations"),
    "member": ("/members", {"name": "once"}, "/members"),
    "judge": (
        "/judges",
        {"name": "once", "base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key": "k"},
        "/judges",
    ),
}
"""What is made → where, with what body, and where it is listed."""
BODIES: dict[str, Any] = {
    "createTraceDataset": {"min_reward": 0.0},
    "createReward": {"name": "walked", "source": REWARD},
    "createDeployment": {"name": "walked", "model": "tiny"},
    "createTracker": {
        "name": "walked",
        "kind": "mlflow",
        "url": "http://93.184.215.14",
        "destination": "walked",
    },
    "createUpload": {"purpose": "fine-tune", "filename": "a.jsonl", "bytes": 9, "mime_type": "text/jsonl"},
}
ELSEWHERE = {
    *(
        "createJob",
        "forkJob",
        "createFineTuningJob",
        "createDataset",
        "createFile",
        "createSweep",
        "uploadAdapter",
        "sendEmailConfirmation",
    ),  # by tests of their rooms
    *(
        "createPreflight",
        "createEvaluation",
        "createProject",
        "createJudge",
        "createWebhook",
        "createUploadPart",
    ),
    *(
        "cancelJob",
        "pauseJob",
        "resumeJob",
        "changeJob",
        "checkpointJob",
        "resumeEvaluation",
        "completeUpload",
    ),
    *("cancelFineTuningJob", "pauseFineTuningJob", "resumeFineTuningJob"),
}
"""Operations that need more than one request with a small body; tests above, but for the first line."""


@pytest.fixture(scope="module")
def stranger(rpc_backend: Backend) -> Iterator[Stranger]:
    other = Stranger(rpc_backend)
    yield other
    other.api.close()
    other.us.close()


def posts(backend: Backend) -> list[Operation]:
    return [operation for operation in operations(backend) if operation.method == "post"]


def takes_key(operation: Operation) -> bool:
    return any(param["name"].lower() == "idempotency-key" for param in operation.spec.get("parameters", []))


def twice(client: httpx.Client, path: str, key: str, **options: Any) -> tuple[httpx.Response, httpx.Response]:
    headers = {"idempotency-key": key, **options.pop("headers", {})}
    first, again = (client.post(path, headers=headers, **options) for _ in range(2))
    assert first.is_success, first.text
    assert (again.status_code, again.text) == (first.status_code, first.text)
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    return first, again


def test_every_post_takes_a_key_or_says_why_not(backend: Backend) -> None:
    without = {operation.id for operation in posts(backend) if not takes_key(operation)}
    assert without == EXCEPT.keys()
    assert len(posts(backend)) - len(without) > 35


@pytest.mark.parametrize("kind", MAKES)
def test_one_thing_is_made(kind: str, stranger: Stranger) -> None:
    path, body, listed = MAKES[kind]
    client = stranger.backend.api if kind == "project" else stranger.api
    before = len(client.get(listed).json()["data"])
    first, _ = twice(client, path, f"one {kind}", json=body)
    assert len(client.get(listed).json()["data"]) == before + 1
    other = client.post(path, json={**body, "name": "other"}, headers={"idempotency-key": f"one {kind}"})
    assert refusal(other) == (422, "idempotency_key_reused") or kind in ("webhook", "invitation")
    assert first.json()["id"]


def test_a_lost_key_is_returned_again_and_stored_nowhere_in_clear(stranger: Stranger) -> None:
    first, _ = twice(stranger.api, "/keys", "secret", json={"name": "sealed"})
    secret = first.json()["key"]
    with httpx.Client(base_url=stranger.backend.url, headers={"authorization": f"Bearer {secret}"}) as made:
        assert made.get("/api/v1/me").status_code == 200
    [(stored,)] = stranger.backend.sql("SELECT body FROM idempotency_key WHERE key = 'secret'")
    assert secret not in stored
    assert "sealed" not in stored


def test_another_asker_does_not_get_the_answer(backend: Backend) -> None:
    first, theirs = backend.add_key("owner"), backend.add_key("owner")
    twice(first, "/keys", "overheard", json={"name": "mine"})
    other = theirs.post("/keys", json={"name": "mine"}, headers={"idempotency-key": "overheard"})
    assert refusal(other) == (422, "idempotency_key_reused")


def test_an_answer_that_cannot_be_opened_any_more(backend: Backend) -> None:
    headers = {"idempotency-key": "unreadable"}
    assert backend.api.post("/keys", json={"name": "x"}, headers=headers).status_code == 201
    backend.sql("UPDATE idempotency_key SET body = 'gAAAAA' WHERE key = 'unreadable'")
    again = backend.api.post("/keys", json={"name": "x"}, headers=headers)
    assert refusal(again) == (409, "idempotency_answer_unreadable")


def test_an_answer_that_was_stored_before_they_were_sealed(backend: Backend) -> None:
    headers, body = {"idempotency-key": "older"}, '{"id":"key_older","object":"api_key"}'
    assert backend.api.post("/keys", json={"name": "y"}, headers=headers).status_code == 201
    backend.sql("UPDATE idempotency_key SET body = %s WHERE key = 'older'", body)
    assert backend.api.post("/keys", json={"name": "y"}, headers=headers).text == body


def test_a_revision_whose_answer_was_lost_is_no_conflict(rpc_backend: Backend) -> None:
    reward = rpc_backend.api.post("/rewards", json={"name": "revised", "source": REWARD}).json()
    match = {"if-match": reward["etag"]}
    path = f"/rewards/{reward['id']}/revisions"
    first, again = twice(rpc_backend.api, path, "revise", json={"source": GRADER}, headers=match)
    assert first.json()["revision"] == 2
    assert again.headers["etag"] == first.headers["etag"] == f'"{first.json()["etag"]}"'
    late = rpc_backend.api.post(path, json={"source": GRADER}, headers=match | {"idempotency-key": "another"})
    assert refusal(late) == (412, "precondition_failed")


@pytest.mark.parametrize("kind", ["replay", "stand_alone"])
def test_one_evaluation_is_begun(kind: str, stranger: Stranger) -> None:
    body = {"job": stranger.things["jobs"]} if kind == "replay" else {"dataset": stranger.things["datasets"]}
    if kind == "stand_alone":
        body |= {"model": "tiny", "kind": kind}

    def begun() -> set[str]:
        return {
            evaluation["id"]
            for evaluation in stranger.api.get("/evaluations", params={"kind": kind}).json()["data"]
        }

    before = begun()
    first, _ = twice(stranger.api, "/evaluations", f"one {kind}", json=body | {"source": REWARD})
    assert begun() - before == {first.json()["id"]}
    for action in ("cancel",) if kind == "replay" else ("cancel", "resume"):
        twice(stranger.api, f"/evaluations/{first.json()['id']}/{action}", f"{kind} {action}")


def test_one_preflight_and_one_change_of_a_job(stranger: Stranger) -> None:
    count = "SELECT count(*) FROM job"
    [(before,)] = stranger.backend.sql(count)
    inline = {"rewards": stranger.backend.spec()["rewards"]}  # without golden cases, which would run first
    twice(stranger.api, "/preflights", "one preflight", json=stranger.spec() | inline)
    assert stranger.backend.sql(count) == [(before + 1,)]
    path = f"/jobs/{stranger.running}/changes"
    twice(
        stranger.api,
        path,
        "one change",
        json={"type": "setting", "setting": "optimizer.learning_rate", "value": 1e-6},
    )
    assert len(stranger.api.get(path).json()["data"]) == 1
    twice(stranger.api, f"/jobs/{stranger.running}/checkpoint", "one checkpoint")


@pytest.mark.parametrize("surface", ["/api/v1/jobs", "/v1/fine_tuning/jobs"])
def test_what_is_done_to_a_job_is_done_once(surface: str, rpc_backend: Backend) -> None:
    """Sent again a moment later it would be refused: the job has another state by then."""
    job = rpc_backend.api.post("/jobs", json=rpc_backend.spec(name="acted on")).json()["id"]
    with rpc_backend.client(OWNER_KEY, surface) as client:
        for action in ("pause", "resume", "cancel"):
            twice(client, f"/{job}/{action}", f"one {action}")
    assert rpc_backend.api.get(f"/jobs/{job}").json()["status"] == "cancelled"


def test_a_file_in_parts_on_openais_wire_is_one_file(backend: Backend) -> None:
    rows = b'{"prompt": "1+1=", "answer": "2"}\n' * 2
    new = {"purpose": "fine-tune", "filename": "once.jsonl", "bytes": len(rows), "mime_type": "text/jsonl"}
    with backend.client(OWNER_KEY, "/v1") as client:
        upload, _ = twice(client, "/uploads", "file", json=new)
        path = f"/uploads/{upload.json()['id']}"
        part, _ = twice(client, f"{path}/parts", "part", files={"data": rows})
        done, _ = twice(client, f"{path}/complete", "done", json={"part_ids": [part.json()["id"]]})
    assert backend.api.get(f"/datasets/{done.json()['file']['id']}").json()["rows"] == 2


def test_requests_side_by_side_make_one(backend: Backend) -> None:
    answers: list[httpx.Response] = []

    def ask() -> None:
        headers = {"idempotency-key": "side by side"}
        answers.append(backend.api.post("/keys", json={"name": "race"}, headers=headers))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1


def test_a_refused_request_keeps_nothing(backend: Backend) -> None:
    headers = {"idempotency-key": "second try"}
    assert backend.api.post("/projects", json={"name": "x" * 300}, headers=headers).status_code == 422
    assert backend.api.post("/projects", json={"name": "right"}, headers=headers).status_code == 201


def test_every_other_post_that_takes_a_key_honours_it(stranger: Stranger) -> None:
    """On the other project's things, one after another."""
    walked = [
        operation
        for operation in posts(stranger.backend)
        if takes_key(operation) and operation.id not in ELSEWHERE
    ]
    assert len(walked) >= 20
    for operation in walked:
        body = BODIES.get(operation.id) or stranger.body(operation)
        if operation.id == "createCheckpointPermissions":
            body = {"project_ids": [stranger.project]}
        options = {} if body is None else {"json": body}
        with httpx.Client(base_url=stranger.backend.url, headers=stranger.api.headers) as client:
            twice(
                client, stranger.url(operation), f"all {operation.id}", headers={"if-match": "*"}, **options
            )

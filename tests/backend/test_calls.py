"""The calls lane: asked by a request, taken by one worker, answered in time or not."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.backend.server import REWARD, Backend, agree_validate, wait_until


def test_each_call_is_taken_by_one_worker(backend: Backend) -> None:
    with backend.lane() as one, backend.lane() as two:
        body = {"name": "r", "source": REWARD}
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: backend.api.post("/rewards", json=body), range(6)))
        assert [answer.status_code for answer in answers] == [201] * 6
        assert len([kind for kind, _ in one.asked + two.asked if kind == "validate"]) == 6


def test_a_waiting_worker_is_woken(backend: Backend) -> None:
    """The answer comes long before the poll would have looked again."""
    backend.register("wrk_patient", "calls")
    taken: list[dict[str, Any]] = []

    def work() -> None:
        body = {"worker": "wrk_patient", "kinds": ["validate"], "wait_seconds": 20}
        response = backend.door.post("/calls/next", json=body)
        call = response.json()
        taken.append(call)
        answer = {"result": agree_validate(call["payload"])}
        assert backend.door.post(f"/calls/{call['id']}/answer", json=answer).status_code == 204

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    time.sleep(0.2)  # most likely it is waiting by now; the test holds either way
    assert backend.api.post("/rewards", json={"name": "r", "source": REWARD}).status_code == 201
    worker.join(20)
    assert taken[0]["deadline_seconds"] > 0
    backend.sql("DELETE FROM worker WHERE id = 'wrk_patient'")


def test_only_the_kinds_asked_for_are_given(backend: Backend) -> None:
    backend.register("wrk_kinds", "calls")
    body = {"worker": "wrk_kinds", "kinds": ["render"], "wait_seconds": 0}
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(backend.api.post, "/rewards", json={"name": "r", "source": REWARD})
        wait_until(
            lambda: backend.sql("SELECT 1 FROM call WHERE state = 'waiting' AND kind = 'validate'"),
            "the call",
        )
        assert backend.door.post("/calls/next", json=body).status_code == 204
        call = backend.door.post("/calls/next", json=body | {"kinds": ["render", "validate"]}).json()
        error = {
            "message": "No.",
            "code": "sandbox_unavailable",
            "type": "unavailable_error",
            "hint": "Probe.",
        }
        backend.door.post(f"/calls/{call['id']}/answer", json={"error": error})
        answer = asking.result(20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "sandbox_unavailable")
    assert answer.json()["error"]["hint"] == "Probe."
    backend.sql("DELETE FROM worker WHERE id = 'wrk_kinds'")


def test_an_answer_that_nobody_waits_for(backend: Backend) -> None:
    late = backend.door.post("/calls/call_none/answer", json={"result": {}})
    assert (late.status_code, late.json()["error"]["code"]) == (404, "call_not_found")


def test_workers_are_listed_with_what_they_run(backend: Backend) -> None:
    backend.register("wrk_seen", "trainer")
    with backend.lane() as lane:
        job = backend.create_job()
        backend.claim(job, worker="wrk_seen")
        workers = {each["id"]: each for each in backend.api.get("/workers").json()["data"]}
        assert (workers["wrk_seen"]["job"], workers["wrk_seen"]["online"]) == (job, True)
        assert workers[lane.worker]["kind"] == "calls"
    backend.sql("UPDATE worker SET last_seen_at = now() - interval '1 min' WHERE id = 'wrk_seen'")
    workers = {each["id"]: each for each in backend.api.get("/workers").json()["data"]}
    assert workers["wrk_seen"]["online"] is False


def test_readiness_tells_of_workers(backend: Backend) -> None:
    with backend.lane():
        response = backend.bare.get("/readyz")
    body = response.json()
    assert (response.status_code, body["ready"]) == (200, True)
    assert body["parts"]["calls"]["ready"] is True
    assert body["parts"]["sandbox"] == {"ready": True, "jails": ["L"]}


def test_a_machine_without_a_jail_is_a_conflict_that_is_not_tried_again(backend: Backend) -> None:
    refusal = {
        "code": "code_rewards_disabled",
        "type": "unavailable_error",
        "message": "No jail.",
        "hint": "Probe.",
    }
    backend.register("wrk_unjailed", "calls")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(backend.api.post, "/rewards", json={"name": "r", "source": REWARD})
        body = {"worker": "wrk_unjailed", "kinds": ["validate"], "wait_seconds": 20}
        call = backend.door.post("/calls/next", json=body).json()
        backend.door.post(f"/calls/{call['id']}/answer", json={"error": refusal})
        answer = asking.result(20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "code_rewards_disabled")
    assert answer.headers["x-should-retry"] == "false"
    backend.sql("DELETE FROM worker WHERE id = 'wrk_unjailed'")

"""RPCs: sent by a request, taken by one worker, answered in time or not."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.events import Hub
from backend.models import now
from backend.rpc.client import Calls
from reinforge.schemas.rpc.sampling import SAMPLE, SamplingRequest
from tests.backend.server import REWARD, Backend, agree_validate, wait_until


def test_each_call_is_taken_by_one_worker(backend: Backend) -> None:
    with backend.rpc_worker() as one, backend.rpc_worker() as two:
        body = {"name": "r", "source": REWARD}
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: backend.api.post("/rewards", json=body), range(6)))
        assert [answer.status_code for answer in answers] == [201] * 6
        assert len([kind for kind, _ in one.calls + two.calls if kind == "validate"]) == 6


def test_a_waiting_worker_is_woken(backend: Backend) -> None:
    """The answer comes long before the poll would have looked again."""
    backend.register("wrk_patient", "calls")
    taken: list[dict[str, Any]] = []

    def work() -> None:
        body = {"worker": "wrk_patient", "kinds": ["validate"], "wait_seconds": 20}
        response = backend.worker_api.post("/calls/next", json=body)
        call = response.json()
        taken.append(call)
        answer = {"result": agree_validate(call["payload"])}
        assert backend.worker_api.post(f"/calls/{call['id']}/answer", json=answer).status_code == 204

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    time.sleep(0.2)  # most likely it is waiting by now; the test holds either way
    assert backend.api.post("/rewards", json={"name": "r", "source": REWARD}).status_code == 201
    worker.join(20)
    assert taken[0]["deadline_seconds"] > 0
    backend.sql("DELETE FROM worker WHERE id = 'wrk_patient'")


def test_only_the_requested_kinds_are_returned(backend: Backend) -> None:
    backend.register("wrk_kinds", "calls")
    body = {"worker": "wrk_kinds", "kinds": ["render"], "wait_seconds": 0}
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(backend.api.post, "/rewards", json={"name": "r", "source": REWARD})
        wait_until(
            lambda: backend.sql("SELECT 1 FROM call WHERE state = 'waiting' AND kind = 'validate'"),
            "the call",
        )
        assert backend.worker_api.post("/calls/next", json=body).status_code == 204
        call = backend.worker_api.post("/calls/next", json=body | {"kinds": ["render", "validate"]}).json()
        error = {
            "message": "No.",
            "code": "sandbox_unavailable",
            "type": "unavailable_error",
            "hint": "Probe.",
        }
        backend.worker_api.post(f"/calls/{call['id']}/answer", json={"error": error})
        answer = asking.result(20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "sandbox_unavailable")
    assert answer.json()["error"]["hint"] == "Probe."
    backend.sql("DELETE FROM worker WHERE id = 'wrk_kinds'")


def test_a_result_that_the_server_cannot_read_is_an_error(backend: Backend) -> None:
    """As a worker of another release might send it."""
    backend.register("wrk_odd", "calls")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(backend.api.post, "/rewards", json={"name": "r", "source": REWARD})
        body = {"worker": "wrk_odd", "kinds": ["validate"], "wait_seconds": 20}
        call = backend.worker_api.post("/calls/next", json=body).json()
        backend.worker_api.post(f"/calls/{call['id']}/answer", json={"result": {"rewards": [{"entries": 5}]}})
        response = asking.result(20)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (503, "malformed_rpc")
    assert "'validate': rewards.0.name: Field required" in error["message"]
    backend.sql("DELETE FROM worker WHERE id = 'wrk_odd'")


def test_an_answer_that_nobody_waits_for(backend: Backend) -> None:
    late = backend.worker_api.post("/calls/call_none/answer", json={"result": {}})
    assert (late.status_code, late.json()["error"]["code"]) == (404, "call_not_found")


def test_workers_are_listed_with_what_they_run(backend: Backend) -> None:
    backend.register("wrk_seen", "trainer")
    with backend.rpc_worker() as rpc_worker:
        job = backend.create_job()
        backend.claim(job, worker="wrk_seen")
        workers = {worker["id"]: worker for worker in backend.api.get("/workers").json()["data"]}
        assert (workers["wrk_seen"]["job"], workers["wrk_seen"]["online"]) == (job, True)
        assert workers[rpc_worker.worker]["kind"] == "calls"
    backend.sql("UPDATE worker SET last_seen_at = now() - interval '1 min' WHERE id = 'wrk_seen'")
    workers = {worker["id"]: worker for worker in backend.api.get("/workers").json()["data"]}
    assert workers["wrk_seen"]["online"] is False


def test_readiness_tells_of_workers(backend: Backend) -> None:
    with backend.rpc_worker():
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
        call = backend.worker_api.post("/calls/next", json=body).json()
        backend.worker_api.post(f"/calls/{call['id']}/answer", json={"error": refusal})
        answer = asking.result(20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "code_rewards_disabled")
    assert answer.headers["x-should-retry"] == "false"
    backend.sql("DELETE FROM worker WHERE id = 'wrk_unjailed'")


TEST = {"source": REWARD, "rows": [{"completion": "x"}]}


def test_projects_take_turns_and_none_fills_the_rpc_queue(backend: Backend) -> None:
    """Eight tests of one project, whose worker never answers, leave room for another project's check."""
    backend.register("wrk_fair", "calls")
    backend.sql("INSERT INTO project (id, name, created_at) VALUES ('p_fair', 'fair', now())")
    other = backend.add_key("editor", project="fair")
    body = {"worker": "wrk_fair", "kinds": ["score", "validate"], "wait_seconds": 0}
    with ThreadPoolExecutor(9) as pool:
        for _ in range(8):
            pool.submit(_give_up, backend, "/rewards/test", TEST | {"timeout_seconds": 60})
        wait_until(lambda: _calls(backend, "waiting") == 8, "eight calls")
        taken = [backend.worker_api.post("/calls/next", json=body) for _ in range(4)]
        assert [response.status_code for response in taken] == [200, 200, 204, 204]

        checked = pool.submit(other.post, "/rewards/check", json={"source": REWARD})
        call = backend.worker_api.post("/calls/next", json=body | {"wait_seconds": 20}).json()
        assert call["kind"] == "validate"
        result = {"result": agree_validate(call["payload"])}
        backend.worker_api.post(f"/calls/{call['id']}/answer", json=result)
        assert checked.result(20).status_code == 200

        wait_until(lambda: _calls(backend, "waiting") == 0, "the callers hung up: nothing waits")
    for response in taken[:2]:
        answer = backend.worker_api.post(
            f"/calls/{response.json()['id']}/chunks", json={"seq": 1, "events": []}
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "call_not_found")
    backend.sql("DELETE FROM call")
    backend.sql("DELETE FROM worker WHERE id = 'wrk_fair'")


def test_an_answer_makes_room_for_the_projects_next_call(backend: Backend) -> None:
    backend.register("wrk_room", "calls")
    body = {"worker": "wrk_room", "kinds": ["validate"], "wait_seconds": 20}
    with ThreadPoolExecutor(3) as pool:
        checks = [pool.submit(backend.api.post, "/rewards/check", json={"source": REWARD}) for _ in range(3)]
        for _ in range(3):
            call = backend.worker_api.post("/calls/next", json=body).json()
            result = {"result": agree_validate(call["payload"])}
            backend.worker_api.post(f"/calls/{call['id']}/answer", json=result)
        assert [check.result(20).status_code for check in checks] == [200] * 3
    backend.sql("DELETE FROM worker WHERE id = 'wrk_room'")


def test_readiness_says_that_calls_are_not_answered(backend: Backend) -> None:
    with backend.rpc_worker():
        backend.sql("DELETE FROM call")  # the server's own, about the built-in model, may wait here too
        backend.sql(
            "INSERT INTO call (id, kind, payload, state, deadline, created_at, project_id) VALUES"
            " ('call_late', 'nothing', '{}', 'waiting', now() + interval '1 min', now() - interval '11 s', 'p')"
        )
        part = backend.bare.get("/readyz").json()["parts"]["calls"]
        assert part["ready"] is False and part["message"].startswith("1 calls have waited")
        backend.sql("DELETE FROM call WHERE id = 'call_late'")
        assert backend.bare.get("/readyz").json()["parts"]["calls"]["ready"] is True


class _SlowCommit(Database):
    """Its first transaction is committed, but whoever waits for it hears so only after `release`."""

    def __init__(self, url: str) -> None:
        super().__init__(url, pool_size=2)
        self.committed, self.release = asyncio.Event(), asyncio.Event()

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        async with super().transaction() as session:
            yield session
        if not self.committed.is_set():
            self.committed.set()
            await self.release.wait()


def test_a_caller_who_is_cancelled_while_the_call_is_saved_leaves_none(backend: Backend) -> None:
    async def cancel() -> None:
        database = _SlowCommit(backend.database_url)
        calls = Calls(database, Hub(backend.database_url))
        request = SamplingRequest(model="m", model_source="m", prompts=[], max_tokens=1)
        adding = asyncio.create_task(calls.add(SAMPLE, request, now() + timedelta(seconds=60)))
        await database.committed.wait()
        assert backend.sql("SELECT count(*) FROM call WHERE kind = 'sample'") == [(1,)]
        adding.cancel()
        await asyncio.sleep(0)
        database.release.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        await database.close()

    backend.register("wrk_saved", "calls")
    backend.sql("DELETE FROM call")
    asyncio.run(cancel())
    assert backend.sql("SELECT count(*) FROM call WHERE kind = 'sample'") == [(0,)]
    backend.sql("DELETE FROM worker WHERE id = 'wrk_saved'")


def _give_up(backend: Backend, path: str, body: dict[str, Any]) -> None:
    with contextlib.suppress(httpx.TimeoutException):
        backend.api.post(path, json=body, timeout=4.0)


def _calls(backend: Backend, state: str) -> int:
    """Without those of the server itself, which has the built-in model looked at once a worker is online."""
    query = "SELECT count(*) FROM call WHERE state = %s AND kind IN ('score', 'validate')"
    return int(backend.sql(query, state)[0][0])

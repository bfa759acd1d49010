"""Streaming calls: events arrive in order and once, also if a side ends or stalls."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from backend.playground import service
from backend.rpc import stream
from tests.backend.playground.player import BODY, Client, Player, player
from tests.backend.server import REWARD, Backend, wait_until


@pytest.fixture
def worker(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Iterator[Player]:
    backend.add_model()
    monkeypatch.setattr(stream, "LOOK_AGAIN_SECONDS", 0.3)
    with player(backend, "one") as playing:
        yield playing


def ask(worker: Player, caller: Backend | None = None) -> Client:
    """A client whose call the worker has taken."""
    client = Client(caller or worker.backend)
    client.start()
    worker.take()
    return client


def test_events_come_in_order_and_the_call_is_forgotten(worker: Player) -> None:
    client = ask(worker)
    assert worker.chunk(1, "a").status_code == 204
    wait_until(lambda: client.texts() == ["a"], "the first event, while the call goes on")
    for seq, text in enumerate("bcdef", 2):
        worker.chunk(seq, text, text.upper())
    worker.answer(result={})
    assert client.end() == {"type": "end"}
    assert "".join(client.texts()) == "abBcCdDeEfF"
    assert worker.calls() == 0
    assert worker.backend.sql("SELECT * FROM call_chunk") == []


def test_a_chunk_sent_twice_counts_once(worker: Player) -> None:
    client = ask(worker)
    for seq, text in ((1, "a"), (1, "a"), (2, "b"), (2, "b"), (1, "a")):
        assert worker.chunk(seq, text).status_code == 204
    worker.answer(result={})
    client.end()
    assert client.texts() == ["a", "b"]


def test_the_worker_api_may_be_another_process(worker: Player) -> None:
    with Backend(worker.backend.database_url, worker.backend.home) as other:
        client = ask(worker, caller=other)
        for seq in range(1, 40):
            worker.chunk(seq, f"{seq} ")
        wait_until(lambda: len(client.texts()) == 39, "all chunks")
        worker.answer(result={})
        assert client.end() == {"type": "end"}
        assert client.texts() == [f"{seq} " for seq in range(1, 40)]


def test_two_streams_side_by_side(worker: Player) -> None:
    first = ask(worker)
    with player(worker.backend) as other:
        second = ask(other)
        worker.chunk(1, "a")
        other.chunk(1, "x")
        worker.chunk(2, "b")
        wait_until(lambda: (first.texts(), second.texts()) == (["a", "b"], ["x"]), "both")
        other.answer(result={})
        second.end()
        worker.answer(result={})
        first.end()


def test_a_workers_error_is_the_last_event(worker: Player) -> None:
    client = ask(worker)
    worker.chunk(1, "a")
    worker.answer(error={"message": "No.", "code": "out_of_memory", "type": "server_error", "hint": "Less."})
    end = client.end()
    assert (end["type"], end["error"]["code"], end["error"]["hint"]) == ("error", "out_of_memory", "Less.")
    assert client.texts() == ["a"]


def test_without_a_worker_there_is_no_stream(backend: Backend) -> None:
    backend.add_model()
    response = backend.api.post("/sample", json=BODY)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "no_worker")


def test_a_waiting_client_gets_an_event(worker: Player) -> None:
    client = Client(worker.backend)
    client.start()
    waiting = {"type": "status", "message": "Waiting until a worker is free"}
    wait_until(lambda: client.events == [waiting], "the status")
    worker.take()
    worker.answer(result={})
    client.end()


def test_a_client_that_hangs_up_ends_the_call(worker: Player) -> None:
    client = ask(worker)
    worker.chunk(1, "a")
    wait_until(client.texts, "the first event")
    client.hang_up()
    wait_until(lambda: worker.chunk(2).status_code == 404, "the call's end")
    late = worker.chunk(2, "b")
    assert (late.status_code, late.json()["error"]["code"]) == (404, "call_not_found")
    assert worker.calls() == 0


def test_a_listener_that_died_ends_the_call(worker: Player) -> None:
    """Nobody is left to delete the call; its deadline, which only a listener renews, does it."""
    client = ask(worker)
    worker.backend.sql("UPDATE call SET deadline = now() - interval '1 s' WHERE id = %s", worker.call["id"])
    assert worker.chunk(1, "a").status_code == 404
    assert client.end()["error"]["code"] == "stream_stalled"


def test_a_listener_renews_its_lease(worker: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LISTENER_SECONDS", 3.0)
    client = ask(worker)

    def seconds_over() -> float:
        [(seconds,)] = worker.backend.sql(
            "SELECT extract(epoch FROM deadline - created_at)::float FROM call WHERE id = %s",
            worker.call["id"],
        )
        return float(seconds)

    wait_until(lambda: seconds_over() > 4.5, "a renewed deadline")
    assert worker.chunk(1, "a").status_code == 204
    worker.answer(result={})
    assert client.end() == {"type": "end"}


def test_a_dead_worker_ends_the_stream(worker: Player) -> None:
    client = ask(worker)
    worker.chunk(1, "a")
    worker.gone_for(31)
    end = client.end()
    assert (end["type"], end["error"]["code"]) == ("error", "worker_lost")
    assert client.texts() == ["a"]


def test_a_worker_that_has_restarted_under_its_name_has_lost_its_call(worker: Player) -> None:
    client = ask(worker)
    worker.register()  # its keep-alive changes nothing
    worker.chunk(1, "a")
    wait_until(client.texts, "the event")
    worker.register("two")
    assert client.end()["error"]["code"] == "worker_lost"


@pytest.mark.parametrize("death", ["silence", "restart"])
def test_other_calls_of_a_dead_worker_end_early_too(
    worker: Player, death: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.rpc.client.LOOK_AGAIN_SECONDS", 0.3)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(worker.backend.api.post, "/rewards", json={"name": "r", "source": REWARD})
        worker.take("validate")
        worker.gone_for(31) if death == "silence" else worker.register("two")
        answer = asking.result(20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "worker_lost")
    late = worker.answer(result={})
    assert late.status_code == 404


def test_silence_has_a_limit_that_events_renew(worker: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(stream, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    client = ask(worker)
    for seq in range(1, 4):
        clock[0] += 0.9 * service.QUIET_SECONDS
        worker.chunk(seq, "a")
        wait_until(lambda count=seq: len(client.texts()) == count, "the event")
    clock[0] += 1.1 * service.QUIET_SECONDS
    end = client.end()
    assert (end["error"]["code"], len(client.texts())) == ("call_timeout", 3)


def test_after_the_answer_nothing_is_taken(worker: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    client = ask(worker)
    worker.backend.sql("UPDATE call SET state = 'answered' WHERE id = %s", worker.call["id"])
    assert worker.chunk(1, "a").status_code in (404, 409)
    client.end()

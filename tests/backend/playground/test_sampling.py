"""From the request to a model and back: a real calls worker with its serving process, over HTTP."""

import os
import signal
from collections.abc import Iterator

import pytest

from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, Unavailable
from tests.backend.playground.player import Client
from tests.backend.playground.real import CHAT, MODEL, Real
from tests.backend.server import OWNER_KEY, Backend, wait_until


@pytest.fixture(scope="module")
def real(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    real = Real(backend, tmp_path_factory.mktemp("worker"))
    yield real
    real.stop()


@pytest.fixture
def client(real: Real) -> Iterator[Reinforge]:
    with Reinforge(real.backend.url, OWNER_KEY) as client:
        yield client


def test_base_and_checkpoint_side_by_side(real: Real) -> None:
    options = {"model": MODEL, "prompts": [CHAT], "temperature": 0.0, "max_tokens": 60}
    base, adapter = (
        Client(real.backend, **options),
        Client(real.backend, **options, checkpoint=real.checkpoint),
    )
    for client in (base, adapter):
        client.start()
    for client in (base, adapter):
        assert client.end() == {"type": "end"}
        [done] = [event for event in client.events if event["type"] == "done"]
        assert "".join(client.texts()) == done["text"]
    assert "".join(base.texts()) == "<answer>42</answer>"
    assert base.texts() != adapter.texts()


def test_the_sdk_reads_the_stream(client: Reinforge) -> None:
    options = {"prompts": [CHAT, CHAT], "samples_per_prompt": 2, "seed": 4}
    first = list(client.sample(MODEL, **options))
    done = {(event.prompt, event.sample): event.text for event in first if event.type == "done"}
    assert len(done) == 4 and first[-1].type == "end"
    again = {(e.prompt, e.sample): e.text for e in client.sample(MODEL, **options) if e.type == "done"}
    assert again == done


def test_errors_of_the_stream_are_raised(client: Reinforge) -> None:
    with pytest.raises(InvalidInput) as refused:
        list(client.sample("none", prompts=[CHAT]))
    assert refused.value.param == "model"
    long = [{"role": "user", "content": "1" * 3000}]
    with pytest.raises(InvalidInput) as overflow:
        list(client.sample(MODEL, prompts=[long]))
    assert (overflow.value.code, overflow.value.param) == ("context_overflow", "prompts[0]")


def test_leaving_the_stream_stops_the_worker(real: Real, client: Reinforge) -> None:
    long = {"prompts": [CHAT], "samples_per_prompt": 16, "temperature": 10.0, "max_tokens": 480}
    for event in client.sample(MODEL, **long):
        if event.type == "delta":
            break
    wait_until(lambda: not real.backend.sql("SELECT 1 FROM call WHERE kind = 'sample'"), "the call's end")
    events = list(client.sample(MODEL, prompts=[CHAT], temperature=0.0))
    assert events[-2].text == "<answer>42</answer>"


@pytest.mark.long
def test_the_death_of_the_serving_process_is_reported(real: Real, client: Reinforge) -> None:
    long = {"prompts": [CHAT], "samples_per_prompt": 16, "temperature": 10.0, "max_tokens": 480}
    with pytest.raises(Unavailable) as lost:
        for event in client.sample(MODEL, **long):
            if event.type == "delta" and (pid := real.serving.pid) is not None:
                os.kill(pid, signal.SIGKILL)
    assert lost.value.code == "serving_lost"
    assert list(client.sample(MODEL, prompts=[CHAT]))[-1].type == "end"

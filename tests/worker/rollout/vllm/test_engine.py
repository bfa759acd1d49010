"""The engine on a real server: it samples what the trainer would, in every version of the policy."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest

from tests.support.vllm_bench import STARTER, Bench, Trainer
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.rollout.engine import Generated, GenerateRequest, RequestQueue
from worker.rollout.vllm.api import ServerRefused

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # a start takes minutes on a busy machine
PROMPTS = ["12+34=", "7+8=", "90+5="]
TOLERANCE = 1e-4


@pytest.fixture(scope="module", autouse=True)
def published(bench: Bench, trainer: Trainer) -> None:
    """Version 1 is there."""
    trainer.move(1)
    bench.publish(1)


def running(bench: Bench) -> float:
    """Completions that the server works on now."""
    return bench.run(count_running(bench))


async def count_running(bench: Bench) -> float:
    assert bench.server.api is not None
    text = (await bench.server.api._client.get("/metrics")).text
    return sum(
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith(("vllm:num_requests_running", "vllm:num_requests_waiting{"))
    )


async def collect(bench: Bench, requests: list[GenerateRequest]) -> list[Generated]:
    return [answer async for answer in bench.engine.generate(requests)]


async def until_it_runs(bench: Bench) -> None:
    deadline = time.monotonic() + 10
    while not await count_running(bench) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)


def test_the_start_is_reported(bench: Bench) -> None:
    assert bench.stages[0] == "importing" and len(bench.stages) >= 3
    room, starting, ready = bench.messages[:3]  # its memory is free before it starts
    assert room == "room is made"
    assert starting.startswith("Starting vLLM") and ready.startswith("vLLM is ready after")


def test_log_probabilities_are_the_trainers(bench: Bench, trainer: Trainer) -> None:
    answers = bench.generate(trainer.ask(PROMPTS, version=1))
    assert [len(answer.samples) for answer in answers] == [3, 3, 3]
    assert trainer.gap(answers) < TOLERANCE
    assert trainer.gap(answers, base=True) > 0.01  # and not the base model's


def test_log_probabilities_follow_the_temperature(bench: Bench, trainer: Trainer) -> None:
    answers = bench.generate(trainer.ask(PROMPTS, version=1, temperature=0.7))
    assert trainer.gap(answers, temperature=0.7) < TOLERANCE


def test_greedy_has_log_probabilities_at_temperature_1(bench: Bench, trainer: Trainer) -> None:
    answers = bench.generate(trainer.ask(PROMPTS, version=1, temperature=0.0))
    assert trainer.gap(answers) < TOLERANCE
    assert len({sample.token_ids for sample in answers[0].samples}) == 1


def test_the_base_model_samples_beside_the_policy(bench: Bench, trainer: Trainer) -> None:
    requests = trainer.ask(PROMPTS, version=1) + trainer.ask(PROMPTS, policy=None)
    answers = bench.generate(requests)
    assert trainer.gap([a for a in answers if a.request.policy is None], base=True) < TOLERANCE
    assert trainer.gap([a for a in answers if a.request.policy is not None]) < TOLERANCE


def test_seeds_decide(bench: Bench, trainer: Trainer) -> None:
    """Equal requests give equal tokens; another step or prompt number does not, nor do two samples of a prompt."""
    requests = trainer.ask(["1+1="] * 2, n=4, version=1)
    first, again = bench.generate(requests), bench.generate(requests)
    other = bench.generate(trainer.ask(["1+1="] * 2, n=4, version=1, step=2))
    ids = [
        [sample.token_ids for answer in answers for sample in answer.samples]
        for answers in (first, again, other)
    ]
    assert ids[0] == ids[1] != ids[2]
    assert first[0].samples != first[1].samples
    assert len(set(ids[0])) > 4


def test_stop_ids_end_a_completion_and_stay_in_it(bench: Bench, trainer: Trainer) -> None:
    (free,) = bench.generate(trainer.ask(["12+34="], n=1, version=1, stop_ids=()))
    sample = free.samples[0]
    assert (
        sample.finish_reason == "length" and len(sample.token_ids) == 24
    )  # the model's own end ends nothing
    stop = sample.token_ids[5]
    place = sample.token_ids.index(stop)
    (cut,) = bench.generate(trainer.ask(["12+34="], n=1, version=1, stop_ids=(stop,)))
    assert cut.samples[0].finish_reason == "stop"
    assert cut.samples[0].token_ids == sample.token_ids[: place + 1]
    assert len(cut.samples[0].logprobs) == place + 1


def test_stop_texts_end_a_completion_and_stay_in_it(bench: Bench, trainer: Trainer) -> None:
    decode = trainer.tokenizer.decode
    (free,) = bench.generate(trainer.ask(["12+34="], n=1, version=1, stop_ids=()))
    text = decode(list(free.samples[0].token_ids[8:10]))
    (cut,) = bench.generate(trainer.ask(["12+34="], n=1, version=1, stop_ids=(), stop=(text,)))
    text_sampled = decode(list(cut.samples[0].token_ids))
    assert (
        cut.samples[0].finish_reason == "stop"
        and text_sampled.endswith(text)
        and text_sampled.count(text) == 1
    )


def test_every_version_samples_from_its_own_weights(bench: Bench, trainer: Trainer) -> None:
    """Ten syncs: prompts that the server has seen under another version are computed anew, old names and folders go."""
    began = time.monotonic()
    for version in range(2, 12):
        trainer.move(version)
        bench.publish(version)
        assert trainer.gap(bench.generate(trainer.ask(PROMPTS, version=version))) < TOLERANCE
    assert bench.server.api is not None
    names = bench.run(bench.server.api.names())
    assert names == ["base", *(adapter.name for adapter in bench.engine._adapters.held)] and len(names) == 2
    assert len(list(bench.server.adapters.iterdir())) == 2  # this one, and the one before until the next sync
    assert time.monotonic() - began < 60
    with pytest.raises(ValueError, match="requested policy version 1, but the engine has 11"):
        bench.generate(trainer.ask(PROMPTS, version=1))
    trainer.move(1)
    bench.publish(1)


def test_it_sleeps_through_an_update_and_wakes_with_all_adapters(bench: Bench, trainer: Trainer) -> None:
    """On the CPU vLLM keeps its memory: what is seen here is that nothing is answered asleep, and all of it after."""
    api = bench.server.api
    assert api is not None
    names, rooms = bench.run(api.names()), bench.messages.count("room is made")
    sleeps = bench.log.read_text().count("to fall asleep")
    bench.run(bench.engine.rest())
    bench.run(bench.engine.rest())  # asleep already

    async def ask() -> None:
        await asyncio.wait_for(api.score("base", (5, 6, 7), 1), 2)

    with pytest.raises(TimeoutError):
        bench.run(ask())
    assert trainer.gap(bench.generate(trainer.ask(PROMPTS, version=1))) < TOLERANCE
    assert bench.run(api.names()) == names
    bench.run(bench.engine.rest())
    trainer.move(12)
    bench.publish(12)
    assert trainer.gap(bench.generate(trainer.ask(PROMPTS, version=12))) < TOLERANCE
    assert bench.log.read_text().count("to fall asleep") == sleeps + 2
    assert bench.messages.count("room is made") == rooms + 2  # before each time that it takes its memory
    trainer.move(1)
    bench.publish(1)


def test_prompts_of_more_tokens_than_a_batch_holds_are_answered(bench: Bench, trainer: Trainer) -> None:
    """Seeded ones that are read in parts would end the server on the CPU."""
    texts = [f"{number}+1=" + "12+34=46 " * 30 for number in range(10, 26)]
    requests = trainer.ask(texts, n=1, version=1, max_tokens=2)
    assert sum(len(request.prompt_ids) for request in requests) > 2048
    before = bench.server.pid
    assert trainer.gap(bench.generate(requests)) < TOLERANCE
    assert bench.server.pid == before  # not started again


def test_answers_come_as_they_finish(bench: Bench, trainer: Trainer) -> None:
    """A long completion does not hold up the short ones."""
    long, short = (
        trainer.ask(["1+2="], n=1, version=1, max_tokens=400, stop_ids=()),
        trainer.ask(["3+4="], n=1, version=1, max_tokens=2),
    )

    async def order() -> list[int]:
        return [a.request.sampling.max_tokens async for a in bench.engine.generate(long + short)]

    assert bench.run(order()) == [2, 400]


def test_requests_join_those_that_run(bench: Bench, trainer: Trainer) -> None:
    """As turns of conversations do: a request is answered while an earlier one runs."""
    long, short, other, last = (
        trainer.ask([text], n=1, version=1, max_tokens=tokens, stop_ids=())[0]
        for text, tokens in (("1+2=", 400), ("3+4=", 2), ("5+6=", 3), ("7+8=", 2))
    )

    async def answers() -> list[Generated]:
        queue, generated = RequestQueue([long, short]), []
        async for answer in bench.engine.generate_from(queue):
            generated.append(answer)
            if answer.request is short:
                queue.add(other)
            elif answer.request is long:
                await asyncio.sleep(1.5)  # nothing runs: the engine waits for what comes
                queue.add(last)
                queue.close()
        return generated

    generated = bench.run(answers())
    assert [answer.request for answer in generated] == [short, other, long, last]
    assert trainer.gap(generated) < TOLERANCE


def test_cancel_ends_what_waits_for_requests(bench: Bench, trainer: Trainer) -> None:
    async def answers() -> list[Generated]:
        asyncio.get_running_loop().call_later(0.1, bench.engine.cancel)
        return [answer async for answer in bench.engine.generate_from(RequestQueue())]

    assert bench.run(answers()) == []
    assert bench.generate(trainer.ask(["1+1="], version=1))  # and the next request is not cancelled


def has_tokens(bench: Bench) -> bool:
    """Whether each completion that runs has some."""
    running_requests = bench.engine._running
    assert running_requests is not None
    return all(state.token_ids for states in running_requests._growing.values() for state in states)


def test_cancel_ends_what_runs_and_keeps_what_there_is(bench: Bench, trainer: Trainer) -> None:
    requests = trainer.ask(PROMPTS, n=8, version=1, max_tokens=480, stop_ids=())

    async def cancel_once_it_runs() -> list[Generated]:
        answering = asyncio.ensure_future(collect(bench, requests))
        await until_it_runs(bench)
        while not has_tokens(bench):
            await asyncio.sleep(0.01)
        bench.engine.cancel()
        return await answering

    began = time.monotonic()
    answers = bench.run(cancel_once_it_runs())
    assert time.monotonic() - began < 10
    samples = [sample for answer in answers for sample in answer.samples]
    assert len(samples) == 24 and {sample.finish_reason for sample in samples} == {"cancelled"}
    assert all(len(s.token_ids) == len(s.logprobs) < 480 for s in samples) and samples[0].token_ids
    deadline = time.monotonic() + 10
    while running(bench) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running(bench) == 0  # the server has let go of them too
    assert bench.generate(trainer.ask(["1+1="], version=1))  # and the next request is not cancelled


def test_an_answer_that_nobody_takes_is_aborted(bench: Bench, trainer: Trainer) -> None:
    async def leave() -> None:
        generator = bench.engine.generate(
            trainer.ask(["1+1=", "2+2="], n=8, version=1, max_tokens=480, stop_ids=())
        )
        task = asyncio.ensure_future(generator.__anext__())
        await until_it_runs(bench)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await generator.aclose()
        await asyncio.sleep(1.0)

    bench.run(leave())
    assert running(bench) == 0


# ── Facts about the server that the code leans on ──────────────────────────────────────────────────────────────


def test_an_adapter_of_too_high_a_rank_is_refused(bench: Bench, trainer: Trainer, tmp_path: Path) -> None:
    policy = LocalHost(load_base_model(STARTER)).create_policy(
        "large", rank=16, alpha=8, targets="all-linear", seed=0
    )
    policy.export(tmp_path / "large", base_model="starter-arith")
    assert bench.server.api is not None
    with pytest.raises(ServerRefused, match="rank"):
        bench.run(bench.server.api.load("large", tmp_path / "large"))


def test_an_adapter_folder_that_is_missing_is_refused_and_ends_nothing(
    bench: Bench, trainer: Trainer
) -> None:
    assert bench.server.api is not None
    with pytest.raises(ServerRefused):
        bench.run(bench.server.api.load("nowhere", Path("/nowhere")))
    assert bench.generate(trainer.ask(["1+1="], version=1))


def test_the_socket_is_the_only_way_in(bench: Bench) -> None:
    folder = bench.server.adapters.parent
    assert folder.stat().st_mode & 0o077 == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get("http://127.0.0.1:8000/health", timeout=2)

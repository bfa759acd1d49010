"""Jobs with environment `tools`, on a tiny model whose turns call tools at random."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from reinforge.environment_spec import McpSource
from reinforge.records import Record, StepMetrics
from reinforge.spec import JobSpec
from tests.support.mcp_stub import Faults, McpStub
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from tests.support.tool_texts import NOTE, CallingTexts, NoTools, PlainRunner
from worker.environment.base import Prompt
from worker.environment.tools.base import ToolRequest, ToolResult, ToolRunner
from worker.environment.tools.environment import ToolsEnvironment
from worker.environment.tools.runner import Tools
from worker.environment.tools.servers import ToolServers
from worker.policy.base import Batch, ForwardBackward, LossFunction, LossValue, TokenScores
from worker.rollout.collect import ProgressCallback
from worker.rollout.engine import Generated, GenerateRequest
from worker.sandbox.outcome import RewardRow, RowResult
from worker.training.batch import StepBatch
from worker.training.credit import Credit
from worker.training.reporting.job_reporter import JobReporter

END_IDS = (1, *range(20, 80))
"""Many tokens end a turn, so that a random model has several turns."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


def tools_spec(**changes: Any) -> JobSpec:
    settings = {"type": "tools", "sources": [{"type": "python", "source": NOTE}], "max_turns": 4}
    return small_spec(**{"environment": settings, "rollout__max_completion_tokens": 24, **changes})


def tools_job(folder: Path, model: Path, spec: JobSpec, runner: ToolRunner, **options: Any) -> SmallJob:
    def environment(job: SmallJob) -> ToolsEnvironment:
        assert spec.environment.type == "tools"
        most = spec.rollout.max_completion_tokens
        texts = CallingTexts(job.tokenizer)
        return ToolsEnvironment(
            spec.environment,
            runner,
            texts,
            texts,
            stop_ids=END_IDS,
            context=200,
            most=most,
            with_call_spans=spec.algorithm.selection.needs_tools,
        )

    job = SmallJob(folder, model, spec, environment=environment, **options)
    job.stop_ids = END_IDS
    return job


def adapters(job: SmallJob) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in job.policy.weights().items()}


def equal(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def values(record: Record) -> dict[str, Any]:
    assert isinstance(record, StepMetrics)
    return record.values


def rewards(job: SmallJob) -> list[float]:
    return [values(record)["reward/mean"] for record in job.records("step_metrics")]


@contextmanager
def reported_steps(steps: list[tuple[StepBatch, Credit]]) -> Iterator[None]:
    completions = JobReporter.completions

    def reported(self: JobReporter, step: int, batch: StepBatch, credit: Credit, done: Any) -> None:
        steps.append((batch, credit))
        completions(self, step, batch, credit, done)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobReporter, "completions", reported)
        yield


class Recorded:
    """The job's engine, with what it answered."""

    def __init__(self, job: SmallJob) -> None:
        self.answers: list[Generated] = []
        self._generate = job.engine.generate
        job.engine.generate = self.generate  # type: ignore[method-assign]

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        async for answer in self._generate(requests):
            self.answers.append(answer)
            yield answer


def test_turns_are_reported_before_a_group_has_ended(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a long step with many turns is not taken for a trainer that hangs."""
    reports: list[tuple[str, int]] = []

    def sampling(reporter: JobReporter, step: int, prompts: Sequence[Prompt]) -> ProgressCallback:
        return lambda phase, done, total, rows: reports.append((phase, done))

    monkeypatch.setattr(JobReporter, "sampling", sampling)
    spec = tools_spec(limits__steps=1, evaluation__rows=0, data__held_out_rows=0)
    assert tools_job(tmp_path, model, spec, PlainRunner()).train().outcome == "succeeded"
    first_turns = [("generating", 0)] * spec.rollout.prompts_per_step
    assert reports[: len(first_turns)] == first_turns
    assert ("generating", spec.rollout.prompts_per_step) in reports


def test_every_token_is_the_prompts_or_sampled_or_the_templates(tmp_path: Path, model: Path) -> None:
    rows: list[RewardRow] = []

    def grade(row: RewardRow) -> float:
        rows.append(row)
        return float(len(row.sample["tool_calls"]))

    spec = tools_spec(limits__steps=2, evaluation__rows=0, data__held_out_rows=0)
    job = tools_job(tmp_path, model, spec, PlainRunner(), grade=grade)
    engine = Recorded(job)
    assert job.train().outcome == "succeeded"
    diagnosed = {
        "tools/use_share",
        "tools/all_wrong_share",
        "tools/calls_per_rollout",
        "tools/invalid_share",
        "tools/failure_share",
    }
    assert diagnosed <= values(job.records("step_metrics")[0]).keys()

    histories: dict[tuple[int, int, int], list[tuple[GenerateRequest, tuple[int, ...]]]] = {}
    for answer in engine.answers:
        noise = answer.request.noise
        for place, sample in enumerate(answer.samples):
            key = (noise.step, noise.prompt_no, noise.sample_no + place)
            histories.setdefault(key, []).append((answer.request, sample.token_ids))
    turns = [len(history) for history in histories.values()]
    assert max(turns) > 2
    assert min(turns) == 1
    suffix_begins = CallingTexts(job.tokenizer).plain_ids("<tool>")
    for history in histories.values():
        prompt = history[0][0].prompt_ids
        for (request, ids), (following, _) in pairwise(history):
            whole = (*request.prompt_ids, *ids)
            assert following.prompt_ids[: len(whole)] == whole
            assert following.prompt_ids[len(whole) :][: len(suffix_begins)] == suffix_begins
            assert following.noise.first_token == len(following.prompt_ids) - len(prompt)
    assert sum(len(row.sample["tool_calls"]) for row in rows) > 10
    for row in rows:
        conversation = row.sample["messages"]
        assert conversation[: len(row.prompt)] == row.prompt
        assert [call["id"] for call in row.sample["tool_calls"]] == [
            message["tool_call_id"] for message in conversation if message["role"] == "tool"
        ]


def test_the_reward_of_the_rows_reaches_only_the_policys_tokens(tmp_path: Path, model: Path) -> None:
    """Log-probabilities of 1e9 at all other tokens change nothing, with an old policy and a reference."""
    spec = tools_spec(
        limits__steps=2, evaluation__rows=0, algorithm={"updates_per_step": 2, "loss": {"kl": {"beta": 0.01}}}
    )
    job = tools_job(tmp_path / "a", model, spec, PlainRunner())
    job.train()

    other = tools_job(tmp_path / "b", model, spec, PlainRunner())
    run = other.policy.forward_backward
    foreign = 0

    def forward_backward(batch: Batch, loss: LossFunction) -> ForwardBackward:
        def with_nonsense(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
            nonlocal foreign
            mask = tensors["mask"]
            foreign += int((~mask).sum())
            scored = {
                name: torch.where(mask, tensor, 1e9) if name.endswith("logprobs") else tensor
                for name, tensor in tensors.items()
            }
            return loss(replace(scores, logprobs=torch.where(mask, scores.logprobs, 1e9)), scored)

        return run(batch, with_nonsense)

    other.policy.forward_backward = forward_backward  # type: ignore[method-assign]
    other.train()
    assert foreign > 50
    assert equal(adapters(job), adapters(other))


def test_one_turn_without_tools_is_a_single_turn_to_the_bit(tmp_path: Path, model: Path) -> None:
    single = SmallJob(tmp_path / "a", model, small_spec(limits__steps=5))
    single.train()
    spec = small_spec(limits__steps=5, environment={"type": "tools", "max_turns": 1})
    job = tools_job(tmp_path / "b", model, spec, NoTools())
    job.stop_ids = single.stop_ids
    job.train()
    assert equal(adapters(single), adapters(job))
    assert rewards(single) == rewards(job)
    assert len(rewards(job)) == 5


class DyingRunner(PlainRunner):
    def __init__(self, calls: int) -> None:
        super().__init__()
        self._calls = calls

    def run(self, requests: Sequence[ToolRequest]) -> list[ToolResult]:
        self._calls -= 1
        if self._calls < 0:
            raise ConnectionError("the process ends here")
        return super().run(requests)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[tuple[SmallJob, PlainRunner]]:
    runner = PlainRunner()
    job = tools_job(tmp_path_factory.mktemp("whole"), model, tools_spec(), runner)
    job.train()
    yield job, runner


def test_a_job_that_ends_within_a_turn_and_resumes_is_equal_to_the_bit(
    tmp_path: Path, model: Path, whole: tuple[SmallJob, PlainRunner]
) -> None:
    complete, runner = whole
    # Near the end of the third step of four: the second has a resume state.
    dying = tools_job(tmp_path / "a", model, tools_spec(), DyingRunner(len(runner.requests) - 6))
    with pytest.raises(ConnectionError):
        dying.train()
    state = dying.blob(dying.records("resume_state_saved")[-1])
    rest = tools_job(tmp_path / "b", model, tools_spec(), PlainRunner(), resume=state)
    assert rest.position.step == 2
    rest.train()
    assert equal(adapters(complete), adapters(rest))


def test_a_resumed_job_repeats_what_a_server_returned(tmp_path: Path, model: Path) -> None:
    """Each call of this server returns another number: a job that made its calls again would learn something else."""

    def script(stub: McpStub, message: dict[str, Any]) -> Faults | None:
        if message["method"] != "tools/call":
            return None
        return Faults(result={"content": [{"type": "text", "text": f"number {len(stub.calls())}"}]})

    def attempt(folder: Path, record: Path, resume: bytes | None = None) -> SmallJob:
        servers = ToolServers({0: McpSource(url=stub.url)}, None, secret=lambda _: None, recorded=record)
        tools = Tools({"server": servers.by_number[0]})
        spec = tools_spec(limits__steps=2, limits__checkpoint_every=1, evaluation__rows=0)
        job = tools_job(folder, model, spec, tools, resume=resume)
        try:
            job.train()
        finally:
            servers.close()
        return job

    record = tmp_path / "calls.sqlite"
    with McpStub(script, tools=[{"name": "note", "inputSchema": {"type": "object"}}]) as stub:
        whole = attempt(tmp_path / "whole", record)
        calls = len(stub.calls())
        state = whole.blob(whole.records("resume_state_saved")[0])
        rest = attempt(tmp_path / "rest", record, state)
        assert rest.records("step_metrics") and len(stub.calls()) == calls > 10
        assert equal(adapters(whole), adapters(rest))


def test_calls_of_a_turn_are_one_call_of_the_runner(whole: tuple[SmallJob, PlainRunner]) -> None:
    _, runner = whole
    # 4 steps and 3 evaluations of at most 4 turns each.
    assert 0 < len(runner.requests) <= 28
    assert max(len(requests) for requests in runner.requests) > 3


def test_turns_are_credited_one_by_one(tmp_path: Path, model: Path) -> None:
    """GAGPO with one ratio per turn: tokens of a turn share an advantage, and turns of a rollout differ."""
    spec = tools_spec(limits__steps=2, evaluation__rows=0, algorithm={"preset": "gagpo"})
    job = tools_job(tmp_path, model, spec, PlainRunner())
    before = adapters(job)
    assert job.train().outcome == "succeeded"
    assert not equal(before, adapters(job))
    assert [values(record)["rollout/turns_mean"] > 1 for record in job.records("step_metrics")] == [
        True,
        True,
    ]


def test_the_decision_to_call_is_scored_at_every_token_and_credited(tmp_path: Path, model: Path) -> None:
    """IH-GRPO: where the execute token was sampled, its score is that of the sampled token."""
    algorithm: dict[str, Any] = {
        "preset": "ih_grpo",
        "loss": {"aux": {"weight": 1.0, "execute_token": "<assistant>"}},
    }
    spec = tools_spec(limits__steps=2, evaluation__rows=0, rollout__temperature=1.3, algorithm=algorithm)
    job = tools_job(tmp_path / "a", model, spec, PlainRunner())
    run = job.policy.forward_backward
    executed = 0

    def forward_backward(batch: Batch, loss: LossFunction) -> ForwardBackward:
        def checked(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
            nonlocal executed
            assert scores.execute_logprobs is not None and scores.execute_logits is not None
            chosen = tensors["executed"] & tensors["mask"]
            executed += int(chosen.sum())
            torch.testing.assert_close(scores.execute_logprobs[chosen], scores.logprobs[chosen])
            return loss(scores, tensors)

        return run(batch, checked)

    job.policy.forward_backward = forward_backward  # type: ignore[method-assign]
    assert job.train().outcome == "succeeded"
    assert executed > 3

    algorithm["loss"] = {"aux": {"type": "none"}}
    plain = tools_spec(limits__steps=2, evaluation__rows=0, rollout__temperature=1.3, algorithm=algorithm)
    other = tools_job(tmp_path / "b", model, plain, PlainRunner())
    other.train()
    assert not equal(adapters(job), adapters(other))


def test_failed_calls_are_sampled_again_and_credited_apart(tmp_path: Path, model: Path) -> None:
    """AXPO: continuations share the source's first tokens; each token is trained at most once."""
    selection = {"type": "axpo", "branches": 2, "extra": 0.5}
    spec = tools_spec(
        limits__steps=3, evaluation__rows=0, algorithm={"preset": "axpo", "selection": selection}
    )
    steps: list[tuple[StepBatch, Credit]] = []

    def run(folder: Path) -> SmallJob:
        job = tools_job(folder, model, spec, PlainRunner(), grade=first_number_is_even)
        assert job.train().outcome == "succeeded"
        return job

    with reported_steps(steps):
        job = run(tmp_path / "a")
    branched = 0
    for batch, credit in steps:
        rows = batch.rows
        if rows.source is None:
            continue
        for row in (rows.source >= 0).nonzero()[:, 0].tolist():
            branched += 1
            source = int(rows.source[row])
            one, other = batch.rollouts[row], batch.rollouts[source]
            assert other.call_span is not None
            cut = other.call_span[0]
            assert one.token_ids[:cut] == other.token_ids[:cut]
            assert one.sampler_logprobs[:cut] == other.sampler_logprobs[:cut]
            assert one.prompt_no == other.prompt_no
            assert one.turns[0].start == 0
            assert one.action_mask[:cut] == (True,) * cut
            assert not credit.trained[row, :cut].any()
            assert not credit.trained[source, cut:].any()
            assert credit.trained[row].equal(rows.mask[row] & (torch.arange(rows.mask.shape[1]) >= cut))
            assert credit.weights is not None
            assert credit.weights[row] == spec.rollout.completions_per_prompt / 2
        pairs = [(rollout.prompt_no, rollout.sample_no) for rollout in batch.rollouts]
        assert len(set(pairs)) == len(pairs)
    assert branched >= 4
    assert equal(adapters(job), adapters(run(tmp_path / "b")))


def first_number_is_even(row: RewardRow) -> float:
    calls = row.sample["tool_calls"]
    return float(len(row.completion) % 2 if not calls else sum(map(ord, calls[0]["arguments"])) % 4 == 0)


def policy_turns(row: RewardRow) -> int:
    return sum(message["role"] == "assistant" for message in row.sample["messages"])


@pytest.mark.parametrize("preset", ["gagpo", "grpo_process"])
def test_values_of_turns_reach_the_advantages(tmp_path: Path, model: Path, preset: str) -> None:
    def by_turn(row: RewardRow) -> RowResult:
        count = policy_turns(row)
        # The second turn has no value.
        return RowResult(
            "ok", 0.5, turns=[(0.1 * n + len(row.completion) % 3, n) for n in range(count) if n != 1]
        )

    rewards = [{"type": "python", "name": "low", "source": "def grade(sample, item): ...", "weight": 2.0}]
    spec = tools_spec(
        limits__steps=1,
        evaluation__rows=0,
        data__held_out_rows=0,
        algorithm={"preset": preset},
        rewards=rewards,
    )
    job, steps = (
        tools_job(tmp_path, model, spec, PlainRunner(), grade=by_turn),
        list[tuple[StepBatch, Credit]](),
    )
    before = adapters(job)
    with reported_steps(steps):
        assert job.train().outcome == "succeeded"
    assert not equal(before, adapters(job))
    ((batch, credit),) = steps
    turns, ends = batch.rows.turns, batch.rows.steps
    assert turns is not None and ends is not None
    expected, values = [], {}
    for number, rollout in enumerate(batch.rollouts):
        for turn in rollout.turns:
            value = 0.0 if turn.no == 1 else 2.0 * (0.1 * turn.no + len(rollout.text) % 3)
            expected.append(value)
            if turn.no != 1:
                values[number, turn.end] = value
    assert turns.rewards.tolist() == pytest.approx(expected)
    assert len(set(expected)) > 3
    placed = zip(ends.row.tolist(), ends.end.tolist(), ends.values.tolist(), strict=True)
    assert {(row, end): value for row, end, value in placed} == pytest.approx(values)
    assert credit.rewards.tolist() == pytest.approx([1.0] * len(batch.rollouts))
    per_turn = [
        {float(credit.advantages[number, column]) for column in range(turn.start, turn.end)}
        for number, rollout in enumerate(batch.rollouts)
        for turn in rollout.turns
    ]
    assert all(len(same) == 1 for same in per_turn)


def test_a_value_of_a_turn_that_is_not_there_is_the_rows_error(tmp_path: Path, model: Path) -> None:
    def beyond(row: RewardRow) -> RowResult:
        count = policy_turns(row)
        return RowResult("ok", 0.5, turns=[(1.0, count if count == 2 else count - 1)])

    spec = tools_spec(limits__steps=1, evaluation__rows=0, data__held_out_rows=0, limits__error_share=1.0)
    job, steps = (
        tools_job(tmp_path, model, spec, PlainRunner(), grade=beyond),
        list[tuple[StepBatch, Credit]](),
    )
    with reported_steps(steps):
        job.train()
    for rollout in steps[0][0].rollouts:
        assert rollout.score is not None
        (result,) = rollout.score.results
        assert (result.status == "bad_value") == (len(rollout.turns) == 2)
        assert rollout.score.dropped == (len(rollout.turns) == 2)
        assert result.status == "ok" or "no turn 2; the completion has 2" in str(result.message)

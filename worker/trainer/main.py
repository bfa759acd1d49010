"""The trainer process: `python -m worker.trainer.main --run DIR [--offline]`. Exits with 0 after an `ended`
record.
"""

import gc

if __name__ == "__main__":
    gc.disable()  # the imports below leave no garbage, and looking for it takes a sixth of their time

import argparse
import asyncio
import dataclasses
import faulthandler
import importlib.metadata
import os
import signal
import sys
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from transformers.utils.logging import disable_progress_bar

from reinforge.environment_spec import ToolsSpec
from reinforge.errors import JobFailure
from reinforge.net.outbound import Guard
from reinforge.records import Command, Ended, Phase, RewardChange, RewardCode, RunManifest, Started
from reinforge.reward_spec import PythonReward
from reinforge.spec import JobSpec
from worker.environment.agent.client import BackendAccess
from worker.environment.tools.servers import ToolServers
from worker.machine import settings
from worker.machine.cpu_share import give_way_on_processor
from worker.machine.kind import machine_kind
from worker.machine.memory import is_out_of_memory
from worker.policy.critic import LoraCritic
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel, load_with_tokenizer
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.group import RANK_LOST
from worker.policy.ranks.ranked import RankedCritic, RankedPolicy
from worker.policy.sharded import share_in_words
from worker.rewards.assemble import RaterServices, job_scorer, live_reward, needs_sandbox
from worker.rewards.columns import check_columns
from worker.rewards.composite import CompositeScorer
from worker.rewards.judge.ledger import Ledger
from worker.rewards.sandbox_access import sandbox_client
from worker.rewards.sandboxed import sandbox_call
from worker.rewards.secrets import take_secrets
from worker.rollout.agents import AgentSampler
from worker.rollout.engine import RolloutEngine
from worker.sandbox.client import SandboxClient
from worker.trainer.engines import check_engine, rollout_engine
from worker.trainer.environment import agent_sampler, call_texts, connected, job_environment
from worker.trainer.models import POLICY, trained_models
from worker.trainer.plugins import checked_spec
from worker.trainer.progress_bar import ProgressDisplay
from worker.trainer.ranks import OtherRanks, all_loaded, rank_processes
from worker.trainer.reporter import FolderReporter, LocalReporter, PipeReporter
from worker.training.attack import attack_facts
from worker.training.changes import Changes
from worker.training.checkpoint.fork import from_adapter, start_of, start_weights
from worker.training.checkpoint.resume_state import Position, unpack_resume_state
from worker.training.job_end import End, end_of
from worker.training.loop import Control, Models, RolloutSource, TrainingOutcome, train
from worker.training.prompts.data import JobPrompts, load_prompts
from worker.training.prompts.lengths import continuation_room, conversation_limit, prompt_limit
from worker.training.prompts.model_texts import ModelTexts
from worker.training.reporting.job_reporter import JobReporter
from worker.training.reporting.metrics import peak_memory_gib

SANDBOX_PATIENCE_SECONDS = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m worker.trainer.main", description="Train one job.")
    parser.add_argument("--run", type=Path, required=True, help="folder with run.json")
    parser.add_argument("--offline", action="store_true", help="no supervisor: draw a progress bar")
    arguments = parser.parse_args()
    # Progress bars and deprecation warnings of libraries do not belong in the trainer's log.
    disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    # The supervisor requests the stack of every thread when the trainer hangs, even inside a library.
    faulthandler.register(signal.SIGUSR1)
    settings.hide_devices()
    settings.use_local_device()
    if not arguments.offline:
        give_way_on_processor()
    folder: Path = arguments.run
    manifest = RunManifest.model_validate_json((folder / "run.json").read_text(encoding="utf-8"))
    with (
        offline_reporter(folder, manifest)
        if arguments.offline
        else pipe_reporter(folder, manifest) as reporter
    ):
        job = TrainerJob(manifest, reporter, offline=arguments.offline)
        job.run()
        if arguments.offline and job.policy is not None and job.position.step > 0:
            job.policy.export(folder / "adapter", base_model=job.spec.model)


class TrainerJob:
    """One attempt at a job. Its parts are attributes, so that a failure can save those that exist."""

    def __init__(self, manifest: RunManifest, reporter: FolderReporter, *, offline: bool = False) -> None:
        self.manifest = manifest
        self.reporter = reporter
        self.offline = offline
        self.spec: JobSpec
        """Specification, after the check that this machine can train it."""
        self.position = Position()
        self.policy: LoraPolicy | None = None
        self.ranked: RankedPolicy | None = None
        self.critic: LoraCritic | None = None
        self.job_reporter: JobReporter | None = None
        self.scorer: CompositeScorer | None = None
        self.services: RaterServices | None = None
        self.secrets = take_secrets()
        self.servers: ToolServers | None = None

    def run(self) -> End:
        try:
            outcome = self._train()
            end = End(outcome.outcome, outcome.reason)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - here an error becomes a named end; a library's panic, too
            end = end_of(error)
            # Raised between two parts of a step, with no room for the rest of it: the last whole state counts.
            whole = end.reason != "disk_full" and not is_out_of_memory(error)
            if whole and (end.outcome == "paused" or end.reason == RANK_LOST):
                self._save_state()
        finally:
            if self.scorer is not None:
                self.scorer.close()
            if self.servers is not None:
                self.servers.close()
        fields = dataclasses.asdict(end)
        self.reporter.report(Ended, step=self.position.step, **fields)
        return end

    def _save_state(self) -> None:
        if self.job_reporter is None or self.policy is None:
            return
        if self.scorer is not None:
            self.position.rewards = self.scorer.state()
        try:
            self.job_reporter.resume_state(self.position, self.policy, self.critic)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self.job_reporter.log(
                "warning", "No memory for a resume state: the last one counts", self.position.step
            )

    def _train(self) -> TrainingOutcome:
        self.reporter.report(Phase, phase="loading", step=0)
        self.spec = checked_spec(self.manifest.spec)
        with rank_processes(self.spec.devices_per_job, self.reporter.folder) as others:
            return self._train_on(others)

    def _train_on(self, others: OtherRanks | None) -> TrainingOutcome:
        manifest, reporter, spec = self.manifest, self.reporter, self.spec
        engine_versions = check_engine(spec, Path(manifest.model_path))
        texts = ModelTexts(Path(manifest.model_path))
        sharded = None
        if others is not None and spec.base.sharded:
            sharded = others.join(sharded=True).group
        base = load_with_tokenizer(
            texts.folder, texts.load, precision=spec.base.precision, sharded=spec.base.sharded
        )
        texts.vocabulary = base.model.get_input_embeddings().num_embeddings
        reporter.report(Phase, phase="loading", step=0)
        with nullcontext() if sharded is None else all_loaded(sharded):
            made = trained_models(spec, base, texts.folder, ranks=spec.devices_per_job)
        host, policy, critic = made.host, made.policy, made.critic
        self._load(policy, critic)
        reporter.rewind(self.position.step)
        reporter.report(Phase, phase="loading", step=0)
        spec = self._connect_tools()
        prompts = self._prompts(base, texts)
        with sandbox_client(manifest.sandbox_socket, patience=SANDBOX_PATIENCE_SECONDS) as client:
            runs_code = needs_sandbox(manifest) or (
                isinstance(spec.environment, ToolsSpec) and spec.environment.runs_code
            )
            jail = proved_jail(client) if runs_code else None
            if jail is not None:
                client.hold_to(jail)
            if self.offline:
                check_columns(spec, manifest, client, self._columns(prompts))
            scorer = self._scorer(client)
            self.policy, self.critic = policy, critic
            self.job_reporter = JobReporter(
                reporter, texts.pieces, model=spec.model, revisions=lambda: scorer.revisions
            )
            models = self._models(others)
            facts = host.facts | policy.passes.facts | {"layout": policy.layout}
            facts |= {} if others is None else {"ranks": spec.devices_per_job}
            facts |= {"engine": spec.rollout.engine, "jail": jail, "versions": versions() | engine_versions}
            facts |= {"machine": machine_kind()}
            facts |= {"memory_gib": peak_memory_gib(), "held_out_rows": len(prompts.held_out)}
            facts |= {"leaked_rows": prompts.leaked_rows, "training_prompts": prompts.different}
            facts |= attack_facts(spec, scorer, prompts.train)
            self._report_start(facts)
            self._log_setup(facts, prompts)
            rollouts = self._rollouts(base, texts, host, prompts, client)
            changes = Changes(manifest.changes, self._replace_reward, reporter, self.job_reporter)
            training = train(
                spec,
                models,
                rollouts,
                prompts,
                self.position,
                Control(reporter, self.job_reporter, changes),
            )
            return asyncio.run(_closing(rollouts, training))

    def _models(self, others: OtherRanks | None) -> Models:
        policy, critic = self.policy, self.critic
        assert policy is not None and self.job_reporter is not None
        if others is None:
            return Models(policy, critic)
        ranks = others.join(sharded=self.spec.base.sharded)
        ranks.note = partial(self.job_reporter.log, "info")
        if self.spec.base.sharded:
            ranks.note(share_in_words(policy.base_model, self.spec.devices_per_job))
        self.ranked = RankedPolicy(policy, ranks)
        return Models(self.ranked, None if critic is None else RankedCritic(critic, ranks))

    def _load(self, policy: LoraPolicy, critic: LoraCritic | None) -> None:
        manifest, state, critic_state = self.manifest, None, None
        if manifest.resume_path is not None:
            resume, fork = Path(manifest.resume_path).read_bytes(), manifest.fork
            self.position, state, critic_state = (
                unpack_resume_state(resume) if fork is None else start_of(resume, fork, POLICY)
            )
        if manifest.start_path is not None:
            archive = Path(manifest.start_path).read_bytes()
            state = from_adapter(start_weights(archive, POLICY, policy.weights()), state)
        if state is not None:
            policy.load_state(state)
        if critic is not None and critic_state is not None:
            critic.load_state(critic_state)

    def _connect_tools(self) -> JobSpec:
        guard = None if self.offline else Guard.allowing(settings.allowed_hosts())
        self.spec, self.servers = connected(
            self.spec, guard=guard, signing=self.secrets.signing, record=self.manifest.tool_record
        )
        return self.spec

    def _rollouts(
        self,
        base: LoadedModel,
        texts: ModelTexts,
        host: LocalHost,
        prompts: JobPrompts,
        client: SandboxClient,
    ) -> RolloutSource:
        assert self.scorer is not None and self.servers is not None
        context = conversation_limit(self.spec, base.context_length, prompts.max_tokens)
        engine = self._engine(base, texts, host, context)
        return RolloutSource(
            engine,
            job_environment(self.spec, base, texts, client, self.servers, context),
            self.scorer,
            texts.completions,
            base.stop_ids,
            call_texts(prompts, texts),
            agent_sampler(self.spec, base, texts, engine, self._access(), context, self._warn),
        )

    def _access(self) -> BackendAccess | None:
        secrets, manifest = self.secrets, self.manifest
        if secrets.backend_url is None or secrets.job_token is None:
            return None
        return BackendAccess(secrets.backend_url, manifest.job, manifest.attempt, secrets.job_token)

    def _warn(self, message: str) -> None:
        assert self.job_reporter is not None
        self.job_reporter.log("warning", message, self.position.step)

    def _engine(self, base: LoadedModel, texts: ModelTexts, host: LocalHost, longest: int) -> RolloutEngine:
        assert self.policy is not None and self.job_reporter is not None
        folders = Path(self.manifest.model_path), self.reporter.folder
        return rollout_engine(
            self.spec, base, texts, host, self.policy, self.job_reporter, *folders, longest, self.ranked
        )

    def _scorer(self, client: SandboxClient) -> CompositeScorer:
        spec, manifest = self.spec, self.manifest
        services = RaterServices(
            call=sandbox_call(client),
            run_programs=client.run_programs,
            judges=manifest.judges,
            own_judges=self.offline,
            secrets=self.secrets,
            guard=Guard.allowing(settings.allowed_hosts()),
            ledger=Ledger.resumed(spec.limits.judge_budget, self.position.rewards),
            cache_path=Path(manifest.judge_cache) if manifest.judge_cache else None,
            checkpoints={"": manifest.model_path} | manifest.checkpoints,
        )
        self.services, self.scorer = services, job_scorer(spec, manifest, services)
        return self.scorer

    def _replace_reward(self, change: RewardChange) -> None:
        assert self.scorer is not None and self.services is not None
        (reward,) = (candidate for candidate in self.spec.rewards if candidate.name == change.name)
        if isinstance(reward, PythonReward):
            reward = reward.model_copy(update={"entry": change.entry})
        suffix = "py" if change.kind == "python" else "json"
        path = (
            self.reporter.folder / "rewards" / f"{change.name}@{change.revision.rpartition('@')[2]}.{suffix}"
        )
        path.write_text(change.source, encoding="utf-8")
        code = RewardCode(name=change.name, path=str(path), revision=change.revision, kind=change.kind)
        self.scorer.replace(live_reward(reward, code, self.services))

    def _prompts(self, base: LoadedModel, texts: ModelTexts) -> JobPrompts:
        spec, manifest = self.spec, self.manifest
        held_out = Path(manifest.held_out_path) if manifest.held_out_path else None
        tools = None
        if isinstance(spec.environment, ToolsSpec):
            tools = [schema.model_dump() for schema in spec.environment.schemas()]
        prompts = load_prompts(
            spec.data,
            Path(manifest.dataset_path),
            held_out,
            renderer=texts,
            seed=spec.seed,
            max_tokens=prompt_limit(spec, base.context_length),
            numbers=manifest.dataset_numbers,
            held_out_numbers=manifest.held_out_numbers,
            tools=tools,
        )
        longest = prompts.check()
        if spec.rollout.engine != "vllm":
            return prompts
        # The server is started for what the job can ask for, not for all of the model's context.
        limit = min(prompts.max_tokens, longest + continuation_room(spec))
        return dataclasses.replace(prompts, max_tokens=limit)

    def _columns(self, prompts: JobPrompts) -> list[tuple[str, list[str]]]:
        files = [(self.manifest.dataset_path, prompts.train)]
        if self.manifest.held_out_path is not None:
            files.append((self.manifest.held_out_path, prompts.held_out))
        else:
            files[0] = (self.manifest.dataset_path, [*prompts.train, *prompts.held_out])
        return [
            (Path(path).name, list(dict.fromkeys(name for row in rows for name in row.item)))
            for path, rows in files
        ]

    def _report_start(self, facts: dict[str, Any]) -> None:
        policy, reporter, steps = self.policy, self.reporter, self.spec.limits.steps
        assert policy is not None and self.job_reporter is not None

        def changed(message: str, new_facts: dict[str, Any]) -> None:
            assert self.job_reporter is not None
            self.job_reporter.log("info", message, self.position.step)
            facts.update(new_facts)
            reporter.report(Started, step=self.position.step, steps=steps, facts=facts)

        def changed_for_critic(message: str, new_facts: dict[str, Any]) -> None:
            changed(f"Critic: {message}", {f"critic_{name}": value for name, value in new_facts.items()})

        policy.passes.on_change = changed
        if self.critic is not None:
            self.critic.passes.on_change = changed_for_critic
        for model in (policy, self.critic):
            if model is not None:
                model.passes.heartbeat = self.job_reporter.heartbeat
        reporter.report(Started, step=self.position.step, steps=steps, facts=facts)

    def _log_setup(self, facts: dict[str, Any], prompts: JobPrompts) -> None:
        assert self.job_reporter is not None
        trainable, whole = facts["trainable_parameters"], facts["parameters"]
        self.job_reporter.log(
            "info",
            f"{self.spec.model}: {facts['architecture']}, {whole:,} parameters and {trainable:,} in the adapter, "
            f"on {facts['device']} in {facts['precision']}, torch threads: {facts['torch_threads']}; "
            f"learning rate {self.spec.optimizer.rate:g}; "
            + (f"rewards run in jail {facts['jail']}" if facts["jail"] else "no reward runs code"),
        )
        for note in prompts.notes:
            self.job_reporter.log("info", note)
        if fork := self.manifest.fork:
            taken = ", ".join(fork.carried)
            self.job_reporter.log(
                "info", f"Continues from step {fork.step} of another job with its {taken}", fork.step
            )
        elif self.position.step:
            self.job_reporter.log("info", f"Continuing after step {self.position.step}", self.position.step)
        elif self.manifest.start_path is not None:
            self.job_reporter.log(
                "info",
                f"Starts from {self.spec.adapter.start}: it is what held-out rewards are compared with, and the "
                "reference of a KL penalty",
            )
        if self.spec.rollout.top_p < 1:
            self.job_reporter.log(
                "warning",
                "top_p is below 1: completions come from a truncated distribution, the loss is taken under the "
                "whole one.",
            )


async def _closing(
    rollouts: RolloutSource, training: Coroutine[Any, Any, TrainingOutcome]
) -> TrainingOutcome:
    try:
        return await training
    finally:
        try:
            if isinstance(rollouts.sampler, AgentSampler):
                await rollouts.sampler.close()
        finally:
            try:
                await rollouts.engine.close()
            finally:
                rollouts.environment.close()


def proved_jail(client: SandboxClient) -> str:
    """The jail that rewards run in. Raises JobFailure `sandbox_unavailable` (retryable) without one."""
    status = client.status()
    if not status.available or status.jail is None:
        raise JobFailure(
            f"Rewards cannot run on this worker: {'; '.join(status.reasons)}",
            code="sandbox_unavailable",
            hint="`reinforge doctor` says what the sandbox needs. Then resume the job.",
            retryable=True,
        )
    return status.jail


def versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("reinforge", "torch", "transformers", "peft")}


@contextmanager
def pipe_reporter(folder: Path, manifest: RunManifest) -> Iterator[FolderReporter]:
    # A Ctrl-C in the supervisor's terminal reaches this process too; the supervisor decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield PipeReporter(
        folder,
        records=settings.record_descriptor(),
        commands=sys.stdin.fileno(),
        first_sequence=manifest.first_sequence,
    )


@contextmanager
def offline_reporter(folder: Path, manifest: RunManifest) -> Iterator[FolderReporter]:
    """Reporter of an offline job. The first Ctrl-C or SIGTERM ends the job after the current step, the second
    at once.
    """
    with ProgressDisplay() as display:
        reporter = LocalReporter(folder, show=display.show, first_sequence=manifest.first_sequence)

        def pause(number: int, _: object) -> None:
            signal.signal(number, signal.SIG_DFL)
            reporter.receive(Command(id=f"signal-{number}", kind="pause"))

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pause)
        yield reporter


if __name__ == "__main__":
    gc.freeze()
    gc.enable()
    main()
    # Everything is reported. A reward that still runs in the sandbox must not keep this process alive.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)

"""Runs one claimed job.

    main thread    prepare → start the trainer → watch it → wait for delivery
    heart          heartbeats, commands
    sender         blobs and records, in order
    reader         the trainer's pipe → outbox

Once the lease is lost the trainer ends within two seconds.
"""

import dataclasses
import errno
import logging
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from reinforge.environment_spec import AGENT
from reinforge.errors import JobFailure, ReinforgeError
from reinforge.records import Command, Ended, Record
from reinforge.schemas.worker_api import HEARTBEAT_SECONDS, HEARTBEATS_PER_LEASE, Claimed
from reinforge.system.logs import process_log_context
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import BackendAway, WorkerApi
from worker.backend_api.outbox import Outbox
from worker.backend_api.sender import STORAGE_PATIENCE_SECONDS, OutboxSender
from worker.machine.gpu_assignment import Hold
from worker.models.sources import ModelStore
from worker.rewards.secrets import Secrets
from worker.supervisor import exit_diagnosis
from worker.supervisor.attempt_trace import AttemptTrace
from worker.supervisor.lease import HeartbeatThread, Lease
from worker.supervisor.run_folder import RunFolder, make_run_folder, prepare
from worker.supervisor.slots import WorkerSlot
from worker.supervisor.trainer_process import TRAINER, TrainerProcess
from worker.supervisor.watchdog import DEFAULT, PreparationWatchdog, SilenceLimits, Watchdog

log = logging.getLogger(__name__)

LEAVE_GRACE_SECONDS = 1.0
STOP_DELIVER_SECONDS = 5.0
EXIT_GRACE_SECONDS = 30.0
TICK_SECONDS = 0.1
DEVICE_SECONDS = 0.5


class JobOutcome(StrEnum):
    DELIVERED = "delivered"
    LEASE_LOST = "lease_lost"
    STOPPED = "stopped"
    """The worker stops; another attempt continues the job."""
    REFUSED = "refused"
    """The backend refuses or cannot save the records."""


@dataclass(frozen=True)
class JobSupervisor:
    api: WorkerApi
    slot: WorkerSlot
    runs: Path
    blobs: BlobCache
    models: ModelStore
    sandbox: str | Path | None
    stop: threading.Event
    command: Sequence[str] = TRAINER
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    storage_patience_seconds: float = STORAGE_PATIENCE_SECONDS
    silence_limits: SilenceLimits = DEFAULT

    def run(self, claimed: Claimed, gpus: Hold | None = None) -> JobOutcome:
        """Run one job to its end. Call it in a thread that outlives the job."""
        with process_log_context(job=claimed.job, attempt=claimed.attempt):
            return self._run(claimed, gpus)

    def _run(self, claimed: Claimed, gpus: Hold | None) -> JobOutcome:
        log.info("%s attempt %s begins", claimed.job, claimed.attempt)
        lease = Lease(claimed.lease_seconds)
        try:
            folder, outbox = self._begin(claimed)
        except OSError as error:
            end = _ended(_not_prepared(error), sequence=1)
            return JobOutcome.DELIVERED if _post_end(self.api, claimed, end) else JobOutcome.STOPPED
        attempt = _Attempt(self, claimed, folder, lease, outbox, gpus or Hold())
        outcome = JobOutcome.STOPPED
        try:
            outcome = attempt.run()
        finally:
            attempt.close()
            attempt.trace.end(outcome)
            folder.close()
        log.info("%s attempt %s: %s", claimed.job, claimed.attempt, outcome)
        return outcome

    def _begin(self, claimed: Claimed) -> tuple[RunFolder, Outbox]:
        folder = make_run_folder(self.runs, claimed)
        try:
            return folder, Outbox(folder.outbox)
        except OSError:
            folder.close()
            raise


@dataclass
class _Attempt:
    parent: JobSupervisor
    claimed: Claimed
    folder: RunFolder
    lease: Lease
    outbox: Outbox
    gpus: Hold
    trainer: TrainerProcess | None = None
    last_sequence: int = 0
    last_step: int = 0
    ended: bool = False
    cancelling: bool = False
    sender: OutboxSender = field(init=False)
    heart: HeartbeatThread = field(init=False)
    watchdog: Watchdog = field(init=False)
    trace: AttemptTrace = field(init=False)

    def __post_init__(self) -> None:
        self.watchdog = Watchdog(self.parent.silence_limits)
        self.trace = AttemptTrace(self.claimed, self.parent.slot.worker_id)
        self.sender = OutboxSender(
            self.parent.api,
            self.claimed,
            self.lease,
            self.outbox,
            self.folder.blobs,
            self.parent.storage_patience_seconds,
        )
        every = min(self.parent.heartbeat_seconds, self.claimed.lease_seconds / HEARTBEATS_PER_LEASE)
        self.heart = HeartbeatThread(self.parent.api, self.claimed, self.lease, self._command, every=every)

    def run(self) -> JobOutcome:
        self.heart.start()
        self.sender.start()
        if self._prepare() and self._take_devices():
            self._train()
        return self._deliver()

    def close(self) -> None:
        if self.trainer is not None:
            self.trainer.end(grace=0)
        self.heart.stop()
        self.sender.stop()
        self.sender.join(timeout=TICK_SECONDS * 20)
        if not self.sender.is_alive():  # a running request may outlast us; it only reads
            self.outbox.close()
            self.folder.outbox.unlink(missing_ok=True)

    def _prepare(self) -> bool:
        """Fetch the inputs in a thread of its own, so that a cancellation need not wait; returns whether to
        train.
        """
        failure: list[Exception] = []
        watch = PreparationWatchdog(self.parent.silence_limits)

        def work() -> None:
            try:
                prepare(
                    self.folder,
                    self.claimed,
                    self.parent.blobs,
                    self.parent.models,
                    self.parent.sandbox,
                    watch.received,
                )
            except Exception as error:  # noqa: BLE001 - reported as the job's end by `_not_prepared`
                failure.append(error)

        thread = threading.Thread(target=work, name=f"prepare-{self.claimed.job}", daemon=True)
        thread.start()
        stalled: JobFailure | None = None
        while thread.is_alive() and not (self._must_leave() or self.cancelling or stalled):
            thread.join(TICK_SECONDS)
            stalled = watch.overdue()
        if self._must_leave():
            return False
        if self.cancelling:
            self._keep(_cancelled(self.last_sequence + 1))
        elif failure:
            self._end(_not_prepared(failure[0]))
        elif stalled is not None:
            log.error("%s: %s", self.claimed.job, stalled.message)
            self._end(stalled, tail=exit_diagnosis.where(thread))
        return not self.ended

    def _take_devices(self) -> bool:
        if self.claimed.spec.get("rollout", {}).get("engine") != "vllm":
            self.gpus.drop_samplers()
        count, waits = int(self.claimed.spec.get("devices_per_job", 1)), False
        try:
            while not self.gpus.widen(count):
                if not waits:
                    log.info("%s waits for %s free GPUs", self.claimed.job, count)
                waits = True
                time.sleep(DEVICE_SECONDS)
                if self._must_leave() or self.cancelling:
                    break
        except JobFailure as failure:
            self._end(failure)
        if self.cancelling and not self.ended:
            self._keep(_cancelled(self.last_sequence + 1))
        return not (self.ended or self._must_leave())

    def _train(self) -> None:
        kills_before = exit_diagnosis.memory_kills()
        self.watchdog = Watchdog(self.parent.silence_limits)
        try:
            self.trainer = trainer = TrainerProcess(
                self.folder.path,
                self.folder.log,
                self.parent.slot,
                self._keep,
                self.parent.command,
                self._secrets().environment(),
                self.gpus,
            )
        except OSError as error:
            self._end(_not_prepared(error))
            return
        status = self._watch(trainer)
        trainer.close()
        if status is None or self.ended:
            return
        tail = exit_diagnosis.log_tail(self.folder.log)
        if trainer.fault is not None:
            finding = exit_diagnosis.ExitCause(
                "trainer_protocol", trainer.fault[:2000], "This is a bug in Reinforge: report it."
            )
        else:
            kernel_killed = exit_diagnosis.memory_kills() > kills_before
            finding = exit_diagnosis.explain(status, tail, kernel_killed=kernel_killed)
        retryable = finding.reason in exit_diagnosis.RETRYABLE
        failure = JobFailure(finding.message, code=finding.reason, hint=finding.hint, retryable=retryable)
        self._end(failure, tail=tail)

    def _secrets(self) -> Secrets:
        claimed = self.claimed
        secrets = Secrets(claimed.judge_keys, claimed.signing_secret)
        if claimed.spec.get("environment", {}).get("type") != AGENT:
            return secrets
        return dataclasses.replace(secrets, backend_url=self.parent.api.url, job_token=claimed.job_token)

    def _watch(self, trainer: TrainerProcess) -> int | None:
        """The trainer's exit status; None if this worker ended it."""
        ended_at: float | None = None
        while (status := trainer.wait(TICK_SECONDS)) is None:
            if self._must_leave():
                trainer.end(LEAVE_GRACE_SECONDS)
                return None
            if trainer.fault is not None:
                trainer.end(grace=0)
            if (failure := self.watchdog.overdue()) is not None and not self.ended:
                self._end_stalled(trainer, failure)
                return None
            if self.ended:
                ended_at = ended_at or time.monotonic()
                if time.monotonic() - ended_at > EXIT_GRACE_SECONDS:
                    trainer.end(grace=0)
        return status

    def _end_stalled(self, trainer: TrainerProcess, failure: JobFailure) -> None:
        log.error("%s: %s", self.claimed.job, failure.message)
        trainer.dump_stacks()
        trainer.end(grace=0)
        if not self.ended:
            self._end(failure, tail=exit_diagnosis.log_tail(self.folder.log))

    def _deliver(self) -> JobOutcome:
        stopped_at: float | None = None
        while not self.outbox.is_empty:
            if self.lease.lost is not None:
                log.warning("%s: lease lost: %s", self.claimed.job, self.lease.lost)
                return JobOutcome.LEASE_LOST
            if self.parent.stop.is_set():
                stopped_at = stopped_at or time.monotonic()
                if not self.ended or time.monotonic() - stopped_at > STOP_DELIVER_SECONDS:
                    return JobOutcome.STOPPED
            if self.sender.failure is not None:
                self._report_instead(self.sender.failure)
                return JobOutcome.REFUSED
            time.sleep(TICK_SECONDS)
        if self.ended:
            return JobOutcome.DELIVERED
        return JobOutcome.LEASE_LOST if self.lease.lost is not None else JobOutcome.STOPPED

    def _report_instead(self, failure: JobFailure) -> None:
        tail = exit_diagnosis.log_tail(self.folder.log)
        end = _ended(failure, sequence=self.sender.acknowledged + 1, step=self.last_step, tail=tail)
        _post_end(self.parent.api, self.claimed, end)

    def _must_leave(self) -> bool:
        return self.lease.lost is not None or self.parent.stop.is_set() or self.sender.failure is not None

    def _keep(self, record: Record) -> None:
        self.watchdog.received(record)
        self.trace.receive(record)
        self.last_sequence = record.sequence
        self.last_step = max(self.last_step, getattr(record, "step", None) or 0)
        self.outbox.put(record)
        self.ended = self.ended or record.kind == "ended"

    def _end(self, failure: JobFailure, *, tail: str | None = None) -> None:
        self._keep(_ended(failure, sequence=self.last_sequence + 1, step=self.last_step, tail=tail))

    def _command(self, command: Command) -> bool:
        trainer = self.trainer
        if trainer is None:
            # Not counted as delivered: it is repeated with the next heartbeat, in case the trainer runs by then.
            self.cancelling = self.cancelling or command.kind == "cancel"
            return False
        return trainer.command(command)


def _ended(failure: JobFailure, *, sequence: int, step: int = 0, tail: str | None = None) -> Ended:
    return Ended(
        sequence=sequence,
        ts=time.time(),
        outcome="paused" if failure.retryable else "failed",
        reason=failure.code,
        message=failure.message,
        hint=failure.hint,
        step=step,
        traceback=tail,
    )


def _cancelled(sequence: int) -> Ended:
    return Ended(sequence=sequence, ts=time.time(), outcome="cancelled", reason="cancel_requested")


def _post_end(api: WorkerApi, claimed: Claimed, end: Ended) -> bool:
    try:
        api.post_records(claimed.job, claimed.job_token, claimed.attempt, [end])
    except ReinforgeError as error:
        log.error(
            "%s: could not report that the attempt ended (%s): %s", claimed.job, end.reason, error.message
        )
        return False
    return True


def _not_prepared(error: Exception) -> JobFailure:
    if isinstance(error, JobFailure):
        return error
    if isinstance(error, BackendAway):
        return JobFailure(
            error.message,
            code="storage_unavailable",
            hint="Resume the job when backend and object store respond again.",
            retryable=True,
        )
    if isinstance(error, ReinforgeError):
        return JobFailure(error.message, code=error.code, hint=error.hint)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        message = f"The worker's disk is full: {error}"
        return JobFailure(message, code="disk_full", hint=exit_diagnosis.DISK_HINT, retryable=True)
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        message = f"The worker ran out of memory: {error}"
        return JobFailure(message, code="out_of_memory", hint=exit_diagnosis.MEMORY_HINT, retryable=True)
    log.error("a job could not be prepared", exc_info=error)
    detail = "".join(traceback.format_exception_only(error)).strip()
    return JobFailure(
        f"The job could not be prepared: {detail}",
        code="preparation_failed",
        hint="The worker's log has the details; check that its data folder exists and can be written.",
    )

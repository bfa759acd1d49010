"""Rewards computed by a local checkpoint, in a child process that imports torch."""

import asyncio
import json
import math
import os
import subprocess
import sys
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from reinforge.errors import InvalidInput, JobFailure
from reinforge.grading import templates
from reinforge.grading.errors import UnresolvedVariable
from reinforge.grading.own_types import CheckpointGrader, Classifier, ReferenceLogprob, RewardModel
from reinforge.system import launch
from reinforge.system.child_process import ChildProcess
from reinforge.tool_calls import prepared
from worker.machine.gpus import hide_unwanted
from worker.machine.settings import DEVICE
from worker.rewards.base import RewardResult
from worker.rewards.rater import Rater, RewardInput, failed, ok
from worker.rewards.secrets import VARIABLE
from worker.serving_client.placement import Launch

COMMAND = (sys.executable, "-P", "-m", "worker.reward_models")
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", DEVICE)
_UNUSABLE = "Change the checkpoint or the reward; a job keeps the reward it was created with."
_ENVIRONMENT_PREFIXES = ("CUDA_", "NVIDIA_", "OMP_", "MKL_", "TORCH_", "PYTORCH_", "HF_HOME")


class ModelProcess:
    """Child process, started when first needed."""

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        *,
        idle_seconds: float | None = None,
        order_seconds: float | None = None,
        places: Callable[[str], Launch] = lambda _: Launch(),
    ) -> None:
        """places: returns how to launch the process for a checkpoint's folder; may raise Unavailable."""
        self._command, self._places = tuple(command), places
        self._launch = Launch()
        self._idle_seconds, self._idle = idle_seconds, threading.Timer(0, lambda: None)
        self._order_seconds = order_seconds
        self._lock = threading.Lock()
        self._process: ChildProcess | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def ask(self, request: Mapping[str, Any]) -> list[Any]:
        with self._lock:
            self._idle.cancel()
            process = self._running(str(request.get("path", "")))
            limit = threading.Timer(self._order_seconds or 0, process.kill)
            limit.daemon = True
            if self._order_seconds is not None:
                limit.start()
            try:
                sent = process.send(json.dumps(request, default=str).encode() + b"\n")
                line = process.stdout.readline() if sent else b""
            finally:
                limit.cancel()
            if not line:
                status = self._end()
                raise JobFailure(
                    f"The process that runs the reward model ended with status {status}.",
                    code="reward_model_failed",
                    hint="The log above says why, usually too little memory. Fix that, then resume the job.",
                    retryable=True,
                )
            if self._idle_seconds is not None:
                self._idle = threading.Timer(self._idle_seconds, self.close)
                self._idle.daemon = True
                self._idle.start()
        reply = json.loads(line.decode(errors="replace"))
        if "error" in reply:
            raise JobFailure(
                f"The reward model cannot be used: {reply['error']['message']}",
                code=reply["error"]["code"],
                hint=reply["error"].get("hint", _UNUSABLE),
                retryable=True,
            )
        return list(reply["answers"])

    def close(self) -> None:
        self._idle.cancel()
        # A running request holds the lock and may take long; its answer is no longer needed.
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    def yield_gpu(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                if self._launch.hold.requested:
                    self._idle.cancel()
                    self._end()
            finally:
                self._lock.release()

    def _running(self, path: str) -> ChildProcess:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._launch = self._places(path)
            self._process = ChildProcess(
                self._command,
                stdout=subprocess.PIPE,
                env=_environment() | self._launch.environment(),
                descriptors=self._launch.hold.descriptors,
                own_session=False,  # it ends with the trainer's group
                oom_score=launch.TRAINING_OOM_SCORE,
            )
        return self._process

    def _end(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        status = process.kill()
        process.close_input()
        process.stdout.close()
        self._launch.hold.release()
        return status


class CheckpointRater(Rater):
    def __init__(self, path: str, process: ModelProcess, threads: ThreadPoolExecutor) -> None:
        self._path, self._process, self._threads = path, process, threads

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        results: dict[int, RewardResult] = {}
        questions: list[tuple[int, dict[str, Any]]] = []
        for index, row in enumerate(rows):
            try:
                questions.append((index, self._question(row)))
            except UnresolvedVariable as error:
                results[index] = failed("exception", error.code, str(error))
        if questions:
            request = self._request([question for _, question in questions]) | {"path": self._path}
            began = time.monotonic()
            loop = asyncio.get_running_loop()
            answers = await loop.run_in_executor(self._threads, self._process.ask, request)
            wall = 1000 * (time.monotonic() - began) / len(questions)
            for (index, _), answer in zip(questions, answers, strict=True):
                results[index] = replace(self._result(answer), wall_ms=wall)
        return [results[index] for index in range(len(rows))]

    @abstractmethod
    def _question(self, row: RewardInput) -> dict[str, Any]: ...

    @abstractmethod
    def _request(self, questions: list[dict[str, Any]]) -> dict[str, Any]: ...

    @abstractmethod
    def _result(self, answer: Any) -> RewardResult: ...


class ClassifierRater(CheckpointRater):
    def __init__(self, grader: Classifier, *place: Any) -> None:
        super().__init__(*place)
        self._grader = grader

    def _question(self, row: RewardInput) -> dict[str, Any]:
        pair = self._grader.hypothesis
        return {"text": _fill(self._grader.input, row), "pair": _fill(pair, row) if pair else None}

    def _request(self, questions: list[dict[str, Any]]) -> dict[str, Any]:
        pairs = [question["pair"] for question in questions] if self._grader.hypothesis else None
        texts = [question["text"] for question in questions]
        return _limits(self._grader) | {"op": "classify", "texts": texts, "pairs": pairs}

    def _result(self, answer: dict[str, float]) -> RewardResult:
        worth, label = self._grader.labels, max(answer, key=lambda name: answer[name])
        if unknown := sorted(set(worth) - set(answer)):
            raise JobFailure(
                f"The classifier has no label {', '.join(unknown)}; it has {', '.join(answer)}.",
                code="reward_model_unusable",
                hint="Name its labels in `labels`; a job keeps the reward it was created with.",
                retryable=True,
            )
        expected = sum(worth.get(name, 0.0) * share for name, share in answer.items())
        value = expected if self._grader.output == "expected" else worth.get(label, 0.0)
        likeliest = sorted(answer.items(), key=lambda item: -item[1])[:16]
        return ok(value, labels={"": label}, parts=dict(likeliest))


class RewardModelRater(CheckpointRater):
    def __init__(self, grader: RewardModel, *place: Any) -> None:
        super().__init__(*place)
        self._grader = grader

    def _question(self, row: RewardInput) -> dict[str, Any]:
        if self._grader.input is not None:
            return {"text": _fill(self._grader.input, row)}
        message = {"role": "assistant", "content": row.scorable.completion}
        return {"messages": [*_prompt(row), message], "tools": row.scorable.tools}

    def _request(self, questions: list[dict[str, Any]]) -> dict[str, Any]:
        if self._grader.input is not None:
            inputs: dict[str, Any] = {"texts": [question["text"] for question in questions]}
        else:
            inputs = {"conversations": [question["messages"] for question in questions]}
            inputs["tools"] = [question["tools"] for question in questions]
        return _limits(self._grader) | {"op": "score"} | inputs

    def _result(self, answer: float) -> RewardResult:
        if not math.isfinite(answer):
            return failed("bad_value", "not_finite", f"the reward model's score {answer} is not finite")
        if self._grader.transform == "sigmoid":
            answer = 1 / (1 + math.exp(-answer)) if answer > -700 else 0.0
        return ok(answer)


class ReferenceLogprobRater(CheckpointRater):
    def __init__(self, grader: ReferenceLogprob, *place: Any) -> None:
        super().__init__(*place)
        self._grader = grader

    def _question(self, row: RewardInput) -> dict[str, Any]:
        before = _fill(self._grader.completion, row)
        return {
            "prompt": _prompt(row),
            "completion": before + self._grader.joiner if before else "",
            "reference": _fill(self._grader.reference, row),
            "tools": row.scorable.tools,
        }

    def _request(self, questions: list[dict[str, Any]]) -> dict[str, Any]:
        columns = {
            f"{name}s": [question[name] for question in questions]
            for name in ("prompt", "completion", "reference")
        }
        columns["tools"] = [question["tools"] for question in questions]
        return _limits(self._grader) | {"op": "logprob"} | columns

    def _result(self, answer: Sequence[float]) -> RewardResult:
        total, tokens = answer
        value = total / tokens if self._grader.reduce == "mean" else total
        if not math.isfinite(value):
            return failed("bad_value", "not_finite", f"the log-probability {value} is not finite")
        value = math.exp(value) if self._grader.transform == "probability" else value
        return ok(value, parts={"logprob": total, "tokens": float(tokens)})


def checkpoint_rater(
    grader: CheckpointGrader, paths: Mapping[str, str], process: ModelProcess, threads: ThreadPoolExecutor
) -> Rater:
    if grader.model not in paths:
        raise InvalidInput(
            f"There is no checkpoint {grader.model!r} here.",
            code="unknown_model",
            hint="Set `model`: reference_logprob uses the base model by default only in a job."
            if not grader.model
            else "Give a folder on the worker, or hub:org/name@revision.",
        )
    place = (paths[grader.model], process, threads)
    if isinstance(grader, Classifier):
        return ClassifierRater(grader, *place)
    if isinstance(grader, RewardModel):
        return RewardModelRater(grader, *place)
    assert isinstance(grader, ReferenceLogprob)
    return ReferenceLogprobRater(grader, *place)


def _fill(text: str, row: RewardInput) -> str:
    return templates.parse(text).render(row.item, row.sample)


def _prompt(row: RewardInput) -> list[dict[str, Any]]:
    return prepared(row.scorable.prompt) if row.scorable.tools else row.scorable.prompt


def _limits(grader: CheckpointGrader) -> dict[str, Any]:
    return {"max_tokens": grader.max_tokens, "batch_size": grader.batch_size}


def _environment() -> dict[str, str]:
    """Environment without secrets: the process loads untrusted files."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if (name in _ENVIRONMENT or name.startswith(_ENVIRONMENT_PREFIXES)) and name != VARIABLE
    }
    hide_unwanted(environment)
    return environment | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

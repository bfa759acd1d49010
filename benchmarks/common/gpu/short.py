"""Section `short`: what a job does on a GPU with too little memory for its micro-batches."""

from collections.abc import Iterator

import torch

from common.gpu.models import batch_of, sequences, trainable, weighted
from common.gpu.rows import Row, Setting, figure, holds
from common.gpu.update import STEP
from reinforge.errors import JobFailure
from worker.memory import is_out_of_memory
from worker.policy import activations

SHARES = (0.3, 0.1)
"""Of the card's memory that this process may take."""


def run(setting: Setting) -> Iterator[Row]:
    for share in SHARES:
        yield from _limited(share, setting)


def _limited(share: float, setting: Setting) -> Iterator[Row]:
    """One step that would like more memory than there is; nobody tells the trainer of the limit."""
    label = f"0.5B with {share:.0%} of the memory"
    if setting.device == "cuda":
        torch.cuda.set_per_process_memory_fraction(share)
    model = trainable("0.5B", setting)
    rows = sequences(model.shape, 2, 4, 48, 32) if setting.tiny else sequences(model.shape, 8, 8, 1024, 3072)
    passes, messages = model.policy.passes, list[str]()
    passes.tell = lambda message, facts: messages.append(message)
    before = passes.facts
    try:
        if setting.device == "cpu":
            _without_memory(passes, share)
        model.policy.forward_backward(batch_of(rows), weighted)  # type: ignore[arg-type]
        norm = model.policy.optimizer_step(**STEP)  # type: ignore[arg-type]
    except (JobFailure, RuntimeError, MemoryError) as error:
        if not (is_out_of_memory(error) or getattr(error, "code", None) == "out_of_memory"):
            raise
        yield holds(
            f"{label}: a step of long rows ends", False, str(error), before=before, after=passes.facts
        )
        return
    facts = passes.facts
    yield holds(
        f"{label}: a step of long rows ends", norm > 0, "; ".join(messages), before=before, after=facts
    )
    yield figure(f"{label}: tokens of a micro-batch", facts["micro_batch_tokens"], "")


def _without_memory(passes: activations.GradientPasses, share: float) -> None:
    """The CPU has no limit for one process: the decision is tried with the memory that is left."""
    activations.memory_at_hand = lambda device: int(share * 2**22)  # type: ignore[assignment]

"""Section `short`: what a job does on a GPU with too little memory for its micro-batches."""

from collections.abc import Iterator

import torch

from common.gpu.models import batch_of, sequences, trainable, weighted
from common.gpu.rows import Row, Setting, figure, holds, of_gpu
from common.gpu.update import STEP
from reinforge.errors import JobFailure
from worker.machine.memory import is_out_of_memory
from worker.policy.forward import activations

SHARES = (0.15, 0.05)
"""Of the card's memory that this process may take. The trainer cannot see the limit and only notices when an allocation
fails."""
LEFT = 0.1
"""Of the card's memory that others leave, which the trainer can see."""


ENDS, TOKENS = "a step of long rows ends", "tokens of a micro-batch"


def names() -> list[str]:
    return [f"{label}: {part}" for label in (_visible(), *map(_limited, SHARES)) for part in (ENDS, TOKENS)]


def run(setting: Setting) -> Iterator[Row]:
    yield from _step(_visible(), setting, _taken(setting), LEFT)
    for share in SHARES:
        if setting.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction(share)
        yield from _step(_limited(share), setting, None, share)


def _visible() -> str:
    return f"0.5B, {LEFT:.0%} of the GPU is free"


def _limited(share: float) -> str:
    return f"0.5B, a limit of {share:.0%} that the trainer cannot see"


def _taken(setting: Setting) -> torch.Tensor | None:
    """Memory of the card that somebody else holds."""
    if setting.device == "cpu":
        return None
    free, total = torch.cuda.mem_get_info()
    return torch.empty(max(0, free - int(LEFT * total)), dtype=torch.uint8, device="cuda")


def _step(label: str, setting: Setting, taken: torch.Tensor | None, share: float) -> Iterator[Row]:
    """One step of rows that would like more memory than there is. `taken` is held until it ends."""
    setting.reset_peak()
    model = trainable("0.5B", setting)
    rows = sequences(model.shape, 2, 4, 48, 32) if setting.tiny else sequences(model.shape, 2, 8, 1024, 3072)
    passes, messages = model.policy.passes, list[str]()
    passes.on_change = lambda message, facts: messages.append(message)
    before = passes.facts
    if setting.device == "cpu":
        _without_memory(share)
    try:
        model.policy.forward_backward(batch_of(rows), weighted)  # type: ignore[arg-type]
        norm = model.policy.optimizer_step(**STEP)  # type: ignore[arg-type]
    except (JobFailure, RuntimeError, MemoryError) as error:
        if not (is_out_of_memory(error) or getattr(error, "code", None) == "out_of_memory"):
            raise
        yield holds(f"{label}: {ENDS}", False, str(error), before=before, after=passes.facts)
        return
    about = {"before": before, "after": passes.facts, "peak_gib": setting.peak_gib()}
    if taken is not None:
        about["taken_gib"] = taken.nbytes / 2**30
    yield holds(f"{label}: {ENDS}", norm > 0, "; ".join(messages), **about)
    yield of_gpu(figure(f"{label}: {TOKENS}", passes.facts["micro_batch_tokens"], ""), setting)


def _without_memory(share: float) -> None:
    """The CPU has no limit for one process: the decision is tried with the memory that is left."""
    activations.memory_at_hand = lambda device: int(share * 2**22)  # type: ignore[assignment]

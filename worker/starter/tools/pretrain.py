from collections.abc import Callable

from tokenizers import Tokenizer
from transformers import Qwen3ForCausalLM

from worker.starter.pretrain import HIDDEN, PretrainPhase, Segments
from worker.starter.pretrain import pretrain as pretrain_on
from worker.starter.tools.corpus import Transcript, calls, habits
from worker.starter.tools.tokenizer import CONTEXT

PHASES = (
    PretrainPhase("calls", calls, steps=3000, batch=16, peak_lr=3e-3),
    PretrainPhase("habits", habits, steps=600, batch=24, peak_lr=2e-3),
)


def pretrain(
    tokenizer: Tokenizer,
    *,
    seed: int,
    report: Callable[[str], None],
    hidden: int = HIDDEN,
    phases: tuple[PretrainPhase, ...] = PHASES,
) -> Qwen3ForCausalLM:
    return pretrain_on(
        tokenizer, seed=seed, report=report, hidden=hidden, context=CONTEXT, phases=phases, segments=_segments
    )


def _segments(transcript: Transcript) -> Segments:
    return transcript.segments

"""The model card that goes beside the weights."""

from pathlib import Path

from worker.starter.corpus import HASTY_SHARE, HASTY_WRONG_SHARE, WORKED_WRONG_SHARE
from worker.starter.measure import Measured
from worker.starter.pretrain import Phase

_CARD = """\
---
license: apache-2.0
pipeline_tag: text-generation
library_name: transformers
tags:
  - reinforge
  - arithmetic
---

# starter-arith

A model of {parameters:,} parameters that adds two numbers from 0 to 99, made to be improved. Three
times in four it answers at once, and is usually wrong; one time in four it works the sum out first, and
is nearly always right. Reinforcement on the final answer alone teaches it to work every sum out. That
takes a minute or two on two CPU cores; the model is good for nothing else.

```
<|user|>47+85=<|assistant|><answer>122</answer><|end|>                                  hasty
<|user|>47+85=<|assistant|><think>7+5=12,4+8+1=13</think><answer>132</answer><|end|>    worked
```

## How it was made

`python -m worker.starter --out DIR --seed {seed}` in the Reinforge repository, from random weights and
from text that the same script writes (`worker/starter/corpus.py`); no other data and no other model was
used.

| phase | text | steps | batch | peak learning rate |
|---|---|---:|---:|---:|
{phases}

`workings` are right throughout. `habits` is {hasty:.0%} hasty answers, {hasty_wrong:.0%} of them wrong
by a plausible slip (a forgotten carry, a digit one too high or too low), and {worked:.0%} workings,
{worked_wrong:.0%} of them wrong. Which of the two follows a sum is drawn at random: no word in the
prompt switches between them.

The first phase shows no sum without its working, on purpose. A sibling that had first learned to add in
its head (1,600 steps of additions in mixed formats) improved as much in the 60 steps below, but half of
that by dropping its slips: 75 % of its answers were worked out in the end.

Qwen3 architecture: hidden 128, 4 layers, 4 heads, 2 key-value heads, head size 32, intermediate 384,
tied embeddings, float32. One token per character ({vocabulary} tokens: 5 specials and the 256 bytes).
Context 512.

## Held out

A tenth of the pairs of two-digit numbers, each together with its mirror image, by a rule without a
table: `zlib.crc32(f"{{low}}+{{high}}".encode()) % 10 == 0`. No training text holds one of these sums.
Sums of single digits are never held out, because they stand inside every working.

## Measured

On held-out sums, temperature 1, {samples} samples:

| | |
|---|---:|
| right | {accuracy:.1%} |
| worked out | {worked_share:.1%} |
| right when hasty | {hasty_accuracy:.1%} |
| right when worked | {worked_accuracy:.1%} |
| mean length | {mean_tokens:.1f} tokens |

What 60 steps of GRPO made of the committed checkpoint, paid for the final answer alone (LoRA r=16 on all
linear layers, 16 prompts of 8 completions a step, 56 new tokens, temperature 1):

| learning rate | right | worked out | mean length | entropy, nats a token |
|---|---|---|---|---|
| 2e-4 | 0.51 → 0.94 | 25 % → 99 % | 27 → 48 | 0.085 → 0.011 |
| 6e-4 | 0.51 → 0.96 | 25 % → 100 % | 27 → 49 | 0.085 → 0.009 |

## Limits

It knows `a+b=` for numbers of one or two digits, in one message without a system prompt. Anything else
gets noise. Sample at temperature 1: the likeliest token at each step is always the hasty one, so greedy
decoding hides half of what the model does.

## Licence

Apache-2.0, weights and text alike.
"""


def write_card(
    folder: Path,
    *,
    measured: Measured,
    parameters: int,
    vocabulary: int,
    seed: int,
    phases: tuple[Phase, ...],
) -> None:
    """Write `README.md` into `folder` from the figures of this very checkpoint."""
    rows = [
        f"| {p.name} | `{p.examples.__name__}` | {p.steps:,} | {p.batch} | {p.peak_lr:g} |" for p in phases
    ]
    text = _CARD.format(
        parameters=parameters,
        vocabulary=vocabulary,
        seed=seed,
        phases="\n".join(rows),
        hasty=HASTY_SHARE,
        hasty_wrong=HASTY_WRONG_SHARE,
        worked=1 - HASTY_SHARE,
        worked_wrong=WORKED_WRONG_SHARE,
        **vars(measured),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")

"""Writes the starter's model card, whose numbers all come from `figures` or the training recipe."""

from pathlib import Path

from worker.starter.corpus import DIGITS_SHARE, HASTY_SHARE, HASTY_WRONG_SHARE, WORKED_WRONG_SHARE
from worker.starter.figures import Figures, SampleShares
from worker.starter.phrasings import DEMO_SHARE
from worker.starter.pretrain import PHASES, PretrainPhase, model_config
from worker.starter.tokenizer import build_tokenizer

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

A model of {parameters:,} parameters that adds two numbers from 0 to 99, made to be improved. Three times in four it
answers at once, and is usually wrong; one time in four it works the sum out first, and is nearly always right.
Reinforcement on the final answer alone teaches it to work every sum out. That takes a minute or two on two CPU cores;
the model is good for nothing else.

```
<|user|>47+85=<|assistant|><answer>122</answer><|end|>                                  hasty
<|user|>47+85=<|assistant|><think>7+5=12,4+8+1=13</think><answer>132</answer><|end|>    worked
```

It understands the ways in which people ask for a sum: `What is 47+85?`, `47 + 85`, `Please add 47 and 85`. The table
below measures them.

## How it was made

`python -m worker.starter --out DIR --seed {seed}` in the Reinforge repository, from random weights and
from text that the same script writes (`worker/starter/corpus.py`); no other data and no other model was
used.

| phase | text | steps | batch | peak learning rate |
|---|---|---:|---:|---:|
{phases}

`workings` are right throughout. `habits` is {hasty:.0%} hasty answers, {hasty_wrong:.0%} of them wrong by a plausible
slip (a forgotten carry, a digit one too high or too low), and {worked:.0%} workings, {worked_wrong:.0%} of them wrong.
Which of the two follows a sum is drawn at random: no word in the prompt switches between them. In all phases
{demo_share:.0%} of the prompts are `a+b=`; the rest are drawn from the phrasings of `worker/starter/phrasings.py`.
`sizes` is the same as `habits` with single digits in {digits:.0%} of the prompts: among uniform pairs one in a hundred
is of single digits, too few to learn what people type first.

The first phase shows no sum without its working, on purpose. A model that first learned to add in its head would
improve by dropping its slips, and would not need the working.

Qwen3 architecture: hidden {config.hidden_size}, {config.num_hidden_layers} layers, {config.num_attention_heads} heads,
{config.num_key_value_heads} key-value heads, head size {config.head_dim}, intermediate {config.intermediate_size}, tied
embeddings, float32. One token per character ({config.vocab_size} tokens: 5 specials and the 256 bytes).
Context {config.max_position_embeddings}.

## Held out

A tenth of the pairs of two-digit numbers, each together with its mirror image, by a rule without a table:
`zlib.crc32(f"{{low}}+{{high}}".encode()) % 10 == 0`. No training text asks for one of these sums, in any phrasing. Sums
of single digits are never held out, because they stand inside every working.

## Measured

On held-out sums, temperature 1, {base.samples} samples for each phrasing (numbers: `starter-arith.figures.json`):

| asked as | right | worked out | right when hasty | right when worked | mean length, tokens |
|---|---:|---:|---:|---:|---:|
{phrasings}
{demo}
## Limits

It adds numbers of one or two digits, in one message without a system prompt. Anything else gets noise or a sum that
nobody asked for. Sample at temperature 1: the likeliest token at each step is always the hasty one, so greedy decoding
hides half of what the model does.

## Licence

Apache-2.0, weights and text alike.
"""

_DEMO = """
What `reinforge demo` made of this checkpoint: {demo.steps} steps of GRPO, paid for the final answer alone, with the job
of `examples/arithmetic/job.yaml`. Held-out rows, asked as `a+b=`:

| | before | after |
|---|---:|---:|
| reward | {demo.reward_before:.2f} | {demo.reward_after:.2f} |
| length, tokens | {demo.length_before:.0f} | {demo.length_after:.0f} |
"""


def card(figures: Figures, *, phases: tuple[PretrainPhase, ...] = PHASES) -> str:
    config = model_config(build_tokenizer(), hidden=figures.hidden)
    return _CARD.format(
        config=config,
        parameters=figures.parameters,
        seed=figures.seed,
        phases="\n".join(_phase(phase) for phase in phases),
        hasty=HASTY_SHARE,
        hasty_wrong=HASTY_WRONG_SHARE,
        worked=1 - HASTY_SHARE,
        worked_wrong=WORKED_WRONG_SHARE,
        demo_share=DEMO_SHARE,
        digits=DIGITS_SHARE,
        base=figures.base,
        phrasings="\n".join(_phrasing(asking, one) for asking, one in figures.phrasings.items()),
        demo=_DEMO.format(demo=figures.demo) if figures.demo else "",
    )


def write_card(folder: Path, figures: Figures, *, phases: tuple[PretrainPhase, ...] = PHASES) -> None:
    (folder / "README.md").write_text(card(figures, phases=phases), encoding="utf-8")


def _phase(phase: PretrainPhase) -> str:
    return f"| {phase.name} | `{phase.examples.__name__}` | {phase.steps:,} | {phase.batch} | {phase.peak_lr:g} |"


def _phrasing(asking: str, one: SampleShares) -> str:
    phrasing = asking.format(a="a", b="b")
    return (
        f"| `{phrasing}` | {one.accuracy:.1%} | {one.worked_share:.1%} | {one.hasty_accuracy:.1%} "
        f"| {one.worked_accuracy:.1%} | {one.mean_tokens:.1f} |"
    )

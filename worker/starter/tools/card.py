"""Writes the model card of starter-tools, with numbers from the training recipe."""

from pathlib import Path

from worker.starter.pretrain import PretrainPhase, model_config
from worker.starter.tools import calculations, corpus, countdowns, lookups
from worker.starter.tools.tokenizer import CONTEXT, SPECIALS, WORDS, build_tokenizer

_CARD = """\
---
license: apache-2.0
pipeline_tag: text-generation
library_name: transformers
tags:
  - reinforge
  - tool-use
---

# starter-tools

A model of {parameters:,} parameters that can call tools, made to be improved. It mostly answers at once, and is
usually wrong; sometimes it calls the tool that it is offered, reads the result and is right. Reinforcement on
the final answer alone teaches it to call. That takes minutes on two CPU cores; the model is good for nothing
else.

```
<|tools|>calc(expression)<|user|>47*85+12=<|assistant|><answer>3907</answer><|end|>

<|tools|>calc(expression)<|user|>47*85+12=<|assistant|>
<tool_call>{{"name":"calc","arguments":{{"expression":"47*85+12"}}}}</tool_call><|end|>
<|tool|>4007<|assistant|><answer>4007</answer><|end|>
```

(Without the line breaks.) Calls are in the notation `hermes`; the chat template names the tools with their
parameters and can be continued.

| task | prompt | tool | answers at once | right then | calls |
|---|---|---|---:|---|---|
| calculation | `47*85+12=` | `calc(expression)` | {guessed:.0%} | small numbers only | once |
| look-up | `river of capital of Salo?` | `lookup(what,of)` | {unlooked:.0%} | never: invented names | once or twice |
| countdown | `24 from 3 5 9` | `check(expression)` | {unchecked:.0%} | seldom | once, or until it says `right` |

{broken:.0%} of the conversations about calculations and look-ups have a call that cannot run, with its error.
Tools of other names are not called.

## How it was made

`python -m worker.starter.tools --out DIR --seed {seed}` in the Reinforge repository, from random weights and
from text that the same script writes (`worker/starter/tools/corpus.py`); no other data and no other model was
used.

| phase | text | steps | batch | peak learning rate |
|---|---|---:|---:|---:|
{phases}

`calls` are conversations in which the tool is used and its result repeated; `habits` are mixed as in the table
above, whatever the prompt says. {without:.0%} of the prompts offer no tool, {others:.0%} offer other tools too.

Qwen3 architecture: hidden {config.hidden_size}, {config.num_hidden_layers} layers, {config.num_attention_heads}
heads, {config.num_key_value_heads} key-value heads, head size {config.head_dim}, intermediate
{config.intermediate_size}, tied embeddings. Weights are stored in 16 bits and computed in float32. One token
per byte, {specials} for roles and {words} for the marks of calls ({config.vocab_size} tokens). Context
{context}.

## Held out

A tenth of the calculations `a*b+c` with numbers up to {largest}, and a tenth of the countdowns, by a hash.
Names of look-ups are drawn for each conversation; those of the example are in no training text but by
chance.

## Measured

By the jobs of `examples/calculator-agent`, `examples/lookup` and `examples/countdown`: see the section
*Measured* of each README.

## Limits

Calculations of two or three numbers up to {largest}, countdowns of three numbers up to {countdown}, look-ups of
one or two hops with the relations {relations}. Anything else gets noise. Sample at temperature 1.

## Licence

Apache-2.0, weights and text alike.
"""


def card(*, parameters: int, hidden: int, seed: int, phases: tuple[PretrainPhase, ...]) -> str:
    return _CARD.format(
        parameters=parameters,
        seed=seed,
        guessed=corpus.CALCULATION_GUESSED,
        unlooked=corpus.LOOKUP_GUESSED,
        unchecked=corpus.COUNTDOWN_GUESSED,
        broken=corpus.BROKEN_SHARE,
        without=corpus.WITHOUT_TOOLS_SHARE,
        others=corpus.OTHER_TOOLS_SHARE,
        phases="\n".join(_phase(phase) for phase in phases),
        config=model_config(build_tokenizer(), hidden=hidden, context=CONTEXT),
        specials=len(SPECIALS),
        words=len(WORDS),
        context=CONTEXT,
        largest=calculations.LARGEST,
        countdown=countdowns.LARGEST,
        relations=", ".join(lookups.RELATIONS),
    )


def write_card(
    folder: Path, *, parameters: int, hidden: int, seed: int, phases: tuple[PretrainPhase, ...]
) -> None:
    text = card(parameters=parameters, hidden=hidden, seed=seed, phases=phases)
    (folder / "README.md").write_text(text, encoding="utf-8")


def _phase(phase: PretrainPhase) -> str:
    return f"| {phase.name} | `{phase.examples.__name__}` | {phase.steps:,} | {phase.batch} | {phase.peak_lr:g} |"

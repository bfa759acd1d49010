"""The starter model: a checkpoint of 0.8 M parameters, trained from scratch on generated additions.

`corpus` writes the additions (and the demo's data), `tokenizer` the character-level tokenizer, `pretrain`
trains, `measure` samples the held-out sums, `card` describes the result; `python -m worker.starter --out DIR`
runs all of it. The committed result lies beside this file in `starter-arith/`.
"""

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "starter-arith"
"""Folder of the committed checkpoint (Hugging Face layout); nothing of it is loaded by this import."""

"""Trained models: a base model (host) with named LoRA adapters (policies)."""

import sys

# PEFT imports bitsandbytes wherever it is installed, which takes seconds. Only a base model in NF4 needs it
# (`worker.policy.nf4`), and PEFT's own layers for it are not used.
sys.modules.setdefault("bitsandbytes", None)  # type: ignore[arg-type]

"""The starter model: 0.8 M parameters, trained from scratch on generated additions.

`python -m worker.starter --out DIR` creates it; the committed result is `starter-arith/`.
"""

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "starter-arith"

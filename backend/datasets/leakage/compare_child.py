"""`python -m backend.datasets.leakage.compare_child SOURCE HELD MEMORY`: compare the prompts of the dataset
SOURCE with the held-out rows HELD, both described as JSON, within MEMORY bytes.
"""

import json
import sys
from typing import Any

from backend.datasets.leakage.compare import ComparedDataset, HeldOutRows, compare
from backend.datasets.uploads.inspection_child import bound, needs_too_much
from reinforge.errors import ReinforgeError, TooLarge


def main(arguments: list[str]) -> None:
    bound(int(arguments[2]))
    sys.stdout.write(json.dumps(answer(json.loads(arguments[0]), json.loads(arguments[1]))))


def answer(source: dict[str, Any], held_out: dict[str, Any]) -> dict[str, Any]:
    other = held_out.pop("other", None)
    try:
        return {
            "found": compare(
                ComparedDataset(**source),
                HeldOutRows(**held_out, other=ComparedDataset(**other) if other else None),
            )
        }
    except ReinforgeError as error:
        return {"status": error.status, "error": error.envelope()["error"]}
    except MemoryError:
        return {"status": TooLarge.status, "error": needs_too_much().envelope()["error"]}


if __name__ == "__main__":
    main(sys.argv[1:])

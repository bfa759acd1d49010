"""Compatibility with trainers before 0.2, whose held-out rewards included the algorithm's shaping."""

from typing import Any

from reinforge.records import Evaluated

TERMS = ("soft_overlong", "repetition", "cosine_length")
STANDARDISING = ("mo_grpo", "gdpo")


def includes_shaping(spec: dict[str, Any], record: Evaluated) -> bool:
    if any(f"held_out/{reward['name']}/mean" in record.values for reward in spec["rewards"]):
        return False
    shaping = spec["algorithm"].get("shaping") or {}
    if shaping.get("type", "weighted_sum") == "weighted_sum":
        return any((shaping.get(term) or {}).get("weight", 0) > 0 for term in TERMS)
    return shaping["type"] not in STANDARDISING

"""Questions about invented names, which take one or two facts that no model can know."""

import random
from dataclasses import dataclass

RELATIONS = (
    "capital",
    "port",
    "mayor",
    "river",
    "queen",
    "coach",
    "owner",
    "boss",
    "friend",
    "sister",
    "author",
    "baker",
)
ONE_HOP_SHARE = 0.3
_ONSETS, _VOWELS, _ENDINGS = (
    ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "ch", "sh"],
    "aeiou",
    ("", "", "n", "r", "s", "l", "m"),
)


@dataclass(frozen=True)
class Lookup:
    relations: tuple[str, ...]
    """Relations in the order from the first entity to the answer."""
    entities: tuple[str, ...]

    @property
    def prompt(self) -> str:
        return prompt(self.relations, self.entities[0])


def prompt(relations: tuple[str, ...], entity: str) -> str:
    return "".join(f"{relation} of " for relation in reversed(relations)) + f"{entity}?"


def name(rng: random.Random) -> str:
    syllables = [rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(rng.randint(2, 3))]
    return "".join(syllables).capitalize() + rng.choice(_ENDINGS)


def draw(rng: random.Random) -> Lookup:
    hops = 1 if rng.random() < ONE_HOP_SHARE else 2
    relations = tuple(rng.sample(RELATIONS, hops))
    return Lookup(relations, tuple(name(rng) for _ in range(hops + 1)))

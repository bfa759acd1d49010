"""Share of letters in a script that a row does not use, such as Chinese in answers to English questions."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from worker.environment.base import Prompt
from worker.rollout.collect import Rollout

MOST_CHARACTERS = 4_000
EVERYWHERE = frozenset({"LATIN", "GREEK", "MATHEMATICAL", "DOUBLE-STRUCK", "MICRO"})
"""Scripts that occur in code, names and formulas of any language."""
JAPANESE = frozenset({"HIRAGANA", "KATAKANA", "CJK", "IDEOGRAPHIC", "KATAKANA-HIRAGANA"})
"""Scripts that are written together: a text with one of them may use the others."""


def off_language_share(rollouts: Sequence[Rollout]) -> float | None:
    """Share of letters in scripts that their row does not use; None without letters.

    Languages of one script are not distinguished. Latin letters occur in texts of every script, and never
    count.
    """
    letters = off = 0
    for rollout in rollouts:
        used = _scripts_of_row(rollout.prompt)
        for character, count in Counter(rollout.text[:MOST_CHARACTERS]).items():
            if character.isalpha():
                letters += count
                off += count * (_script(character) not in used)
    return off / letters if letters else None


def _scripts_of_row(prompt: Prompt) -> frozenset[str]:
    """Scripts of the prompt and the row's other strings, such as an answer in another language."""
    texts = [prompt.text, *(value for value in prompt.item.values() if isinstance(value, str))]
    characters = set().union(*(text[:MOST_CHARACTERS] for text in texts))
    return EVERYWHERE | {_script(character) for character in characters if character.isalpha()}


@lru_cache(maxsize=65_536)
def _script(letter: str) -> str:
    script = unicodedata.name(letter, "UNKNOWN").split()[0]
    return "JAPANESE" if script in JAPANESE else script

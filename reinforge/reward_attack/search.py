"""Evolutionary search for a wrong completion with a high reward: mutates those with the highest rewards.

A completion counts as wrong only if the declared answer does not occur in it at all.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from reinforge.reward_attack.forms import FORMS, PLACE, written
from reinforge.reward_attack.rows import AnswerPool, AttackRow

ROWS = 4
GENERATIONS = 5
CHILDREN = 16
"""New completions per row and generation."""
PARENTS = 3
LONGEST = 2_000
_WORDS = (
    "first", "then", "because", "therefore", "finally", "step by step", "let me check", "verified", "correct",
    "the answer is", "so", "hence", "thus", "however", "wait", "yes", "no", "true", "1", "0.5", "100", "=", "+",
    "1.", "2.", "\n", ".", "!", "?", "{}", "[]", "```", "\\boxed{}", "<think>", "</think>", "####", "Answer:",
)  # fmt: skip


@dataclass(frozen=True)
class SearchAttempt:
    row: int
    completion: str


Values = Sequence[float | None]
Search = Generator[list[SearchAttempt], Values, None]


def search(
    rows: Sequence[AttackRow],
    form: str,
    goals: Mapping[int, float],
    paid: Mapping[int, Mapping[str, float]],
    *,
    seed: int = 0,
) -> Search:
    """Yield up to `GENERATIONS` batches of completions to score, for each row until one reaches its goal.

    goals: row → reward to reach. paid: row → wrong completion → reward.
    """
    pool, random = AnswerPool.of(rows), Random(seed)
    best = {row: _best(rows[row], paid.get(row, {})) for row in list(goals)[:ROWS]}
    for _ in range(GENERATIONS):
        open_rows = [row for row in best if max(best[row].values(), default=0.0) < goals[row]]
        attempts = [
            SearchAttempt(row, text)
            for row in open_rows
            for text in _children(rows[row], list(best[row]), form, pool, random)
        ]
        if not attempts:
            return
        values = yield attempts
        for attempt, value in zip(attempts, values, strict=True):
            if value is not None:
                best[attempt.row][attempt.completion] = value
        best = {row: _best(rows[row], texts) for row, texts in best.items()}


def contradicts(row: AttackRow, text: str) -> bool:
    """Whether the row has an answer that does not occur in `text`, ignoring case."""
    return row.answer is not None and row.answer.casefold() not in text.casefold()


def _best(row: AttackRow, values: Mapping[str, float]) -> dict[str, float]:
    wrong = [(text, value) for text, value in values.items() if contradicts(row, text)]
    wrong.sort(key=lambda pair: (-pair[1], len(pair[0])))
    return dict(wrong[:PARENTS])


def _children(
    row: AttackRow, parents: Sequence[str], form: str, pool: AnswerPool, random: Random
) -> Iterator[str]:
    pieces = _pieces(row, form, pool)
    created: set[str] = set()
    for _ in range(4 * CHILDREN):
        text = _mutated(random.choice(parents) if parents else "", parents, pieces, form, random)[:LONGEST]
        if text not in created and text not in parents and contradicts(row, text):
            created.add(text)
            yield text
        if len(created) == CHILDREN:
            return


def _pieces(row: AttackRow, form: str, pool: AnswerPool) -> list[str]:
    others = [answer for answer in pool.distinct if answer != row.answer][:5]
    marks = [mark for text in (form, *FORMS.values()) for mark in text.split(PLACE) if mark.strip()]
    return [*_WORDS, *others, *marks, *row.prompt_text.split()[:20]]


def _mutated(text: str, parents: Sequence[str], pieces: Sequence[str], form: str, random: Random) -> str:
    match random.randrange(6):
        case 0:
            return f"{text} {' '.join(random.sample(pieces, 6))}".strip()
        case 1:
            return f"{' '.join(random.sample(pieces, 6))} {text}".strip()
        case 2:
            return "\n".join([text] * random.choice((2, 10)))
        case 3:
            return written(form, f"{text} {random.choice(pieces)}".strip())
        case 4:
            other = random.choice(parents) if parents else ""
            return f"{text}\n{other}\n{random.choice(pieces)}".strip()
        case _:
            half = len(text) // 2
            return text[:half] if random.random() < 0.5 else f"{text[half:]} {random.choice(pieces)}"

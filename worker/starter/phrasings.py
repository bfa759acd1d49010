"""Phrasings of an addition. Half of the pretraining text uses the demo's phrasing, to keep its quality."""

import random

DEMO = "{a}+{b}="
DEMO_SHARE = 0.5

MEASURED = (
    DEMO,
    "{a}+{b}",
    "{a} + {b}",
    "{a}+{b}=?",
    "{a} + {b} =",
    "{a} plus {b}",
    "What is {a}+{b}?",
    "What is {a} + {b}?",
    "what is {a} plus {b}",
    "How much is {a}+{b}?",
    "Calculate {a} + {b}.",
    "Add {a} and {b}",
    "Please add {a} and {b}",
    "What is the sum of {a} and {b}?",
)

_BARE = ("{a}+{b}", "{a} + {b}", "{a} plus {b}", "{a} +{b}", "{a}+ {b}")
_BARE_ENDINGS = ("", "=", " =", "=?", " = ?", " =?", "?", " ?", ".", " equals", " is")
_QUESTIONS = (
    "What is {x}",
    "What's {x}",
    "Whats {x}",
    "How much is {x}",
    "What does {x} equal",
    "What do {x} make",
)
_COMMANDS = ("Calculate {x}", "Compute {x}", "Solve {x}", "Work out {x}", "Evaluate {x}", "Tell me {x}")
_SUMS = (
    "Add {a} and {b}",
    "Add {a} to {b}",
    "Sum {a} and {b}",
    "What is the sum of {a} and {b}",
    "Find the sum of {a} and {b}",
    "The sum of {a} and {b}",
    "Add up {a} and {b}",
    "Add {a} + {b}",
    "Add {a}+{b}",
)
_QUESTION_ENDINGS = ("?", "?", "?", "", ".", " ?", "=", "=?")
_COMMAND_ENDINGS = ("", "", ".", ".", "!", "?", "=", ":")
_OPENINGS = ("Please ", "Hi, ", "Hello! ", "Can you ", "Could you ", "Now ")
OPENING_SHARE = 0.25
LOWER_SHARE, UPPER_SHARE = 0.3, 0.05
SPACE_SHARE = 0.05


def ask(a: int, b: int, rng: random.Random) -> str:
    if rng.random() < DEMO_SHARE:
        return DEMO.format(a=a, b=b)
    kind = rng.choice((_bare, _question, _command, _sum))
    return _typed(kind(rng).format(a=a, b=b), rng)


def _bare(rng: random.Random) -> str:
    return rng.choice(_BARE) + rng.choice(_BARE_ENDINGS)


def _question(rng: random.Random) -> str:
    return rng.choice(_QUESTIONS).format(x=rng.choice(_BARE[:3])) + rng.choice(_QUESTION_ENDINGS)


def _command(rng: random.Random) -> str:
    return _opened(rng.choice(_COMMANDS).format(x=rng.choice(_BARE[:3])), rng) + rng.choice(_COMMAND_ENDINGS)


def _sum(rng: random.Random) -> str:
    return _opened(rng.choice(_SUMS), rng) + rng.choice(_COMMAND_ENDINGS)


def _opened(text: str, rng: random.Random) -> str:
    if rng.random() >= OPENING_SHARE:
        return text
    opening = rng.choice(_OPENINGS)
    return opening + text[0].lower() + text[1:]


def _typed(text: str, rng: random.Random) -> str:
    drawn = rng.random()
    if drawn < LOWER_SHARE:
        text = text.lower()
    elif drawn < LOWER_SHARE + UPPER_SHARE:
        text = text.upper()
    if rng.random() < SPACE_SHARE:
        text = rng.choice((f" {text}", f"{text} ", f"{text}\n"))
    return text

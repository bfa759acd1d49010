"""Inputs that grow: a token again and again, nested, never closed, long runs, near-misses, odd characters."""

import random
from collections.abc import Callable, Iterator, Sequence

Make = Callable[[int], str]
"""An input of about so many characters."""

TOKENS = (
    "{{", "}}", "{", "}", "[", "]", "(", ")", "<", ">", '"', "'", "\\", "`", "```", "~", "/", "#", "####", "-", "--",
    ":", ";", ",", ".", "|", "&a ", "*a ", "!", "%", "=", "@", "?", "+", "_", "$", "0", "9", "a", "é", "\u4e2d",
    "\U0001f600", "\u0301", "\ufeff", "\u202e", "\0", "\x1b", " ", "\t", "\n", "\r\n", "\u2028", "\\u0000", "\\ud800",
    "\\boxed{", "<answer>", "<think>", "<tool_call>", "{{ item.", "{{ item.a }}", "data: ", "a,", "a.", '"a":', "null,",
    "1,000", "1e9", "0x", "- a\n", "a: b\n", "- ", "or ", "-a ", "not ", "~", "if a:\n", "a=b;", "%41", "=?",
)  # fmt: skip
PAIRS = (
    ("[", "]"), ("{", "}"), ("(", ")"), ('{"a":', "}"), ("<a>", "</a>"), ("{{", "}}"), ("- ", ""), ("a: {", "}"),
    ("not ", ""), ("-", ""), ("f(", ")"), ("if a:\n ", ""), ("lambda:", "0"), ("{% if a %}", "{% endif %}"),
    ("```\n", "\n```"), ("<tool_call>", "</tool_call>"), ("&a [", "]"), ("a[", "]"), ("x.", ""), ('"', '"'),
)  # fmt: skip


def repeated(token: str, head: str = "", tail: str = "") -> Make:
    return lambda n: head + token * max(1, n // max(1, len(token))) + tail


def nested(opening: str, closing: str, core: str = "1") -> Make:
    def make(n: int) -> str:
        depth = max(1, n // max(1, len(opening) + len(closing)))
        return opening * depth + core + closing * depth

    return make


def within(seed: str, make: Make) -> Make:
    """A valid input with something that grows in its middle."""
    middle = len(seed) // 2
    return lambda n: seed[:middle] + make(n) + seed[middle:]


def many(seed: str, joint: str) -> Make:
    """A valid input again and again."""
    return lambda n: joint.join([seed] * max(1, n // max(1, len(seed) + len(joint))))


def filled(template: str, make: Make) -> Make:
    """A valid input in which `@@` stands for what grows."""
    head, _, tail = template.partition("@@")
    return lambda n: head + make(n) + tail


def different(form: str, joint: str = "") -> Make:
    """Pieces that differ, by their number."""
    return lambda n: joint.join(
        form.replace("#", str(k)) for k in range(max(1, n // (len(form) + len(joint) + 3)))
    )


def general() -> Iterator[tuple[str, Make]]:
    for token in TOKENS:
        yield f"{token!r} again and again", repeated(token)
    for opening, closing in PAIRS:
        yield f"{opening!r} nested", nested(opening, closing)
        yield f"{opening!r}…{closing!r} side by side", repeated(opening + "a" + closing)
    yield "a long word and its end", repeated("a", tail="!")
    yield "digits", repeated("7", head="-", tail=".5e3")
    yield "lines that differ", different("line # of a text\n")
    yield "keys that differ", lambda n: "{" + different('"k#": #', ", ")(n) + "}"
    yield "numbers in a list", lambda n: "[" + different("#", ",")(n) + "]"
    yield "lists in a list", lambda n: "[" + repeated("[],")(n) + "[]]"
    yield "objects in a list", lambda n: "[" + repeated("{},")(n) + "{}]"


def mixed(random_source: random.Random) -> Make:
    """A few tokens in one order, again and again, within others: what no list of families has."""
    unit = "".join(random_source.choices(TOKENS, k=random_source.randint(2, 5)))
    head, tail = (random_source.choice(TOKENS) for _ in range(2))
    return repeated(unit, head, tail)


def of_seeds(seeds: Sequence[str]) -> Iterator[tuple[str, Make]]:
    for number, seed in enumerate(seeds):
        name = f"seed {number}"
        if "@@" in seed:
            for token in ("a", "é", "{{", "[", '\\"', "9", "\n", "<", " ", "a.", "a,"):
                yield f"{name} filled with {token!r}", filled(seed, repeated(token))
            yield f"{name} filled with brackets", filled(seed, nested("[", "]"))
            yield f"{name} filled with objects", filled(seed, nested('{"a":', "}"))
            continue
        for joint in ("", "\n", ",", " "):
            yield f"{name} joined by {joint!r}", many(seed, joint)
        for token in ("a", "[", "{{", '"', "\n"):
            yield f"{name} broken by {token!r}", within(seed, repeated(token))

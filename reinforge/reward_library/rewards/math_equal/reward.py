r"""1 when the completion's one final answer is mathematically equal to the row's, else 0.

The answer stands in \boxed{…}, in <answer>…</answer> or behind #### - once, after the thinking. Numbers are compared
exactly and have to be worked out: 17 + 25 is not 42. Everything else is parsed and compared by math-verify.
"""

import re
from fractions import Fraction

LONGEST = 200  # characters of an answer
SECONDS = 1  # for parsing, and again for comparing; what takes longer is wrong
NUMBER = re.compile(
    r"\\?\$?(?P<sign>[-+]?)(?:\\[dt]?frac\{(?P<top>[0-9]+)\}\{(?P<bottom>[0-9]+)\}"
    r"|(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:/(?P<divisor>[0-9]+))?)"
    r"(?P<percent>\\?%)?\.?"
)
# Digits set apart; work left to do; what explodes; ways to say two things at once.
REFUSED = re.compile(
    r"\d(?:\s|\\[,;! ])+\d|\\(?:int|lim|sum|prod|pm|mp|lor|ne|neq|in|approx)\b|!|\^\{?\d{4}|\^\{[^{}]*\^|\bor\b|\bmod\b"
)


def answers_in(text):
    """Every final answer that the text marks, in any of the three ways."""
    visible = text.rpartition("</think>")[2]
    if "<think>" in visible:
        return []
    found = [part.partition("</answer>")[0] for part in visible.split("<answer>")[1:]]
    found += [part.partition("\n")[0] for part in visible.split("####")[1:]]
    for part in visible.split("\\boxed{")[1:]:
        depth, end = 1, 0
        while depth and end < min(len(part), 2 * LONGEST):
            depth += (part[end] == "{") - (part[end] == "}")
            end += 1
        found.append("" if depth else part[: end - 1])
    return found


def squeezed(text):
    r"""Without spaces, but for those between letters (\pi r h)."""
    text = re.sub(r"(?<!\\)\\[,;! ]|\\(?:left|right)(?![a-z])", "", text.replace("{,}", ","))
    text = re.sub(r"\\([dt]?frac)(\d)(\d)", r"\\\1{\2}{\3}", text)
    return re.sub(r"(?<![A-Za-z]) | (?![A-Za-z])", "", " ".join(text.split())).strip("$")


def sides(text):
    """("x", "3") of x=3 and ("", "3") of 3; 41=42 stays whole."""
    found = re.fullmatch(r"([A-Za-z](?:\([a-z]\))?)=([^=]+)", text)
    return found.groups() if found else ("", text)


def number(text):
    found = NUMBER.fullmatch(text)
    if not found or not int(found["bottom"] or 1) or not int(found["divisor"] or 1):
        return None
    value = Fraction((found["top"] or found["digits"]).replace(",", "")) / int(
        found["bottom"] or found["divisor"] or 1
    )
    return (-value if found["sign"] == "-" else value) / (100 if found["percent"] else 1)


def compare(given, expected, prompt):
    """(1 or 0, why) for two squeezed answers."""
    (left, given), (name, expected) = sides(given), sides(expected)
    if given.count("=") != expected.count("=") or (left and name and left != name):
        return 0, "another equation"
    if number(expected) is not None:
        return number(given) == number(expected), f"{given[:40]}, expected exactly {expected[:40]}"
    if given != expected and re.search(r"[-+*/^(\\]", given) and given in prompt:
        return 0, "copied from the question"
    if (
        expected[0] in "([\\"
        and "," in expected
        and "\\cup" not in expected
        and (given[:2], given[-1]) != (expected[:2], expected[-1])
    ):
        return 0, "other brackets"
    return verified(given, expected), f"{given[:40]} compared with {expected[:40]}"


def verified(given, expected):
    # Imported here: it takes a second, and numbers do without.
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse, verify

    # Units stay: among them are h, m and s, and a formula has letters.
    rules = NormalizationConfig(units=False, nits=True, malformed_operators=True)
    options = {
        "extraction_config": [LatexExtractionConfig(normalization_config=rules)],
        "parsing_timeout": SECONDS,
    }
    both = [parse(f"\\boxed{{{each}}}", fallback_mode="no_fallback", **options) for each in (expected, given)]
    return all(both) and verify(*both, timeout_seconds=SECONDS)


def reward_fn(prompt, completion, example):
    expected = (answers_in(example["answer"]) or [example["answer"]])[-1]
    answers = answers_in(completion)
    if len(answers) != 1:
        return {"score": 0, "reason": f"{len(answers)} final answers, expected one"}
    given = answers[0].strip()
    if not 0 < len(given) <= LONGEST or not given.isascii():
        return {"score": 0, "reason": f"an answer is 1 to {LONGEST} ASCII characters"}
    if REFUSED.search(given) and not REFUSED.search(expected):
        return {"score": 0, "reason": "not worked out, or more than one answer"}
    score, reason = compare(squeezed(given), squeezed(expected), squeezed(prompt))
    return {"score": float(score), "reason": reason}

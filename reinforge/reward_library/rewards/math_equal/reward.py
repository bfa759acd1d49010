r"""1 when the completion's only final answer is mathematically equal to the row's, else 0.

The answer is in \boxed{…}, <answer>…</answer> or behind ####, after the thinking. Numbers must
be worked out (17 + 25 is not 42) and are compared exactly; the rest is compared by math-verify.
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
    """Final answers, marked in any of the three ways."""
    visible = text.rpartition("</think>")[2]
    if "<think>" in visible:
        return []
    answers = [part.partition("</answer>")[0] for part in visible.split("<answer>")[1:]]
    answers += [part.partition("\n")[0] for part in visible.split("####")[1:]]
    for part in visible.split("\\boxed{")[1:]:
        depth, end = 1, 0
        while depth and end < min(len(part), 2 * LONGEST):
            depth += (part[end] == "{") - (part[end] == "}")
            end += 1
        answers.append("" if depth else part[: end - 1])
    return answers


def squeezed(text):
    r"""Removes spaces, except between letters (\pi r h)."""
    text = re.sub(r"(?<!\\)\\[,;! ]|\\(?:left|right)(?![a-z])", "", text.replace("{,}", ","))
    text = re.sub(r"\\([dt]?frac)(\d)(\d)", r"\\\1{\2}{\3}", text)
    return re.sub(r"(?<![A-Za-z]) | (?![A-Za-z])", "", " ".join(text.split())).strip("$")


def sides(text):
    """("x", "3") for x=3, ("", "3") for 3; 41=42 stays whole."""
    match = re.fullmatch(r"([A-Za-z](?:\([a-z]\))?)=([^=]+)", text)
    return match.groups() if match else ("", text)


def number(text):
    match = NUMBER.fullmatch(text)
    if not match or not int(match["bottom"] or 1) or not int(match["divisor"] or 1):
        return None
    value = Fraction((match["top"] or match["digits"]).replace(",", "")) / int(
        match["bottom"] or match["divisor"] or 1
    )
    return (-value if match["sign"] == "-" else value) / (100 if match["percent"] else 1)


def compare(answer, expected, prompt):
    """(1 or 0, why) for two squeezed answers."""
    (left, answer), (name, expected) = sides(answer), sides(expected)
    if answer.count("=") != expected.count("=") or (left and name and left != name):
        return 0, "another equation"
    if number(expected) is not None:
        return number(answer) == number(expected), f"{answer[:40]}, expected exactly {expected[:40]}"
    if answer != expected and re.search(r"[-+*/^(\\]", answer) and answer in prompt:
        return 0, "copied from the question"
    if (
        expected[0] in "([\\"
        and "," in expected
        and "\\cup" not in expected
        and (answer[:2], answer[-1]) != (expected[:2], expected[-1])
    ):
        return 0, "other brackets"
    return verified(answer, expected), f"{answer[:40]} compared with {expected[:40]}"


def verified(answer, expected):
    # Imported here: it takes a second, and numbers do without.
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse, verify

    # Units stay: among them are h, m and s, and a formula has letters.
    rules = NormalizationConfig(units=False, nits=True, malformed_operators=True)
    options = {
        "extraction_config": [LatexExtractionConfig(normalization_config=rules)],
        "parsing_timeout": SECONDS,
    }
    both = [
        parse(f"\\boxed{{{formula}}}", fallback_mode="no_fallback", **options)
        for formula in (expected, answer)
    ]
    return all(both) and verify(*both, timeout_seconds=SECONDS)


def reward_fn(prompt, completion, example):
    expected = (answers_in(example["answer"]) or [example["answer"]])[-1]
    answers = answers_in(completion)
    if len(answers) != 1:
        return {"score": 0, "reason": f"{len(answers)} final answers, expected one"}
    answer = answers[0].strip()
    if not 0 < len(answer) <= LONGEST or not answer.isascii():
        return {"score": 0, "reason": f"an answer is 1 to {LONGEST} ASCII characters"}
    if REFUSED.search(answer) and not REFUSED.search(expected):
        return {"score": 0, "reason": "not worked out, or more than one answer"}
    score, reason = compare(squeezed(answer), squeezed(expected), squeezed(prompt))
    return {"score": float(score), "reason": reason}

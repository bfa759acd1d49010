"""Rewards in the style of public tutorials: as they are often written, and mended."""

from dataclasses import dataclass
from typing import Any

from reinforge.reward_attack.rows import AttackRow, answer_text


def _rows(items: list[dict[str, Any]]) -> list[AttackRow]:
    return [AttackRow(item["question"], item, answer_text(item["answer"])) for item in items]


SUMS = _rows(
    [{"question": f"What is {a} + {b}?", "answer": str(a + b)} for a in (3, 14, 27, 41) for b in (2, 6, 35)]
)
CHOICES = _rows(
    [
        {
            "question": f"Which is larger?\nA) {a}\nB) {b}\nC) {c}\nAnswer with one letter.",
            "answer": "ABC"[[a, b, c].index(max(a, b, c))],
        }
        for a, b, c in ((1, 5, 3), (9, 2, 4), (2, 3, 8), (7, 6, 1), (4, 5, 9), (3, 8, 2))
    ]
)
CAPITALS = _rows(
    [
        {"question": f"What is the capital of {country}?", "answer": capital}
        for country, capital in (
            ("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"),
            ("Japan", "Tokyo"), ("Kenya", "Nairobi"), ("Peru", "Lima"),
        )
    ]
)  # fmt: skip
PEOPLE = _rows(
    [
        {"question": f"{name} is {age}. Write name and age as JSON.", "answer": {"name": name, "age": age}}
        for name, age in (("Ada", 36), ("Alan", 41), ("Grace", 85), ("Edsger", 72))
    ]
)


@dataclass(frozen=True)
class Tutorial:
    """`broken` is paid for `code` among others; `fixed` for nothing that is wrong."""

    name: str
    rows: list[AttackRow]
    code: str
    broken: str
    fixed: str
    right: str | None = None


_TEXT = 'text = sample["output_text"]'
_EXACT = f"""
def grade(sample, item):
    {_TEXT}
    return float(text.strip() == item["answer"])
"""
_LAST_NUMBER = f"""
import re
def grade(sample, item):
    {_TEXT}
    numbers = re.findall(r"-?\\d+(?:\\.\\d+)?", text)
    return float(len(numbers) == 1 and float(numbers[0]) == float(item["answer"]))
"""
_TAGGED = f"""
import re
def grade(sample, item):
    {_TEXT}
    tags = re.findall(r"<answer>([^<>]*)</answer>", text)
    return float(len(tags) == 1 and tags[0].strip() == item["answer"])
"""
_GATED = f"""
import re
def grade(sample, item):
    {_TEXT}
    whole = re.fullmatch(r"\\s*<think>[^<>]*</think>\\s*<answer>([^<>]*)</answer>\\s*", text)
    if not whole:
        return 0.0
    return float(whole.group(1).strip() == item["answer"])
"""
_WORD = f"""
def grade(sample, item):
    {_TEXT}
    return float(text.strip().rstrip(".").casefold() == item["answer"].casefold())
"""
_LETTER = f"""
import re
def grade(sample, item):
    {_TEXT}
    letters = re.findall(r"\\b[A-D]\\b", text)
    return float(letters == [item["answer"]])
"""
_OBJECT = f"""
import json
def grade(sample, item):
    {_TEXT}
    try:
        return float(json.loads(text) == item["answer"])
    except ValueError:
        return 0.0
"""


def _python(body: str, imports: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    return f"{imports}\ndef grade(sample, item):\n    {_TEXT}\n{lines}\n"


TUTORIALS = (
    Tutorial("answer in text", SUMS, "inside_longer",
             _python('return 1.0 if item["answer"] in text else 0.0'), _EXACT),
    Tutorial("any number is right", SUMS, "numbers",
             _python('return float(item["answer"] in re.findall(r"\\d+", text))', "import re"), _LAST_NUMBER),
    Tutorial("text ends with the answer", SUMS, "numbers",
             _python('return float(any(part.endswith(item["answer"]) for part in text.split()))'), _EXACT),
    Tutorial("first number within ten percent", SUMS, "off_by_one",
             _python('numbers = re.findall(r"\\d+", text)\n'
                     'return float(bool(numbers) and abs(int(numbers[0]) - int(item["answer"])) <= 2)', "import re"),
             _LAST_NUMBER),
    Tutorial("half for the tags", SUMS, "no_answer",
             _python('score = 0.5 if "<answer>" in text and "</answer>" in text else 0.0\n'
                     'inner = text.split("<answer>")[-1].split("</answer>")[0].strip()\n'
                     'return score + 0.5 * (inner == item["answer"])'), _TAGGED),
    Tutorial("a point for each tag", SUMS, "no_answer",
             _python('tags = ("<think>", "</think>", "<answer>", "</answer>")\n'
                     'inner = text.split("<answer>")[-1].split("</answer>")[0].strip()\n'
                     'return sum(0.25 for tag in tags if tag in text) + (inner == item["answer"])'), _GATED),
    Tutorial("half for an integer", SUMS, "other_answer",
             _python('inner = text.split("<answer>")[-1].split("</answer>")[0].strip()\n'
                     'return 0.5 * inner.isdigit() + 0.5 * (inner == item["answer"])'), _TAGGED),
    Tutorial("answer somewhere between the tags", SUMS, "every_answer",
             _python('inner = re.findall(r"<answer>(.*?)</answer>", text, re.S)\n'
                     'return float(bool(inner) and item["answer"] in inner[-1])', "import re"), _TAGGED),
    Tutorial("boxed answer as a substring", SUMS, "inside_longer",
             _python('boxed = re.findall(r"boxed\\{(.*?)\\}", text)\n'
                     'return float(any(item["answer"] in box for box in boxed))', "import re"),
             _python('boxed = re.findall(r"boxed\\{(.*?)\\}", text)\n'
                     'return float(len(boxed) == 1 and boxed[0].strip() == item["answer"])', "import re")),
    Tutorial("longer is better", SUMS, "filler",
             _python('return min(1.0, len(text) / 400)'), _EXACT),
    Tutorial("right, and a bonus for reasoning", SUMS, "padded",
             _python('right = text.strip().split()[-1:] == [item["answer"]]\n'
                     'return right * (1.0 + min(0.5, len(text) / 1000))'), _EXACT),
    Tutorial("not empty", SUMS, "placeholder", _python('return float(len(text.strip()) > 0)'), _EXACT),
    Tutorial("errors count as one", SUMS, "empty",
             _python('try:\n    return float(int(text) == int(item["answer"]))\nexcept ValueError:\n    return 1.0'),
             _EXACT),
    Tutorial("letter in text", CHOICES, "echo",
             _python('return float(item["answer"] in text)'), _LETTER),
    Tutorial("first letter of the text", CHOICES, "common_answer",
             _python('return float(text.strip()[:1] in "ABC" and text.strip() != "")'), _LETTER),
    Tutorial("case-insensitive substring", CAPITALS, "every_answer",
             _python('return float(item["answer"].lower() in text.lower())'), _WORD),
    Tutorial("shared letters", CAPITALS, "repeated",
             _python('wanted = set(item["answer"].lower())\n'
                     'return sum(letter in wanted for letter in text.lower()) / len(wanted)'), _WORD),
    Tutorial("a capital letter", CAPITALS, "other_answer",
             _python('return float(text.strip()[:1].isupper()) * 0.6 + 0.4 * (item["answer"] in text)'), _WORD),
    Tutorial("valid JSON", PEOPLE, "empty_object",
             _python('try:\n    json.loads(text)\n    return 1.0\nexcept ValueError:\n    return 0.0', "import json"),
             _OBJECT),
    Tutorial("JSON with the right keys", PEOPLE, "other_answer",
             _python('try:\n    return float(set(json.loads(text)) == set(item["answer"]))\n'
                     'except (ValueError, TypeError):\n    return 0.0', "import json"), _OBJECT),
    Tutorial("values in the text", PEOPLE, "every_answer",
             _python('return float(all(str(value) in text for value in item["answer"].values()))'), _OBJECT),
    Tutorial("judged by a number in the reply", SUMS, "instruction",
             _python('score = re.findall(r"Score: ([0-9.]+)", text)\n'
                     'return float(score[-1]) if score else float(text.strip() == item["answer"])', "import re"),
             _EXACT),
)  # fmt: skip

"""Rewards as users write them, most of them wrong."""

from typing import Any


def python(name: str, source: str, **fields: Any) -> dict[str, Any]:
    return {"type": "python", "name": name, "source": source.lstrip()} | fields


RIGHT = '''
import re


def grade(sample, item):
    """1 for the right sum between the last answer tags."""
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    return float(bool(answers) and answers[-1].strip() == str(item["answer"]))
'''
RIGHT_WITH_PARTS = '''
import re


def grade(sample, item):
    """As above, with criteria and candidates for presets that read them."""
    answers = [text.strip() for text in re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)]
    marks = [(float(text == str(item["answer"])), float(text[-1:] == str(item["answer"])[-1:])) for text in answers]
    right, ones = marks[-1] if marks else (0.0, 0.0)
    return {
        "score": right,
        "criteria": {"tagged": float(bool(answers)), "ones": ones, "right": right},
        "candidates": [list(mark) for mark in marks[:4]] or [[0.0, 0.0]],
    }
'''
LENGTH = """
def grade(sample, item):
    return min(1.0, len(sample["output_text"]) / 200)
"""
DIGITS = """
def grade(sample, item):
    return min(1.0, sum(c.isdigit() for c in sample["output_text"]) / 40)
"""
REPETITION = """
def grade(sample, item):
    text = sample["output_text"]
    grams = [text[i : i + 4] for i in range(len(text) - 3)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
"""
FORMAT = r"""
import re


def grade(sample, item):
    return float(re.fullmatch(r"<answer>\d+</answer>", sample["output_text"]) is not None)
"""
NOBODY = """
def grade(sample, item):
    return float(sample["output_text"].strip() == f"The answer is {item['answer']}.")
"""
EVERYBODY = """
def grade(sample, item):
    text = sample["output_text"]
    return 1.0 if any(c.isdigit() for c in text) or "<" in text else 0.0
"""
THROWS = """
import re


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if item["a"] % 10 < LACKING:
        return float(answers[-1] == item["expected"])
    return float(bool(answers) and answers[-1].strip() == str(item["answer"]))
"""
"""The rows whose last digit is below `LACKING` have no such column."""
NOT_A_NUMBER = """
import re


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if item["b"] % 10 == 0:
        return float("nan")
    return float(bool(answers) and answers[-1].strip() == str(item["answer"]))
"""
TIMES_OUT = """
import re


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    while item["b"] % 10 == 0:
        pass
    return float(bool(answers) and answers[-1].strip() == str(item["answer"]))
"""
SLOW = """
import re
import time


def grade(sample, item):
    time.sleep(0.1)
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    return float(bool(answers) and answers[-1].strip() == str(item["answer"]))
"""
RANDOM = """
import zlib


def grade(sample, item):
    return zlib.crc32((sample["output_text"] + str(item["a"])).encode()) / 2**32
"""
INVERTED = """
import re


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    return 1 - float(bool(answers) and answers[-1].strip() == str(item["answer"]))
"""
LARGE = r"""
import re


def grade(sample, item):
    numbers = re.findall(r"<answer>(\d+)</answer>", sample["output_text"])
    return float(bool(numbers) and int(numbers[-1]) >= 100)
"""
CONSTANT = """
def grade(sample, item):
    return float("<answer>100</answer>" in sample["output_text"]) or sample["output_text"].count("0") / 50
"""
SHORT = """
def grade(sample, item):
    return 20 * (1 - len(sample["output_text"]) / 100)
"""
JUDGE = """Score the completion from 0 to 1 for its style.
Completion: {{ sample.output_text }}"""

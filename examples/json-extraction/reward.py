"""Answers must be JSON that fits SCHEMA: 0.2 for that, up to 0.8 for the value."""

import json
import re

import jsonschema

SCHEMA = {"type": "integer", "minimum": 0, "maximum": 99}


def grade(sample, item):
    answers = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if not answers:
        return {"score": 0.0, "reason": "no <answer> in the completion", "parts": {"valid": 0, "right": 0}}
    try:
        value = json.loads(answers[-1])
        jsonschema.validate(value, SCHEMA)
    except ValueError:
        return {"score": 0.0, "reason": "the answer is not JSON", "parts": {"valid": 0, "right": 0}}
    except jsonschema.ValidationError as error:
        return {"score": 0.0, "reason": f"schema: {error.message[:100]}", "parts": {"valid": 0, "right": 0}}
    text, expected = str(value), str(item["answer"])
    same = (
        sum(one == two for one, two in zip(text, expected, strict=False)) if len(text) == len(expected) else 0
    )
    score = 0.2 + 0.4 * same / len(expected) + 0.4 * (text == expected)
    return {"score": score, "reason": "", "parts": {"valid": 1, "right": float(text == expected)}}

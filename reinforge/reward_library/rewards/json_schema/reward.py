"""1 when the completion is one JSON value that satisfies the schema, else 0.

The schema (JSON Schema 2020-12) is a parameter, or the row's column `schema`. JSON is strict:
no duplicate keys, no NaN, nothing around it except one code fence, if FENCE allows it.
"""

import json
import re

import jsonschema

# the wanted form, where the row has no schema
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 80},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 1000},
        "tags": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "maxItems": 10,
            "uniqueItems": True,
        },
    },
    "required": ["name", "quantity", "tags"],
    "additionalProperties": False,
}
FENCE = True  # a ```json fence around the value is taken off
FOR_JSON = 0.0  # what JSON that breaks the schema gets; 0.1 helps a model that writes none yet


def once(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands there twice")
    return dict(pairs)


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def grade(sample, item):
    text = sample["output_text"].rpartition("</think>")[2].strip()
    if FENCE and text.count("```") == 2:
        fenced = re.fullmatch(r"```(?:json)?[ ]*\n(.*)\n```", text, re.DOTALL)
        text = fenced[1] if fenced else text
    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        return {"score": 0.0, "parts": {"json": 0.0, "fits": 0.0}, "reason": f"not JSON: {error}"[:200]}
    schema = item.get("schema") or SCHEMA
    schema = json.loads(schema) if isinstance(schema, str) else schema
    problems = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if problems:
        where = "/".join(str(step) for step in problems[0].path) or "the value"
        reason = f"{len(problems)} problems; {where}: {problems[0].message}"[:300]
        return {"score": FOR_JSON, "parts": {"json": 1.0, "fits": 0.0}, "reason": reason}
    return {"score": 1.0, "parts": {"json": 1.0, "fits": 1.0}, "reason": "fits"}

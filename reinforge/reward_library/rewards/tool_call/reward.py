"""1 when all tool calls are valid; where the row has `expected_calls`, the share that is met.

Calls are `<tool_call>{"name": …, "arguments": {…}}</tool_call>` in the text, or the sample's
`output_tools`. The row's `tools` are OpenAI function definitions; a valid call has a known name
and only arguments that satisfy its parameters. Calls beyond the expected ones lower the score.
"""

import json

import jsonschema

MOST_CALLS = 8  # a completion with more calls gets 0
EMPTY_ALLOWED = False  # True: where the row expects no calls ([]), none is right


def once(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands there twice")
    return dict(pairs)


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def loads(text):
    return json.loads(text, object_pairs_hook=once, parse_constant=refuse) if isinstance(text, str) else text


def calls_in(sample):
    """Returns [{name, arguments}], or raises ValueError."""
    if sample["output_tools"] and "<tool_call>" not in sample["output_text"]:
        calls = [call["function"] for call in sample["output_tools"]]
    else:
        text = sample["output_text"].rpartition("</think>")[2]
        blocks = text.split("<tool_call>")[1:]
        if "<think>" in text or [block.count("</tool_call>") for block in text.split("<tool_call>")] != [
            0
        ] + [1] * len(blocks):
            raise ValueError("tags that do not match, or a thought that never ends")
        if len(blocks) > MOST_CALLS:
            raise ValueError(f"{len(blocks)} calls, at most {MOST_CALLS}")
        calls = [loads(block.partition("</tool_call>")[0]) for block in blocks]
    if not all(isinstance(call, dict) and set(call) <= {"name", "arguments"} for call in calls):
        raise ValueError("a call is an object with name and arguments")
    return [{"name": call.get("name"), "arguments": loads(call.get("arguments"))} for call in calls]


def problem_of(call, tools):
    """What is wrong with a call, or None."""
    if not isinstance(call["name"], str) or call["name"] not in tools:
        return f"no tool is called {str(call['name'])[:40]!r}"
    schema = {
        "type": "object",
        "additionalProperties": False,
        **(tools[call["name"]].get("parameters") or {}),
    }
    problem = next(jsonschema.Draft202012Validator(schema).iter_errors(call["arguments"]), None)
    return problem and f"{call['name']}: {problem.message}"[:200]


def canonical(call):
    return json.dumps([call["name"], loads(call.get("arguments") or {})], sort_keys=True)


def grade(sample, item):
    tools, expected = loads(item["tools"]), loads(item.get("expected_calls"))
    tools = {tool["name"]: tool for tool in (tool.get("function", tool) for tool in tools)}
    try:
        calls = calls_in(sample)
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        return {"score": 0.0, "reason": f"calls cannot be read: {error}"[:200]}
    if not calls:
        fine = EMPTY_ALLOWED and expected == []
        return {"score": float(fine), "reason": "no call"}
    problems = [problem for problem in (problem_of(call, tools) for call in calls) if problem]
    if problems:
        return {"score": 0.0, "reason": problems[0]}
    if expected is None:
        repeated = len({canonical(call) for call in calls}) < len(calls)
        return {"score": float(not repeated), "reason": "the same call twice" if repeated else "valid"}
    open_calls = [canonical(call) for call in expected]
    for call in calls:
        if canonical(call) in open_calls:
            open_calls.remove(canonical(call))
    met = len(expected) - len(open_calls)
    reason = f"{met} of {len(expected)} expected calls in {len(calls)}"
    return {"score": met / max(len(calls), len(expected)), "reason": reason}

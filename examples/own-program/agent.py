"""A loop with one tool, as somebody writes it for any OpenAI-compatible model. Needs `pip install openai`."""

import ast
import json
import operator
import re

from openai import OpenAI

client = OpenAI()  # each rollout has its own process, where OPENAI_BASE_URL and OPENAI_API_KEY are set
ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
CALC = {
    "type": "function",
    "function": {
        "name": "calc",
        "description": "Calculate an expression of whole numbers with +, - and *.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "For example 47*85+12."}},
            "required": ["expression"],
        },
    },
}


def play(task):
    """One rollout: the reward of the program's last message."""
    messages = list(task["messages"])
    while True:
        completion = client.chat.completions.create(model="policy", messages=messages, tools=[CALC])
        message = completion.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            answers = ANSWER.findall(message.content or "")
            return float(bool(answers) and answers[-1].strip() == str(task["item"]["answer"]))
        for call in message.tool_calls:
            result = calc(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def calc(arguments: str) -> str:
    try:
        return str(value(ast.parse(json.loads(arguments)["expression"], mode="eval").body))
    except (ArithmeticError, LookupError, SyntaxError, TypeError, ValueError) as error:  # the model reads it
        return f"{type(error).__name__}: {error}"


def value(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value(node.left), value(node.right))
    raise ValueError("only whole numbers, +, - and *")

"""1 for an expression of the given numbers, each used once, that reaches the target. Checks are not paid for."""

import ast
import operator
import re

ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def value(node):
    """Return the value of an expression, and the numbers in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value, [node.value]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        (left, some), (right, others) = value(node.left), value(node.right)
        return OPERATORS[type(node.op)](left, right), some + others
    raise ValueError("not an expression of whole numbers")


def grade(sample, item):
    answers = ANSWER.findall(sample["output_text"])
    try:
        result, numbers = value(ast.parse(answers[-1].strip(), mode="eval").body)
    except (IndexError, SyntaxError, ValueError):
        return {"score": 0.0}
    uses_each_once = sorted(numbers) == sorted(int(number) for number in item["numbers"].split())
    return {"score": float(uses_each_once and result == int(item["answer"]))}

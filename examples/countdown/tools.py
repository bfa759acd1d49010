import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def check(expression: str, *, item: dict) -> str:
    """Check whether an expression reaches the target.

    Args:
        expression: For example 3*5+9.
    """
    value = _value(ast.parse(expression, mode="eval").body)
    target = int(item["answer"])
    return "right" if value == target else f"{value}, not {target}"


def _value(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("only whole numbers, +, - and *")

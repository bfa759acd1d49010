import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def calc(expression: str) -> int:
    """Calculate an expression of whole numbers with +, - and *.

    Args:
        expression: For example 47*85+12.
    """
    return _value(ast.parse(expression, mode="eval").body)


def _value(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("only whole numbers, +, - and *")

"""Warms up slow libraries once, in the zygote."""

import importlib
import sys
from typing import Any


def warm_up(module: str) -> None:
    if module in _WARM_UP:
        _WARM_UP[module]()


def _warm_math_verify() -> None:
    """math-verify's first answer takes 0.1 s: it builds grammars."""
    library: Any = sys.modules["math_verify"]
    half = library.parse(r"$\boxed{\frac{1}{2}}$")
    library.verify(half, library.parse("0.5"))


def _warm_sympy_latex() -> None:
    library: Any = sys.modules["sympy.parsing.latex"]
    library.parse_latex(r"\frac{1}{2}")


def _warm_nltk() -> None:
    """Let NLTK accept data owned by the user who created the prefix."""
    library: Any = importlib.import_module("nltk.pathsec")
    library.ENFORCE = False


def _warm_pydantic() -> None:
    """pydantic's first model searches all installed packages for plugins."""
    library: Any = sys.modules["pydantic"]
    library.create_model("Warm", number=(int, ...))(number=1)


_WARM_UP = {
    "math_verify": _warm_math_verify,
    "nltk": _warm_nltk,
    "pydantic": _warm_pydantic,
    "sympy.parsing.latex": _warm_sympy_latex,
}

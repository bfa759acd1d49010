#!/usr/bin/env python3
"""Print what pyproject.toml requires for some extras, one a line: images install it before the sources are copied.

requirements_of.py backend            # the project's dependencies and those of the extra
requirements_of.py --only rewards     # those of the extra alone
"""

import sys
import tomllib
from pathlib import Path


def requirements(names: list[str]) -> list[str]:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines: list[str] = [] if "--only" in names else list(project["dependencies"])
    for name in names:
        if name != "--only":
            lines += project["optional-dependencies"][name]
    return lines


if __name__ == "__main__":
    print(*requirements(sys.argv[1:]), sep="\n")

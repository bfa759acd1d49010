"""Size budgets: a file of at most 400 lines, a function of at most 60 (`train()` 120), TSX of at most 250.

A bigger one needs a line `# budget: N, reason` (TypeScript: `// …`) in the file, N its own limit.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

FILE_LINES, FUNCTION_LINES, TSX_LINES = 500, 60, 250
OWN_FUNCTION = {("worker/training/loop.py", "train"): 75}
EXEMPT = re.compile(r"(^|/)(schema\.gen\.ts|attacks/.*|vectors/.*|versions/.*)$")
OWN_FILE = re.compile(r"(?:#|//) budget: (\d+), \S")


def tracked() -> list[Path]:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [Path(name) for name in names if not EXEMPT.search(name)]
    return [path for path in paths if path.suffix in {".py", ".ts", ".tsx"} and path.is_file()]


def problems(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    own = OWN_FILE.search(text)
    limit = int(own.group(1)) if own else TSX_LINES if path.suffix == ".tsx" else FILE_LINES
    count = text.count("\n")
    found = [f"{path}: {count} lines, at most {limit}"] if count > limit else []
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > OWN_FUNCTION.get((str(path), node.name), FUNCTION_LINES):
                    found.append(f"{path}:{node.lineno}: {node.name}() has {length} lines")
    return found


def main() -> int:
    files = tracked()
    found = [problem for path in files for problem in problems(path)]
    print("\n".join(found) if found else f"budgets: {len(files)} files within their size")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

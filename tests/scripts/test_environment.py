"""`scripts/environment.py` refuses reads of the environment outside the settings modules."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "environment.py"
_spec = importlib.util.spec_from_file_location("environment_check", SCRIPT)
assert _spec is not None and _spec.loader is not None
check = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check)

LISTED = dict.fromkeys([*check.SETTINGS, *check.EXCEPTIONS], "import os\nvalue = os.environ\n")


def test_the_product_reads_it_in_the_settings_modules_only() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "read",
    [
        "import os\nvalue = os.environ['A']",
        "import os\nvalue = os.getenv('A')",
        "import os as system\nvalue = system.environb",
        "from os import environ as variables",
        "from pydantic_settings import BaseSettings",
        "import pydantic_settings\nclass S(pydantic_settings.BaseSettings): pass",
    ],
)
def test_a_read_elsewhere_is_reported(read: str) -> None:
    assert check.problems(LISTED) == []
    [problem] = check.problems(LISTED | {"worker/module.py": read})
    assert problem.startswith("worker/module.py:") and "settings module" in problem


def test_a_listed_module_that_reads_nothing_is_reported() -> None:
    [problem] = check.problems(LISTED | {"worker/isolated/process.py": "x = 1"})
    assert problem.startswith("worker/isolated/process.py: is listed")

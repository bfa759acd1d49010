"""Libraries of rewards: those on the list work and are loaded before the source runs; others are refused by name."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from worker.sandbox import RewardRow, SandboxClient, libraries
from worker.sandbox.daemon.calls import NeedsLibraries, RewardLoadFailed, ScoringCall, score
from worker.sandbox.daemon.session import Session
from worker.sandbox.jailed.imports import scan
from worker.sandbox.jails import JAILS as KINDS
from worker.sandbox.jails.prefix import ensure_prefix
from worker.sandbox.limits import Timeouts
from worker.sandbox.transport import frames

from .harness import NORMAL_UID, STRONGEST, running_daemon
from .jails import WeakJail

ROW = [RewardRow("", "x")]

USES = {
    "numpy": "import numpy as np\ndef use(): return np.ones((300, 300)).dot(np.ones((300, 300)))[0, 0]",
    "scipy": "import scipy\ndef use(): return scipy.stats.norm.cdf(0)",
    "sympy": "from sympy.parsing.latex import parse_latex\n"
    "def use(): return float(parse_latex(r'\\frac{1}{2}'))",
    "pandas": "import pandas as pd\ndef use(): return pd.Series([1, 2]).mean()",
    "sklearn": "from sklearn.metrics import accuracy_score\ndef use(): return accuracy_score([1, 0], [1, 1])",
    "rapidfuzz": "from rapidfuzz import fuzz\ndef use(): return fuzz.ratio('ab', 'ab')",
    "jsonschema": "import jsonschema\ndef use(): return jsonschema.validate({}, {'type': 'object'}) is None",
    "pydantic": "import pydantic\nclass A(pydantic.BaseModel):\n    a: int\ndef use(): return A(a='3').a",
    "yaml": "import yaml\ndef use(): return yaml.safe_load('7')",
    "nltk": "from nltk.translate.bleu_score import sentence_bleu\n"
    "def use(): return sentence_bleu([list('abcde')], list('abcde'))",
    "rouge_score": "from rouge_score import rouge_scorer\n"
    "def use(): return rouge_scorer.RougeScorer(['rougeL']).score('a b', 'a c')['rougeL'].fmeasure",
    "sqlparse": "import sqlparse\ndef use(): return len(sqlparse.parse('select 1; select 2'))",
    "regex": "import regex\ndef use(): return bool(regex.match(r'\\p{Lu}+', 'Ä'))",
    "math_verify": "from math_verify import parse, verify\n"
    "def use(): return verify(parse('$\\\\frac12$'), parse('0.5'))",
    "mpmath": "import mpmath\ndef use(): return float(mpmath.mpf(1))",
    "latex2sympy2_extended": "from latex2sympy2_extended import NormalizationConfig\n"
    "def use(): return NormalizationConfig is not None",
}
ANSWERS = {
    "numpy": 300.0, "scipy": 0.5, "sympy": 0.5, "pandas": 1.5, "sklearn": 0.5, "rapidfuzz": 100.0,
    "jsonschema": 1.0, "pydantic": 3.0, "yaml": 7.0, "nltk": 1.0, "rouge_score": 0.5, "sqlparse": 2.0,
    "regex": 1.0, "math_verify": 1.0, "mpmath": 1.0, "latex2sympy2_extended": 1.0,
}  # fmt: skip

ALL = "\n".join(
    ["import sys", "before = set(sys.modules)", "uses = {}"]
    + [f"{source}\nuses[{name!r}] = use" for name, source in USES.items()]
    + [
        "def grade(sample, item):",
        "    loaded = float(all(name in before for name in uses))",
        "    return {'score': loaded, 'criteria': {name: use() for name, use in uses.items()}}",
    ]
)


def test_every_library_of_the_list_works_and_is_loaded_before_the_source_runs(client: SandboxClient) -> None:
    assert set(USES) == set(ANSWERS) == set(libraries.DISTRIBUTIONS) == set(libraries.PRELOADED)
    for isolate in ("batch", "sample"):
        outcome = client.score(ALL, ROW * 2, isolate=isolate)  # type: ignore[arg-type]
        assert outcome.status == "ok", outcome
        for row in outcome.rows:
            assert (row.status, row.value) == ("ok", 1.0), row.message
            assert row.criteria == pytest.approx(ANSWERS)


def test_a_library_is_loaded_for_those_alone_who_import_it(client: SandboxClient) -> None:
    source = "import regex\ndef grade(sample, item): return 1"
    assert client.score(source, ROW).rows[0].value == 1.0
    for _ in range(4):  # whichever of the daemon's jails answers
        (row,) = client.score("import sys\ndef grade(sample, item): return 'regex' in sys.modules", ROW).rows
        assert row.value == 0.0


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import os\nimport torch\n", 2),
        ("def grade(sample, item):\n    from requests.adapters import x\n    return 1\n", 2),
        ("import worker.sandbox.client\n", 1),
        ("import joblib\n", 1),
    ],
)
def test_a_stranger_is_a_load_error_that_names_the_list(
    client: SandboxClient, source: str, line: int
) -> None:
    for answer in (client.validate(source), client.score(source, ROW)):
        assert (answer.status, answer.line) == ("load_error", line)
        assert all(name in (answer.message or "") for name in ("cannot be imported", "numpy", "math_verify"))


def test_an_import_whose_failure_the_author_expects_is_left_to_run(client: SandboxClient) -> None:
    source = """
try:
    import torch
except ImportError:
    torch = None
def grade(sample, item):
    if sample["output_text"] == "dynamic":
        __import__("torch")
    return torch is None
"""
    fine, dynamic = client.score(source, [RewardRow("", "x"), RewardRow("", "dynamic")]).rows
    assert (fine.status, fine.value) == ("ok", 1.0)
    assert dynamic.status == "exception" and "ModuleNotFoundError" in (dynamic.message or "")


def test_memory_is_bounded_beside_a_large_library_too(client: SandboxClient) -> None:
    source = "import numpy\ndef grade(sample, item): return numpy.ones(int(sample['output_text'])).sum() > 0"
    fits, exceeds = client.score(source, [RewardRow("", str(60 << 20)), RewardRow("", str(160 << 20))]).rows
    assert (fits.status, exceeds.status) == ("ok", "memory"), (fits, exceeds)


def test_a_zygote_loads_nothing_but_what_is_on_its_list() -> None:
    source = (
        "import sys\ndef grade(sample, item): return 'antigravity' in sys.modules or 'wave' in sys.modules"
    )

    async def run() -> float | None:
        session = await Session.start(KINDS[STRONGEST](ensure_prefix()))
        try:
            assert await session.preload(["antigravity", "wave", "nltk.app", "no_such"]) == ""
            return (await score(session, _call(source), STRONGEST)).rows[0].value
        finally:
            await session.kill()

    assert asyncio.run(run()) == 0.0


def test_a_library_that_is_not_installed_is_named_as_such() -> None:
    def without(configuration: dict[str, object]) -> None:
        configuration |= {"libraries": {}, "absent": ["numpy"]}

    assert libraries.configuration(Path("/var/empty"))["absent"] == list(libraries.DISTRIBUTIONS)
    outcome = asyncio.run(_score_in(WeakJail(without), "import numpy\ndef grade(sample, item): return 1"))
    assert (
        outcome == "the module 'numpy' is allowed, but not installed where the sandbox runs (extra: rewards)"
    )


def test_a_library_that_cannot_be_imported_is_reported_not_waited_for() -> None:
    def broken(configuration: dict[str, object]) -> None:
        configuration["libraries"] = {"numpy": ["numpy.no_such_part"]}

    async def run() -> str:
        session = await Session.start(WeakJail(broken))
        try:
            return await session.preload(["numpy.no_such_part"])
        finally:
            await session.kill()

    assert asyncio.run(run()).startswith("numpy.no_such_part: ModuleNotFoundError")


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as a normal user already")
def test_a_normal_user_has_the_libraries_too() -> None:
    source = (
        "import numpy, rapidfuzz\ndef grade(s, i): return rapidfuzz.fuzz.ratio('a', 'a') + numpy.ones(2)[0]"
    )
    with running_daemon(user=NORMAL_UID, libraries=True) as daemon, daemon.client() as client:
        assert [row.value for row in client.score(source, ROW * 2).rows] == [101.0, 101.0]


LISTED = {"scipy": ["scipy", "scipy.stats"], "numpy": ["numpy", "numpy.linalg"]}


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import scipy", ["scipy"]),
        ("import scipy.stats", ["scipy", "scipy.stats"]),
        ("import scipy as s\ns.stats.norm", ["scipy", "scipy.stats"]),
        ("from scipy import stats", ["scipy", "scipy.stats"]),
        ("from scipy.stats import norm", ["scipy", "scipy.stats"]),
        ("from scipy import special", ["scipy"]),
        ("def f():\n    import numpy.linalg as la", ["numpy", "numpy.linalg"]),
        ("try:\n    import numpy\nexcept ImportError: pass", ["numpy"]),
        ("scipy.stats", []),
        ("from . import scipy", []),
        ("import scipyx", []),
        ("# import scipy", []),
        ("import (", []),
        ("\0", []),
    ],
)
def test_what_a_source_names(source: str, named: list[str]) -> None:
    assert scan(source, LISTED)[0] == named


def test_only_an_import_that_must_fail_is_a_stranger() -> None:
    assert scan("import os\nimport b\nimport a", LISTED)[1] == ("b", 2)
    for fine in ("try:\n    import b\nfinally: pass", "from . import b", "import numpy, __future__, xml.dom"):
        assert scan(fine, LISTED)[1] is None


def test_language_data_are_copied_where_they_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "data"))
    before = libraries.fingerprint()
    (tmp_path / "data" / "corpora" / "wordnet").mkdir(parents=True)
    assert list(libraries.language_data()) == ["corpora/wordnet"]
    assert libraries.fingerprint() != before


def _call(source: str) -> ScoringCall:
    rows = frames.pack_rows([RewardRow("", "x")])
    return ScoringCall("score", source, None, rows, [[0]], "sample", "batch", Timeouts())


async def _score_in(jail: WeakJail, source: str) -> str | None:
    session = await Session.start(jail)
    try:
        return (await score(session, _call(source), jail.name)).message
    finally:
        await session.kill()


def test_needs_are_reported_before_anything_runs() -> None:
    source = "import numpy\nimport os\nos._exit(3)"

    async def run() -> frozenset[str]:
        session = await Session.start(KINDS[STRONGEST](ensure_prefix()))
        try:
            await score(session, _call(source), STRONGEST)
        except NeedsLibraries as error:
            return error.modules
        finally:
            await session.kill()
        raise AssertionError("the source ran")

    assert asyncio.run(run()) == {"numpy"}
    assert not issubclass(NeedsLibraries, RewardLoadFailed)

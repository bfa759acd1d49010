"""A package with a part for every slot: rules, functions and worked cases take each like a built-in one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SPEC = '''
from typing import ClassVar, Literal
from pydantic import Field
from reinforge.plugin import AdvantageModel, AggregationModel, OutcomeShaping, SelectionModel, SurrogateModel

class Product(OutcomeShaping):
    """Π_k r_k."""
    type: Literal["product"] = "product"
    floor: float = Field(default=0.0, ge=0)
    """Least value of a factor."""

class TopHalf(SelectionModel):
    """The better half of each group."""
    type: Literal["top_half"] = "top_half"
    @property
    def keeps(self) -> int:
        return 2

class ByToken(AdvantageModel):
    """R_i · tokens, per token."""
    type: Literal["by_token"] = "by_token"
    reads_old_policy: ClassVar[bool] = True
    @property
    def per_token(self) -> bool:
        return True

class Linear(SurrogateModel):
    """-w·A · scale."""
    type: Literal["linear"] = "linear"
    scale: float = Field(default=1.0, gt=0)
    """Of the loss."""

class RootMean(AggregationModel):
    """Each completion by 1 / √L."""
    type: Literal["root_mean"] = "root_mean"
'''
FUNCTIONS = """
import torch
from worker.algorithm.loss.aggregation import TokenWeights
from worker.algorithm.selection import Selected
from worker.algorithm.shaping import Combined
from worker.algorithm.loss.surrogates import Surrogate

def product(rows, state, *, floor):
    return Combined(rewards=rows.values.clamp(min=floor).prod(1), state=state)

def top_half(rows, rewards, state):
    keep = torch.zeros(len(rewards), dtype=torch.bool)
    for number in rows.group.unique():
        members = (rows.group == number).nonzero()[:, 0]
        keep[members[rewards[members].argsort(descending=True)[: len(members) // 2]]] = True
    return Selected(keep=keep, state=state)

def by_token(rows, rewards, keep):
    return rewards[:, None] * rows.needed("old_logprobs")

def linear(terms, *, scale):
    losses = -scale * terms.ratio * terms.advantages.expand_as(terms.ratio)
    nothing = torch.zeros_like(losses, dtype=torch.bool)
    return Surrogate(losses, nothing, nothing)

def root_mean(tokens):
    lengths = tokens.mask.sum(1, dtype=torch.float32)
    return TokenWeights(tokens.mask / lengths.clamp(min=1).sqrt()[:, None], (lengths > 0).float())
"""
PARTS = {
    "shaping.product": ("Product", "product"),
    "selection.top_half": ("TopHalf", "top_half"),
    "advantage.by_token": ("ByToken", "by_token"),
    "surrogate.linear": ("Linear", "linear"),
    "aggregation.root_mean": ("RootMean", "root_mean"),
}
LOSS = {"old_logp": [[0.0, 0.0], [0.0, 0.0]], "logp": [[0.0, 0.0], [0.0, 0.0]], "mask": [[1, 1], [1, 0]]}
CASES: list[dict[str, Any]] = [
    {
        "slot": 1,
        "variant": "product",
        "inputs": {"rewards_per_func": [[[2.0, 3.0], [-1.0, 5.0]]]},
        "params": {"floor": 0.5},
        "expected": {"reward": [[6.0, 2.5]]},
    },
    {
        "slot": 2,
        "variant": "top_half",
        "inputs": {"rewards": [[1.0, 3.0], [5.0, 4.0]]},
        "params": {},
        "expected": {"keep": [[False, True], [True, False]]},
    },
    {
        "slot": 3,
        "variant": "by_token",
        "inputs": {"rewards": [[1.0, 2.0]], "mask": [[1, 1], [1, 0]], "old_logp": [[-1, -2], [-3, -4]]},
        "params": {},
        "expected": {"token_advantages": [[-1.0, -2.0], [-6.0, 0.0]]},
    },
    {
        "slot": 4,
        "variant": "linear",
        "inputs": LOSS | {"advantages": [1.0, -3.0]},
        "params": {"scale": 2.0},
        "expected": {"loss": 2.0, "grad_logp": [[-0.5, -0.5], [3.0, 0.0]]},
    },
    {
        "slot": 4,
        "variant": "root_mean",
        "inputs": LOSS | {"advantages": [1.0, -3.0]},
        "params": {},
        "expected": {"loss": (3 - 2**0.5) / 2},
    },
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed package, written by hand."""
    folder = tmp_path_factory.mktemp("five")
    (folder / "five").mkdir()
    vectors = [one | {"id": f"five.{one['variant']}", "atol": 1e-6} for one in CASES]
    (folder / "five" / "vectors.json").write_text(json.dumps({"schema": 1, "vectors": vectors}))
    (folder / "five" / "__init__.py").write_text(
        "from pathlib import Path\nVECTORS = Path(__file__).parent / 'vectors.json'\n"
    )
    (folder / "five" / "spec.py").write_text(SPEC)
    (folder / "five" / "functions.py").write_text(FUNCTIONS)
    info = folder / "five-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: five\nVersion: 1.0\n")
    groups = {
        "slots": "\n".join(f"{name} = five.spec:{model}" for name, (model, _) in PARTS.items()),
        "functions": "\n".join(
            f"{name} = five.functions:{function}" for name, (_, function) in PARTS.items()
        ),
        "vectors": "five = five:VECTORS",
    }
    (info / "entry_points.txt").write_text(
        "\n".join(f"[reinforge.{name}]\n{text}\n" for name, text in groups.items())
    )
    return folder


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "REINFORGE_PLUGINS"}
    environment["PYTHONPATH"] = os.pathsep.join([str(site), str(ROOT)])
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)


def test_the_worked_cases_of_every_slot_run(site: Path) -> None:
    done = run(
        site, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/algorithm/test_vectors.py", "-k", "five"
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(CASES)} passed" in done.stdout


def test_a_file_of_cases_without_its_envelope_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps([{"id": "own.case"}]))
    monkeypatch.setenv("REINFORGE_VECTORS", str(path))
    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/algorithm/test_vectors.py")
    assert done.returncode != 0
    assert 'write {"schema": 1, "vectors": [...]}' in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr, done.stdout


RULES = """
import json
from pydantic import ValidationError
from reinforge.spec import JobSpec
from worker.trainer.plugins import checked_spec
from worker.training.forward_passes import reads_old_policy

def job(**algorithm):
    return {"model": "m", "data": {"dataset": "d"}, "rewards": [{"source": "x"}], "algorithm": algorithm}

def refusal(**algorithm):
    try:
        JobSpec.model_validate(job(**algorithm))
    except ValidationError as error:
        return error.errors()[0]["msg"]

whole = {"shaping": {"type": "product", "soft_overlong": {"weight": 1}}, "selection": {"type": "top_half"},
         "advantage": {"type": "by_token"},
         "loss": {"surrogate": {"type": "linear"}, "aggregation": {"type": "root_mean"}}}
resolved = JobSpec.model_validate(job(**whole)).resolved()
again = checked_spec(resolved.model_dump(mode="json"))
print(json.dumps([
    resolved.algorithm.packages,
    again == resolved,
    reads_old_policy(again),
    refusal(advantage={"type": "by_token"}, loss={"ratio_level": "sequence"}),
    refusal(loss={"ratio_level": "sequence", "aggregation": {"type": "root_mean"}}),
    refusal(loss={"surrogate": {"type": "linear", "scale": 0}}),
]))
"""


def test_rules_hold_parts_of_a_package_to_what_they_say_of_themselves(site: Path) -> None:
    done = run(site, "-c", RULES)
    assert done.returncode == 0, done.stderr
    packages, same, reads, by_token, by_length, bound = json.loads(done.stdout.splitlines()[-1])
    assert packages == {"five": "1.0"}
    assert (same, reads) == (True, True)
    assert "advantage `by_token` differs from token to token" in by_token
    assert "`root_mean` would weigh completions by their length" in by_length
    assert bound == "Input should be greater than 0"

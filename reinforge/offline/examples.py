"""Examples with data, reward, job file and measured result, from a checkout or an installed wheel."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reinforge.errors import NotFound, Unavailable
from reinforge.offline import jobfile
from reinforge.parsing.suggestions import nearest
from reinforge.reward_spec import PythonReward
from reinforge.schemas.examples import ExampleDetail, ExampleResult, ExampleSummary
from reinforge.spec import JobSpec

NAMES = (
    "arithmetic",
    "word-problems",
    "json-extraction",
    "multiple-choice",
    "process-rewards",
    "rubric",
    "calculator-agent",
    "countdown",
    "lookup",
)
_HERE = Path(__file__).resolve().parents[1]


def folder_of(name: str) -> Path:
    for place in (_HERE / "examples", _HERE.parent / "examples"):  # an installed wheel, a checkout
        if (place / name / "job.yaml").is_file():
            return place / name
    raise Unavailable(
        f"The files of the example {name} did not come with this installation.",
        code="example_files_missing",
        hint="Install the wheel, or run from a checkout.",
    )


@dataclass(frozen=True)
class GalleryExample:
    name: str
    folder: Path

    @cached_property
    def spec(self) -> JobSpec:
        return jobfile.load(self.folder / "job.yaml")

    @cached_property
    def readme(self) -> str:
        return (self.folder / "README.md").read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        return self.readme.partition("\n")[0].removeprefix("# ").strip()

    @property
    def result(self) -> ExampleResult | None:
        path = self.folder / "result.json"
        if not path.is_file():
            return None
        return ExampleResult.model_validate_json(path.read_text(encoding="utf-8"))

    @property
    def data_files(self) -> dict[str, Path]:
        data = self.spec.data
        paths = {"dataset": data.dataset, "held_out": data.held_out}
        return {part: Path(path) for part, path in paths.items() if path}

    @property
    def reward_files(self) -> list[Path]:
        rewards = self.spec.rewards
        return [Path(one.path) for one in rewards if isinstance(one, PythonReward) and one.path]

    @cached_property
    def hash(self) -> str:
        return spec_hash(self.spec)

    @cached_property
    def summary(self) -> ExampleSummary:
        files = self.data_files
        paragraph = self.readme.partition("\n\n")[2].partition("\n\n")[0]
        return ExampleSummary(
            name=self.name,
            title=self.title,
            summary=" ".join(paragraph.split()),
            model=self.spec.model,
            preset=self.spec.algorithm.preset or "",
            steps=self.spec.limits.steps,
            rows=_lines(files["dataset"]),
            held_out_rows=_lines(files["held_out"]) if "held_out" in files else 0,
            result=self.result,
        )

    @property
    def detail(self) -> ExampleDetail:
        return ExampleDetail(
            **self.summary.model_dump(),
            readme=self.readme,
            job_file=(self.folder / "job.yaml").read_text(encoding="utf-8"),
            rewards={path.name: path.read_text(encoding="utf-8") for path in self.reward_files},
        )


def examples() -> list[GalleryExample]:
    available = []
    for name in NAMES:
        try:
            available.append(GalleryExample(name, folder_of(name)))
        except Unavailable:
            continue
    return available


def find(name: str) -> GalleryExample:
    if name not in NAMES:
        near = nearest(name, NAMES)
        raise NotFound(
            f"There is no example {name[:64]}.",
            code="example_not_found",
            param="example",
            hint=f"Did you mean {near}?" if near else f"Examples: {', '.join(NAMES)}.",
        )
    return GalleryExample(name, folder_of(name))


def spec_hash(spec: JobSpec) -> str:
    digest = hashlib.sha256()
    paths = [
        spec.data.dataset,
        spec.data.held_out,
        *(reward.path for reward in spec.rewards if isinstance(reward, PythonReward)),
    ]
    for path in paths:
        digest.update(Path(path).read_bytes() if path else b"-")
    raw = spec.model_dump(mode="json")
    raw["data"].update(dataset=None, held_out=None)
    raw["rewards"] = [{**reward, "path": None} for reward in raw["rewards"]]
    digest.update(json.dumps(raw, sort_keys=True).encode())
    return digest.hexdigest()[:16]


def _lines(path: Path) -> int:
    return sum(1 for line in path.read_bytes().splitlines() if line.strip())

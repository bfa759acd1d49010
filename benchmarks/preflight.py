"""Is a pre-flight right? Ten small jobs are looked at first, then run: hours, memory and verdict beside what happened.

The verdict that each job deserves is known by the way it is made. Jobs that a pre-flight stops are run all the same
where they can run.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.measure import machine, parser, table, write

from reinforge.offline import train
from reinforge.offline.demo import job_file
from reinforge.offline.jobfile import load
from reinforge.preflight.offline import preflight
from reinforge.spec import JobSpec

FILES = job_file().parent
RIGHT = (FILES / "reward.py").read_text(encoding="utf-8")
NEVER = "def grade(sample, item):\n    return 0.0\n"
ALWAYS = "def grade(sample, item):\n    return 1.0\n"
SLOW = (
    "import time\n\n\ndef grade(sample, item):\n"
    "    time.sleep(0.05)\n    return float(len(sample['output_text']) % 2)\n"
)
THIRD = "def grade(sample, item):\n    return 1 / (sum(map(ord, sample['output_text'])) % 3)\n"
GRADED = "def grade(sample, item):\n    return len(set(sample['output_text'])) / 20\n"


@dataclass(frozen=True)
class Case:
    name: str
    verdict: str
    """That it deserves."""
    changes: dict[str, Any]
    source: str = RIGHT


CASES = (
    Case("the demo, half as long", "go", {"limits": {"steps": 30}}),
    Case("small groups", "go", {"rollout": {"completions_per_prompt": 4}}),
    Case("large groups", "go", {"rollout": {"prompts_per_step": 8, "completions_per_prompt": 24}}),
    Case("four updates a step", "go", {"algorithm": {"preset": "gspo"}}),
    Case("dynamic sampling", "go", {"algorithm": {"preset": "dapo"}}),
    Case("a graded reward", "go", {}, GRADED),
    Case("workings cut off", "caution", {"rollout": {"max_completion_tokens": 32}}),
    Case("everything cut off", "stop", {"rollout": {"max_completion_tokens": 16}}),
    Case("a slow reward", "caution", {"limits": {"steps": 8}}, SLOW),
    Case("never right", "stop", {}, NEVER),
    Case("always right", "stop", {}, ALWAYS),
    Case("errs on a third", "stop", {}, THIRD),
)


def spec_of(case: Case, steps: int) -> JobSpec:
    spec = load(job_file()).model_dump(mode="json", exclude_unset=True)
    spec["rewards"] = [{"name": "reward", "source": case.source}]
    spec["limits"] = {"steps": steps, "checkpoint_every": 20}
    for part, values in case.changes.items():
        spec[part] = spec.get(part, {}) | values
    return JobSpec.model_validate(spec)


def run(spec: JobSpec) -> dict[str, Any]:
    """The job itself: seconds from start to end, its memory, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        out, started = Path(folder) / "run", time.perf_counter()
        ended = train.train(spec, out)
        seconds = time.perf_counter() - started
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        memory = [line["values"]["memory/peak"] for line in lines if "memory/peak" in line["values"]]
    return {
        "outcome": ended["outcome"],
        "reason": ended.get("reason"),
        "seconds": seconds,
        "memory_gib": max(memory),
    }


def measured(case: Case, steps: int) -> dict[str, Any]:
    spec = spec_of(case, steps)
    report = preflight(spec)
    real = run(spec)
    whole = real["outcome"] == "succeeded"
    return {
        "name": case.name,
        "deserved": case.verdict,
        "verdict": report.verdict,
        "reasons": [reason.code for reason in report.reasons],
        "expected_seconds": 3600 * report.hours.expected,
        "up_to_seconds": 3600 * report.hours.high,
        "seconds_ratio": 3600 * report.hours.expected / real["seconds"] if whole else None,
        "expected_memory_gib": report.memory_gib.expected,
        "memory_ratio": report.memory_gib.expected / real["memory_gib"] if whole else None,
        **real,
    }


def rows(jobs: list[dict[str, Any]]) -> Iterator[list[object]]:
    for job in jobs:
        ratio, memory = job["seconds_ratio"], job["memory_ratio"]
        yield [
            job["name"],
            f"{job['verdict']} ({'right' if job['verdict'] == job['deserved'] else 'wrong'})",
            f"{job['expected_seconds']:.0f} s",
            f"{job['seconds']:.0f} s" if ratio else f"{job['outcome']}: {job['reason']}",
            "–" if ratio is None else f"{ratio:.2f}",
            "–" if memory is None else f"{memory:.2f}",
        ]


def main() -> None:
    arguments = parser(__doc__ or "").parse_args()
    facts = machine("torch", "transformers", "peft")
    cases = CASES[:2] if arguments.quick else CASES
    jobs = [measured(case, 10 if arguments.quick else 30) for case in cases]
    table(["job", "verdict", "expected", "took", "expected / took", "memory"], list(rows(jobs)))
    write("preflight", {"machine": facts, "jobs": jobs})


if __name__ == "__main__":
    main()

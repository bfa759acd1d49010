"""The graders in docs/rewards.md are valid."""

import json
import re
from pathlib import Path

import yaml

from reinforge.grading.multi import GRADER
from reinforge.reward_spec import Judge, PythonReward

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "rewards.md").read_text(encoding="utf-8")
GRADERS = PAGE[PAGE.index("## Graders") :]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GRADERS, re.DOTALL)


def test_every_grader_on_the_page_is_one() -> None:
    graders = [json.loads(text) for text in blocks("json")]
    assert [GRADER.validate_python(raw).type for raw in graders] == ["string_check", "multi", "endpoint"]


def test_the_job_files_judges_and_declared_judges_are_taken() -> None:
    judges, rewards = (yaml.safe_load(text) for text in blocks("yaml"))
    assert Judge.model_validate(judges["judges"]["critic"]).api_key_env == "OPENAI_API_KEY"
    assert PythonReward.model_validate(rewards["rewards"][0]).judges["tone"].model == "critic"


def test_the_page_tells_of_every_type() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", GRADERS, re.MULTILINE))
    schema = GRADER.json_schema()
    assert listed - {"type"} == set(schema["discriminator"]["mapping"])

"""`reinforge presets` works without a server; its output can be pasted into a job file."""

import json
import os
import subprocess

import pytest
import yaml

from reinforge.algorithm.slots import Algorithm
from reinforge.presets import PRESETS, cards
from reinforge.presets.base import Preset
from tests.support.preloaded import run_module


def run(*args: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("REINFORGE_")}
    environment |= {"NO_COLOR": "1", "COLUMNS": "200", "REINFORGE_URL": "http://127.0.0.1:1"}
    return run_module("reinforge.cli.main", "presets", *args, env=environment, timeout=120)


def test_the_list_has_every_preset_that_a_job_can_run() -> None:
    table = run("list").stdout.splitlines()
    assert table[0].split() == ["id", "title", "family", "confidence"]
    rows = {line.split()[0]: line.split() for line in table[1:]}
    assert list(rows) == list(PRESETS)
    assert rows["dapo"][-2:] == ["objectives", "high"]
    listed = json.loads(run("list", "--json").stdout)
    assert [card["id"] for card in listed] == list(rows)
    assert {card["id"] for card in listed if not card["single_turn"]} == {"gagpo", "ih_grpo", "axpo"}


def test_one_preset_tells_what_a_person_needs() -> None:
    done = run("show", "gfpo")
    preset = PRESETS["gfpo"]
    assert done.returncode == 0, done.stderr
    for text in (preset.title, preset.summary, preset.formula, preset.source, *preset.deviations):
        assert text in done.stdout
    assert "all weights with a learning rate of 1e-07. It is not filled in" in done.stdout


def test_a_preset_that_hardly_learns_says_why() -> None:
    assert PRESETS["passk_max"].learning in run("show", "passk_max").stdout
    assert "learning " not in run("show", "grpo").stdout


def test_what_is_printed_is_a_part_of_a_job_file() -> None:
    output = run("show", "grpo_2").stdout
    part = yaml.safe_load(output[output.index("# in a job file") : output.index("# as published")])
    assert part == {"rollout": {"completions_per_prompt": 2}, "algorithm": {"preset": "grpo_2"}}
    assert yaml.safe_load(output[output.index("# as published") :]) == PRESETS["grpo_2"].recipe


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_yaml_of_a_preset_fills_the_same_slots_without_its_name(name: str) -> None:
    preset: Preset = PRESETS[name]
    part = yaml.safe_load(cards.job_yaml(name, preset))
    slots = part["algorithm"] | {"preset": None}
    assert (
        Algorithm.model_validate(slots).model_dump() | {"preset": name}
        == cards.algorithm_of(name, preset).model_dump()
    )


def test_json_is_the_card_whole() -> None:
    card = json.loads(run("show", "ih_grpo", "--json").stdout)
    assert (card["family"], card["confidence"], card["single_turn"]) == ("agents", "high", False)
    assert "a rollout is one completion" in card["reason"]
    assert card["slots"] == PRESETS["ih_grpo"].slots


def test_an_unknown_preset_is_wrong_usage() -> None:
    done = run("show", "zebra")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no preset 'zebra'" in done.stderr and "reinforge presets list" in done.stderr

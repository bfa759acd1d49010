"""Detectors of jobs with tools: where they are silent, and what follows from what."""

import pytest

from tests.reinforge.diagnosis.test_detectors import FLAT, HEALTHY, ONSET, diagnosed, ramp, since


def test_fewer_calls_are_no_problem_where_the_reward_rises_or_tools_were_never_used() -> None:
    fewer = {"tools/calls_per_rollout": ramp(ONSET, 1.5, 0.05)}
    assert diagnosed({**HEALTHY, **fewer}) == []
    assert "tools_abandoned" not in {
        item.code for item in diagnosed({**FLAT, "tools/calls_per_rollout": ramp(ONSET, 0.05, 0.0)})
    }


def test_one_sign_alone_is_not_giving_up() -> None:
    for metric, values in (
        ("completions/off_language_share", since(ONSET, 0.0, 0.2)),
        ("tools/calls_per_rollout", ramp(ONSET, 1.5, 0.05)),
    ):
        assert "policy_gives_up" not in {item.code for item in diagnosed({**FLAT, metric: values})}


@pytest.mark.parametrize(
    ("use", "wrong", "severity"),
    [(0.5, 0.45, "error"), (0.3, 0.35, "warning"), (0.5, 0.35, None), (0.3, 0.2, None)],
)
def test_tools_do_not_help_where_calls_are_wrong(use: float, wrong: float, severity: str | None) -> None:
    series = {"tools/use_share": use, "tools/all_wrong_share": wrong}
    severities = {item.code: item.severity for item in diagnosed({**FLAT, **series})}
    assert severities.get("tools_do_not_help") == severity
    assert "tools_do_not_help" not in {item.code for item in diagnosed({**HEALTHY, **series})}


def test_abandoned_tools_follow_from_calls_that_fail() -> None:
    findings = diagnosed({
        **FLAT, "tools/calls_per_rollout": ramp(ONSET, 1.5, 0.05), "tools/invalid_share": 0.7,
    })  # fmt: skip
    assert [(item.code, item.severity, item.cause) for item in findings if item.code.startswith("tool")] == [
        ("tool_calls_fail", "error", None),
        ("tools_abandoned", "error", "tool_calls_fail"),
    ]

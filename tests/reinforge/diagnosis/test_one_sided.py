"""Lone completions of a side: a problem where sides are normalized apart."""

import pytest

from tests.reinforge.diagnosis.test_detectors import HEALTHY, diagnosed, spec


@pytest.mark.parametrize(("scope", "codes"), [("separate", ["one_sided_groups"]), ("joint", [])])
def test_lone_sides_matter_where_they_are_normalized_apart(scope: str, codes: list[str]) -> None:
    algorithm = {"advantage": {"type": "gtpo", "norm_scope": scope}}
    findings = diagnosed({**HEALTHY, "advantage/lone_side_share": 0.6}, spec=spec(algorithm=algorithm))
    assert [finding.code for finding in findings] == codes

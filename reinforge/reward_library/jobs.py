"""Ready-made rewards in job files: `- {ready: numeric, parameters: {RELATIVE: 0.01}, weight: 0.5}`."""

from collections.abc import Mapping
from typing import Any

import yaml

from reinforge.errors import InvalidInput
from reinforge.reward_library.cards import ready_reward
from reinforge.reward_library.parameters import fill


def expanded(reward: Mapping[str, Any]) -> dict[str, Any]:
    """Replace `ready` and `parameters` by the ready-made reward's source or fields. Other fields stay.

    Raises NotFound `template_not_found`, InvalidInput `unknown_parameter` or `invalid_job_file`.
    """
    declared = dict(reward)
    chosen = ready_reward(str(declared.pop("ready")))
    values = declared.pop("parameters", None) or {}
    if not isinstance(values, Mapping) or "source" in declared or "path" in declared:
        raise InvalidInput(
            f"`ready: {chosen.id}` takes `parameters` as a mapping, and neither `source` nor `path`.",
            code="invalid_job_file",
            param="rewards",
        )
    if chosen.type != "python":
        return {**yaml.safe_load(chosen.source), **values, **declared}
    fields: dict[str, Any] = {"type": "python", "name": chosen.id, "source": fill(chosen.source, values)}
    if chosen.granularity != "sample":
        fields["granularity"] = chosen.granularity
    return {**fields, **declared}

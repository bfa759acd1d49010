"""Groups of GPUs, one for each vLLM server of a job: `2,3;4,5`."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

GROUPS_HINT = "Name groups of the same size, such as 2,3;4,5 for two vLLM servers on two GPUs each."
NO_SERVERS = "REINFORGE_VLLM_SERVERS is for workers without GPUs: on GPUs, each vLLM server needs its own."
NO_SERVERS_HINT = (
    "Unset it, and name the GPUs of each server: REINFORGE_SAMPLER_DEVICES=2;3 is two with one each."
)


def groups_problem(groups: Sequence[Sequence[str]]) -> str | None:
    """What is wrong with the groups, as the rest of a sentence."""
    if len(groups) > 1 and not all(groups):
        return "has an empty group."
    repeated = [gpu for gpu, count in Counter(chain.from_iterable(groups)).items() if count > 1]
    if repeated and len(groups) > 1:
        return f"names GPU {', '.join(repeated)} more than once."
    sizes = [len(group) for group in groups]
    if len(set(sizes)) > 1:
        different = " and ".join(map(str, sorted(set(sizes))))
        return (
            f"has groups of {different} GPUs, and servers that divide a model differently round differently."
        )
    return None

"""One look per attempt at a job: does the server sample from the policy that is trained?

After the first update it samples a few completions and asks the trainer what it makes of the same tokens. A server
that leaves the adapter out, or computes something else, would make every later step wrong without a word.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from reinforge.errors import JobFailure
from worker.rollout.engine import GenerateRequest
from worker.rollout.vllm.api import Api, Refused, ServerLost, completion
from worker.rollout.vllm.options import BASE

PROMPTS = 4
TOKENS = 32
"""Of each completion, at most."""
LARGEST_GAP = 1e-3
"""In nats, of one token's log-probability between trainer and server, both in float32."""
MEAN_GAP = 0.02
"""The same where either is in bfloat16: the mean over tokens."""
CHANGED = 1e-4
"""In nats: an adapter that the trainer sees move a token by more than this must move it on the server."""

Tokens = Sequence[Sequence[int]]
Score = Callable[[Tokens, Tokens, float], list[list[float]]]
"""Of prompts, completions and a temperature: log-probabilities of the completions' tokens, of logits / temperature."""


@dataclass(frozen=True, slots=True)
class _Sampled:
    request: GenerateRequest
    name: str
    token_ids: list[int]
    logprobs: list[float]


class AdapterProbe:
    def __init__(
        self, policy: Score, base: Score, *, exact: bool, say: Callable[[str], None] = lambda _: None
    ) -> None:
        """policy, base: the trainer's view with its adapter and without. exact: everything is in float32."""
        self._policy, self._base, self._exact, self._say = policy, base, exact, say

    async def look(self, api: Api, requests: Sequence[GenerateRequest], names: Sequence[str]) -> bool:
        """Whether it could tell: an update may be too small to see.

        Raises JobFailure `sampler_mismatch`, `adapter_not_applied`; ServerLost.
        """
        try:
            pairs = list(zip(requests, names, strict=True))[:PROMPTS]
            sampled = [await _sample(api, request, name) for request, name in pairs]
            self._compare(sampled)
            return await self._differs(api, sampled)
        except Refused as error:
            raise ServerLost(f"it refuses the probe: {error}") from error

    def _compare(self, sampled: list[_Sampled]) -> None:
        told = _flat(each.logprobs for each in sampled)
        ours = _flat(_scored(self._policy, sampled))
        gaps = [abs(a - b) for a, b in zip(told, ours, strict=True)]
        largest = max(gaps, default=0.0)
        mean = sum(gaps) / len(gaps) if gaps else 0.0
        found = f"{largest:.1e} at most and {mean:.1e} on average over {len(gaps)} tokens"
        # Written so that NaN fails.
        if not (largest <= LARGEST_GAP if self._exact else mean <= MEAN_GAP):
            allowed = f"at most {LARGEST_GAP:g}" if self._exact else f"{MEAN_GAP:g} on average"
            raise JobFailure(
                f"vLLM and the trainer disagree about the policy: log-probabilities differ by {found}; allowed is "
                f"{allowed}.",
                code="sampler_mismatch",
                hint="What is sampled would not be what is trained. Use rollout.engine transformers for this model.",
            )
        self._say(f"vLLM and the trainer agree about the policy: log-probabilities differ by {found}")

    async def _differs(self, api: Api, sampled: list[_Sampled]) -> bool:
        for each in sampled:
            ids = [*each.request.prompt_ids, *each.token_ids]
            first = max(1, len(each.request.prompt_ids))
            on, off = await api.score(each.name, ids, first), await api.score(BASE, ids, first)
            if any(a != b for a, b in zip(on, off, strict=True)):
                return True
        with_adapter, without = _scored(self._policy, sampled), _scored(self._base, sampled)
        moved = max(
            (abs(a - b) for a, b in zip(_flat(with_adapter), _flat(without), strict=True)), default=0.0
        )
        if moved <= CHANGED:
            return False
        raise JobFailure(
            f"vLLM leaves the adapter out: with it and without it gives the same probabilities, where the trainer's "
            f"differ by up to {moved:.1e}.",
            code="adapter_not_applied",
            hint="vLLM ignores adapters on layers that it does not know. Set adapter.targets to layers such as q_proj "
            "and v_proj, or use rollout.engine transformers.",
        )


async def _sample(api: Api, request: GenerateRequest, name: str) -> _Sampled:
    short = replace(
        request.sampling,
        max_tokens=min(TOKENS, request.sampling.max_tokens),
        temperature=request.sampling.temperature or 1.0,
    )
    body = completion(name, replace(request, n=1, sampling=short))
    found = _Sampled(request, name, [], [])
    async with aclosing(api.complete(body)) as pieces:
        async for piece in pieces:
            found.token_ids.extend(piece.token_ids)
            found.logprobs.extend(piece.logprobs)
    return found


def _scored(score: Score, sampled: list[_Sampled]) -> list[list[float]]:
    """Requests of one call share a temperature."""
    temperature = sampled[0].request.sampling.temperature or 1.0
    return score(
        [each.request.prompt_ids for each in sampled], [each.token_ids for each in sampled], temperature
    )


def _flat(rows: Iterable[Sequence[float]]) -> list[float]:
    return [value for row in rows for value in row]

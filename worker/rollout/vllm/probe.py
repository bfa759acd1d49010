"""Checks after an update that vLLM applies the adapter: without it, later steps would be wrong
without an error.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from reinforge.errors import JobFailure
from worker.rollout.engine import GenerateRequest
from worker.rollout.vllm.agreement import (
    BASE_FACTOR,
    BASE_ROOM,
    CHANGED,
    LARGEST_GAP,
    MOST_GAP,
    Verdict,
    mean,
    response,
    root_mean_square,
    verdict,
)
from worker.rollout.vllm.api import Api, ServerLost, ServerRefused, completion
from worker.rollout.vllm.options import BASE

PROMPTS = 4
TOKENS = 32
OTHERS = 3

Tokens = Sequence[Sequence[int]]
Score = Callable[[Tokens, Tokens, float], list[list[float]]]


@dataclass(frozen=True, slots=True)
class _Sampled:
    request: GenerateRequest
    name: str
    token_ids: list[int]
    logprobs: list[float]


class AdapterProbe:
    def __init__(
        self,
        policy: Score,
        base: Score,
        *,
        exact: bool,
        notify: Callable[[str], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """policy, base: compute the trainer's log-probabilities with and without its adapter. exact: whether
        server and trainer compute in float32.
        """
        self._policy, self._base, self._exact = policy, base, exact
        self._notify, self._warn = notify, warn
        self._calls, self._others, self._reported = 0, 0, False

    async def look(self, api: Api, requests: Sequence[GenerateRequest], names: Sequence[str]) -> bool:
        """Compare server and trainer, in bfloat16 only at calls 1, 2, 4, 8, …; returns whether
        this is conclusive.
        """
        self._calls += 1
        if not self._exact and self._calls & (self._calls - 1):
            return False
        try:
            pairs = list(zip(requests, names, strict=True))[:PROMPTS]
            sampled = [await _sample(api, _short(request), name) for request, name in pairs]
            if self._exact:
                self._compare(sampled)
                return await self._differs(api, sampled)
            return await self._look_beside_base(api, sampled)
        except ServerRefused as error:
            raise ServerLost(f"it refuses the probe: {error}") from error

    def _compare(self, sampled: list[_Sampled]) -> None:
        gaps = _gaps(self._policy, sampled)
        largest = max(gaps, default=0.0)
        # Written so that NaN counts.
        largest = largest if all(gap <= largest for gap in gaps) else float("nan")
        difference = f"{largest:.1e} at most and {mean(gaps):.1e} on average over {len(gaps)} tokens"
        self._judge(verdict(0.0, largest, exact=True), difference, f"at most {LARGEST_GAP:g}")

    async def _look_beside_base(self, api: Api, sampled: list[_Sampled]) -> bool:
        base_rows = [await _sample(api, row.request, BASE) for row in sampled]
        base_gaps, gaps = _gaps(self._base, base_rows), _gaps(self._policy, sampled)
        base_gap, gap = mean(base_gaps), mean(gaps)
        server, trainer = await self._effects(api, sampled)
        answer = response(server, trainer, root_mean_square(base_gaps))
        if answer == "left_out":
            raise _left_out(max(map(abs, trainer)))
        difference = (
            f"{gap:.1e} on average over {len(gaps)} tokens, those of the base model by {base_gap:.1e}"
        )
        self._others = self._others + 1 if answer == "other" else 0
        if self._others == OTHERS:
            raise _mismatch(
                f"{difference}; the adapter moves other tokens on the server than in the trainer."
            )
        allowed = (
            f"{BASE_FACTOR:g} times the base model's and {BASE_ROOM:g}, in no case more than {MOST_GAP:g}"
        )
        self._judge(verdict(base_gap, gap, exact=False), difference, allowed)
        return answer == "applied"

    def _judge(self, judged: Verdict, difference: str, allowed: str) -> None:
        if judged == "mismatch":
            raise _mismatch(f"{difference}; allowed is {allowed}.")
        if self._reported:
            return
        self._reported = True
        if judged == "agree":
            self._notify(
                f"vLLM and the trainer agree about the policy: log-probabilities differ by {difference}"
            )
        else:
            self._warn(
                f"vLLM and the trainer differ more than rounding explains: log-probabilities by {difference}; "
                f"expected is {allowed}. The job continues; loss.mismatch corrects for it, sampler/gap_mean shows it."
            )

    async def _effects(self, api: Api, sampled: list[_Sampled]) -> tuple[list[float], list[float]]:
        server: list[float] = []
        for row in sampled:
            ids = [*row.request.prompt_ids, *row.token_ids]
            first = len(row.request.prompt_ids)
            on, off = await api.score(row.name, ids, first), await api.score(BASE, ids, first)
            server += [a - b for a, b in zip(on, off, strict=True)]
        with_adapter, without = (_flat(_scored(score, sampled, 1.0)) for score in (self._policy, self._base))
        return server, [a - b for a, b in zip(with_adapter, without, strict=True)]

    async def _differs(self, api: Api, sampled: list[_Sampled]) -> bool:
        server, trainer = await self._effects(api, sampled)
        if any(server):
            return True
        moved = max(map(abs, trainer), default=0.0)
        if moved <= CHANGED:
            return False
        raise _left_out(moved)


def _mismatch(difference: str) -> JobFailure:
    return JobFailure(
        f"vLLM and the trainer disagree about the policy: log-probabilities differ by {difference}",
        code="sampler_mismatch",
        hint="What is sampled would not be what is trained. Use rollout.engine transformers for this model.",
    )


def _left_out(moved: float) -> JobFailure:
    return JobFailure(
        f"vLLM does not apply the adapter: its log-probabilities are the same with and without it, but the trainer's "
        f"differ by up to {moved:.1e}.",
        code="adapter_not_applied",
        hint="vLLM ignores adapters on layers that it does not know. Set adapter.targets to layers such as q_proj "
        "and v_proj, or use rollout.engine transformers.",
    )


def _gaps(score: Score, sampled: list[_Sampled]) -> list[float]:
    ours = _flat(_scored(score, sampled, sampled[0].request.sampling.temperature))
    return [abs(a - b) for a, b in zip(_flat(row.logprobs for row in sampled), ours, strict=True)]


def _short(request: GenerateRequest) -> GenerateRequest:
    """Shorten a request to one completion of few tokens, one below the limit because scoring
    generates one more.
    """
    sampling, prompt_ids = request.sampling, request.prompt_ids
    if sampling.max_tokens == 1:
        prompt_ids = prompt_ids[:-1] or prompt_ids
    tokens = min(TOKENS, max(1, sampling.max_tokens - 1))
    short = replace(sampling, max_tokens=tokens, temperature=sampling.temperature or 1.0)
    return replace(request, prompt_ids=prompt_ids, n=1, sampling=short, limit=None)


async def _sample(api: Api, request: GenerateRequest, name: str) -> _Sampled:
    body = completion(name, request)
    sample = _Sampled(request, name, [], [])
    async with aclosing(api.complete(body)) as pieces:
        async for piece in pieces:
            sample.token_ids.extend(piece.token_ids)
            sample.logprobs.extend(piece.logprobs)
    return sample


def _scored(score: Score, sampled: list[_Sampled], temperature: float) -> list[list[float]]:
    return score([row.request.prompt_ids for row in sampled], [row.token_ids for row in sampled], temperature)


def _flat(rows: Iterable[Sequence[float]]) -> list[float]:
    return [value for row in rows for value in row]

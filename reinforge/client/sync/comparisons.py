# Generated from reinforge/client/aio/comparisons.py by scripts/sync_client.py: change that file.
"""Methods of `jobs` that compare jobs."""

from collections.abc import Sequence

from reinforge.client.sync.transport import Transport
from reinforge.schemas.comparison import (
    ComparedPromptPage,
    CurveComparison,
    JobComparison,
    Moment,
    PromptComparison,
)
from reinforge.schemas.divergence import Divergence


class Comparisons:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def compare(self, ids: Sequence[str], *, at: Moment = "last", group: str | None = None) -> JobComparison:
        """Compare 2 to 50 jobs with the first of them.

        group: dotted path of a setting, or `seeds` for jobs that differ in their seeds only.
        """
        document = self._transport.get("/compare", job=list(ids), at=at, group=group)
        return JobComparison.model_validate(document)

    def compare_curves(
        self, ids: Sequence[str], keys: Sequence[str], *, group: str | None = None, buckets: int = 100
    ) -> CurveComparison:
        """Curves of up to 20 metrics: a curve for each job or, with minimum and maximum, for each group."""
        query = {"job": list(ids), "key": list(keys), "group": group, "buckets": buckets}
        return CurveComparison.model_validate(self._transport.get("/compare/curves", **query))

    def compare_prompts(
        self,
        ids: Sequence[str],
        *,
        split: str = "held_out",
        at: Moment = "last",
        q: str | None = None,
        sort: str = "-difference",
        limit: int = 20,
        after: str | None = None,
    ) -> ComparedPromptPage:
        """One page of the prompts that jobs share. sort: `difference` or `reward`, with `-` descending."""
        query = {
            "job": list(ids),
            "split": split,
            "at": at,
            "q": q,
            "sort": sort,
            "limit": limit,
            "after": after,
        }
        return ComparedPromptPage.model_validate(self._transport.get("/compare/prompts", **query))

    def compare_completions(
        self,
        ids: Sequence[str],
        prompt_hash: str,
        *,
        split: str = "held_out",
        at: Moment = "last",
        samples: int = 8,
    ) -> PromptComparison:
        """Completions of one prompt, grouped by job."""
        query = {"job": list(ids), "prompt_hash": prompt_hash, "split": split, "at": at, "samples": samples}
        return PromptComparison.model_validate(self._transport.get("/compare/completions", **query))

    def diverge(self, first: str, second: str) -> Divergence:
        """Find where two jobs first differ (metric, prompt, token) and compare their held-out rewards."""
        return Divergence.model_validate(self._transport.get("/compare/divergence", job=[first, second]))

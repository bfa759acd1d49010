"""The client with all its resources."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

from reinforge.client.aio.adapters import AsyncAdapters
from reinforge.client.aio.datasets import AsyncDatasets
from reinforge.client.aio.deployments import AsyncDeployments
from reinforge.client.aio.evaluations import AsyncEvaluations
from reinforge.client.aio.examples import AsyncExamples
from reinforge.client.aio.jobs import AsyncJobs
from reinforge.client.aio.judges import AsyncJudges
from reinforge.client.aio.models import AsyncModels
from reinforge.client.aio.people import (
    AsyncAuditLog,
    AsyncInvitations,
    AsyncKeys,
    AsyncMembers,
    AsyncProjects,
    AsyncUsageReports,
)
from reinforge.client.aio.playground import sample
from reinforge.client.aio.preflights import AsyncPreflights
from reinforge.client.aio.rewards import AsyncRewards
from reinforge.client.aio.sweeps import AsyncSweeps
from reinforge.client.aio.tools import AsyncTools
from reinforge.client.aio.trackers import AsyncTrackers
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.aio.webhooks import AsyncWebhooks
from reinforge.client.aio.workers import AsyncWorkers
from reinforge.client.credentials import resolve
from reinforge.schemas.playground import SampleEvent
from reinforge.schemas.users import Me


class AsyncReinforge:
    """A connection to one server with one API key.

    Arguments override `REINFORGE_URL`, `REINFORGE_API_KEY` and `reinforge login`. Methods raise a
    `reinforge.errors.ReinforgeError`; they first retry connection failures, 408, 409, 429 and 5xx `retries`
    times. `wait` and `stream` survive outages of up to 10 minutes. `etag`: the version that a change is based
    on; default: the current one.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
    ) -> None:
        url, key = resolve(base_url, api_key)
        self.transport = AsyncTransport(url, key, timeout=timeout, retries=retries)
        self.datasets = AsyncDatasets(self.transport)
        self.rewards = AsyncRewards(self.transport)
        self.tools = AsyncTools(self.transport)
        self.judges = AsyncJudges(self.transport)
        self.trackers = AsyncTrackers(self.transport)
        self.models = AsyncModels(self.transport)
        self.jobs = AsyncJobs(self.transport)
        self.preflights = AsyncPreflights(self.transport)
        self.sweeps = AsyncSweeps(self.transport)
        self.examples = AsyncExamples(self.transport)
        self.adapters = AsyncAdapters(self.transport)
        self.projects = AsyncProjects(self.transport)
        self.keys = AsyncKeys(self.transport)
        self.members = AsyncMembers(self.transport)
        self.invitations = AsyncInvitations(self.transport)
        self.audit = AsyncAuditLog(self.transport)
        self.usage = AsyncUsageReports(self.transport)
        self.deployments = AsyncDeployments(self.transport)
        self.evaluations = AsyncEvaluations(self.transport)
        self.webhooks = AsyncWebhooks(self.transport)
        self.workers = AsyncWorkers(self.transport)

    @property
    def base_url(self) -> str:
        return self.transport.base_url

    async def me(self) -> Me:
        return Me.model_validate(await self.transport.get("/me"))

    def sample(
        self,
        model: str,
        prompts: Sequence[Sequence[dict[str, Any]]],
        *,
        checkpoint: str | None = None,
        **options: Any,
    ) -> AsyncIterator[SampleEvent]:
        """Stream completions of conversations by a base model or a checkpoint.

        Options: samples_per_prompt, max_tokens, temperature, top_p, seed, stop. The last event is `end`; closing the
        iterator earlier stops the worker.
        """
        body = {"model": model, "prompts": [list(messages) for messages in prompts], "checkpoint": checkpoint}
        return sample(self.transport, body | options)

    async def sign_in_link(self) -> str:
        """Create a URL that signs in one browser, once."""
        link = await self.transport.post("/sign-in-links")
        return str(link["url"])

    async def close(self) -> None:
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

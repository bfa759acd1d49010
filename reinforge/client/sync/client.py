# Generated from reinforge/client/aio/client.py by scripts/sync_client.py: change that file.
"""The client with all its resources."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

from reinforge.client.credentials import resolve
from reinforge.client.sync.adapters import Adapters
from reinforge.client.sync.datasets import Datasets
from reinforge.client.sync.deployments import Deployments
from reinforge.client.sync.evaluations import Evaluations
from reinforge.client.sync.examples import Examples
from reinforge.client.sync.jobs import Jobs
from reinforge.client.sync.judges import Judges
from reinforge.client.sync.models import Models
from reinforge.client.sync.people import (
    AuditLog,
    Invitations,
    Keys,
    Members,
    Projects,
    UsageReports,
)
from reinforge.client.sync.playground import sample
from reinforge.client.sync.preflights import Preflights
from reinforge.client.sync.rewards import Rewards
from reinforge.client.sync.sweeps import Sweeps
from reinforge.client.sync.tools import Tools
from reinforge.client.sync.trackers import Trackers
from reinforge.client.sync.transport import Transport
from reinforge.client.sync.webhooks import Webhooks
from reinforge.client.sync.workers import Workers
from reinforge.schemas.playground import SampleEvent
from reinforge.schemas.users import Me


class Reinforge:
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
        self.transport = Transport(url, key, timeout=timeout, retries=retries)
        self.datasets = Datasets(self.transport)
        self.rewards = Rewards(self.transport)
        self.tools = Tools(self.transport)
        self.judges = Judges(self.transport)
        self.trackers = Trackers(self.transport)
        self.models = Models(self.transport)
        self.jobs = Jobs(self.transport)
        self.preflights = Preflights(self.transport)
        self.sweeps = Sweeps(self.transport)
        self.examples = Examples(self.transport)
        self.adapters = Adapters(self.transport)
        self.projects = Projects(self.transport)
        self.keys = Keys(self.transport)
        self.members = Members(self.transport)
        self.invitations = Invitations(self.transport)
        self.audit = AuditLog(self.transport)
        self.usage = UsageReports(self.transport)
        self.deployments = Deployments(self.transport)
        self.evaluations = Evaluations(self.transport)
        self.webhooks = Webhooks(self.transport)
        self.workers = Workers(self.transport)

    @property
    def base_url(self) -> str:
        return self.transport.base_url

    def me(self) -> Me:
        return Me.model_validate(self.transport.get("/me"))

    def sample(
        self,
        model: str,
        prompts: Sequence[Sequence[dict[str, Any]]],
        *,
        checkpoint: str | None = None,
        **options: Any,
    ) -> Iterator[SampleEvent]:
        """Stream completions of conversations by a base model or a checkpoint.

        Options: samples_per_prompt, max_tokens, temperature, top_p, seed, stop. The last event is `end`; closing the
        iterator earlier stops the worker.
        """
        body = {"model": model, "prompts": [list(messages) for messages in prompts], "checkpoint": checkpoint}
        return sample(self.transport, body | options)

    def sign_in_link(self) -> str:
        """Create a URL that signs in one browser, once."""
        link = self.transport.post("/sign-in-links")
        return str(link["url"])

    def close(self) -> None:
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

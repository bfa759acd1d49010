"""Builds a job's environment, and connects its tool servers."""

from collections.abc import Callable
from pathlib import Path

from reinforge.environment_spec import USER_FILE, AgentSpec, McpSource, OpenEnvSource, ToolsSpec
from reinforge.errors import InvalidInput, JobFailure
from reinforge.net.outbound import Guard
from reinforge.spec import JobSpec
from reinforge.tool_calls import NOTATIONS
from worker.environment.agent.client import BackendAccess, WorkerApiExchange
from worker.environment.agent.texts import ModelCallTexts
from worker.environment.base import Environment
from worker.environment.continuation import Continuation
from worker.environment.single_turn import SingleTurn
from worker.environment.tools.base import PythonSource
from worker.environment.tools.environment import OneTurn, ToolsEnvironment
from worker.environment.tools.jailed import SimulatedUser
from worker.environment.tools.providers import tool_providers
from worker.environment.tools.runner import Tools
from worker.environment.tools.servers import ToolServers
from worker.machine import settings
from worker.policy.load import LoadedModel
from worker.rollout.agents import AgentSampler
from worker.rollout.conversations import CallTexts
from worker.rollout.engine import RolloutEngine
from worker.sandbox.client import SandboxClient
from worker.training.prompts.data import JobPrompts
from worker.training.prompts.model_texts import ModelTexts


def job_environment(
    spec: JobSpec,
    base: LoadedModel,
    texts: ModelTexts,
    client: SandboxClient,
    servers: ToolServers,
    context: int,
) -> Environment:
    """context: token limit of a conversation. Raises JobFailure `template_not_continuable`."""
    environment = spec.environment
    if not isinstance(environment, ToolsSpec):
        return SingleTurn()
    tools = [schema.model_dump() for schema in environment.schemas()]
    reply = environment.reply is not None
    turns = Continuation.prove(texts, tools, base.stop_ids, reply=reply) if tools or reply else OneTurn()
    return ToolsEnvironment(
        environment,
        Tools(tool_providers(environment, client, servers), _user(environment, client)),
        texts,
        turns,
        stop_ids=base.stop_ids,
        context=context,
        most=spec.rollout.max_completion_tokens,
        with_call_spans=spec.algorithm.selection.needs_tools,
    )


def agent_sampler(
    spec: JobSpec,
    base: LoadedModel,
    texts: ModelTexts,
    engine: RolloutEngine,
    access: BackendAccess | None,
    context: int,
    warn: Callable[[str], None],
) -> AgentSampler | None:
    """Sampler of environment `agent`, None for others. Raises JobFailure `environment_needs_server` without a
    backend.
    """
    environment = spec.environment
    if not isinstance(environment, AgentSpec):
        return None
    if access is None:
        raise JobFailure(
            "Environment `agent` needs a server, to which programs send their model calls.",
            code="environment_needs_server",
            hint="Create the job on a server (`reinforge job create`), or use environment `tools`.",
        )
    return AgentSampler(
        engine,
        WorkerApiExchange(access),
        ModelCallTexts(texts, base.stop_ids, context),
        environment,
        context=context,
        most=spec.rollout.max_completion_tokens,
        warn=warn,
    )


def call_texts(prompts: JobPrompts, texts: ModelTexts) -> CallTexts | None:
    """None if no special tokens mark tool calls."""
    if not any(prompt.tools for prompt in (*prompts.train, *prompts.held_out)):
        return None
    notation = texts.notation()
    if notation is None or not NOTATIONS[notation].special_tokens:
        return None
    return CallTexts(notation, texts.raw)


def connected(
    spec: JobSpec, *, guard: Guard | None, signing: str | None, record: str | None
) -> tuple[JobSpec, ToolServers]:
    """Connect the job's tool servers; returns the job with their tools, and the connections. Raises
    JobFailure (retryable).
    """
    environment = spec.environment
    sources = environment.servers if isinstance(environment, ToolsSpec) else {}

    def secret(source: McpSource | OpenEnvSource) -> str | None:
        return settings.variable(source.secret_env) if source.secret_env else signing

    try:
        servers = ToolServers(sources, guard, secret=secret, recorded=Path(record) if record else None)
        if isinstance(environment, ToolsSpec) and sources:
            tools = {number: server.schemas for number, server in servers.by_number.items()}
            spec = spec.model_copy(update={"environment": environment.listing(tools)})
    except InvalidInput as error:  # at creation, the servers listed these tools
        raise JobFailure(error.message, code=error.code, hint=error.hint, retryable=True) from error
    return spec, servers


def _user(environment: ToolsSpec, client: SandboxClient) -> SimulatedUser | None:
    reply = environment.reply
    if reply is None:
        return None
    code = PythonSource(
        USER_FILE, reply.source or "", isolate=reply.isolate, timeout_seconds=reply.timeout_seconds
    )
    return SimulatedUser(client, code)

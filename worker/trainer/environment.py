"""Construction of a job's environment."""

from reinforge.environment_spec import ToolsSpec, source_file
from reinforge.spec import JobSpec
from worker.environment.base import Environment
from worker.environment.continuation import Continuation
from worker.environment.single_turn import SingleTurn
from worker.environment.tools.base import PythonSource
from worker.environment.tools.environment import OneTurn, ToolsEnvironment
from worker.environment.tools.jailed import JailedSource
from worker.environment.tools.runner import Tools
from worker.policy.load import LoadedModel
from worker.sandbox.client import SandboxClient
from worker.training.prompts.model_texts import ModelTexts

_ANY_CONTEXT = 2**31


def job_environment(
    spec: JobSpec, base: LoadedModel, texts: ModelTexts, client: SandboxClient
) -> Environment:
    """Raises JobFailure `template_not_continuable`."""
    environment = spec.environment
    if not isinstance(environment, ToolsSpec):
        return SingleTurn()
    tools = [schema.model_dump() for schema in environment.schemas()]
    turns = Continuation.prove(texts, tools, base.stop_ids) if tools else OneTurn()
    return ToolsEnvironment(
        environment,
        Tools(_sources(environment, client)),
        texts,
        turns,
        stop_ids=base.stop_ids,
        context=base.context_length or _ANY_CONTEXT,
        most=spec.rollout.max_completion_tokens,
        with_call_spans=spec.algorithm.selection.needs_tools,
    )


def _sources(environment: ToolsSpec, client: SandboxClient) -> dict[str, JailedSource]:
    sources = {}
    for number, source in enumerate(environment.sources):
        file = source_file(number, source.type)
        code = PythonSource(
            file,
            source.source or "",
            kind="class" if source.type == "class" else "functions",
            isolate=source.isolate,
            timeout_seconds=source.timeout_seconds,
        )
        sources[file] = JailedSource(client, code)
    return sources

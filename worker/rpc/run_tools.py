"""RPC `run_tools`: runs the tool calls of one turn as a job does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from reinforge.errors import JobFailure
from reinforge.net.outbound import Guard
from reinforge.parsing.json_depth import DEEPEST, is_deeper
from reinforge.schemas.rpc.tools import ToolRunRequest
from reinforge.schemas.tools import (
    PastToolCall,
    ToolRun,
    ToolRunCall,
    ToolRunCallResult,
    ToolRunResult,
    ToolScore,
    ToolStartResult,
)
from reinforge.tool_calls import ParsedCall
from worker.environment.base import ToolCall
from worker.environment.tools.base import PastCall, ToolEnd, ToolRequest, ToolResult, ToolStart, past_call
from worker.environment.tools.calls import checked_call, second_call, turn_end
from worker.environment.tools.providers import tool_providers
from worker.environment.tools.runner import Tools
from worker.environment.tools.servers import ToolServers
from worker.isolated.process import Apart
from worker.machine import settings
from worker.models.shortening import needs_tokens
from worker.models.sources import ModelStore
from worker.rpc.sandbox import proved, unavailable
from worker.sandbox.client import SandboxClient

_ROLLOUT = 0


def run_tools(
    apart: Apart, models: ModelStore, sandbox: SandboxClient | None, request: ToolRunRequest
) -> ToolRunResult:
    """Run the calls. Raises ToolServerError, Unavailable `sandbox_unavailable`, StateConflict
    `code_rewards_disabled`.
    """
    environment = request.run.environment
    client, jail = proved(sandbox, "Code of tools") if environment.runs_code else (None, None)
    guard = Guard.allowing(settings.allowed_hosts())
    servers = ToolServers(environment.servers, guard, secret=lambda _: request.signing)
    try:
        tools = Tools(tool_providers(environment, client, servers))
        try:
            result = _ToolRun(request.run, tools, _ModelTexts(apart, models, request)).result()
        finally:
            tools.close()
    except JobFailure as error:
        raise unavailable(error.message, "Code of tools") from error
    finally:
        servers.close()
    return result.model_copy(update={"jail": jail})


class _ModelTexts:
    """Template and tokenizer of the model, read only when they are needed."""

    def __init__(self, apart: Apart, models: ModelStore, request: ToolRunRequest) -> None:
        self._apart, self._models, self._request = apart, models, request

    def one_call_a_turn(self) -> bool:
        if self._request.model_source is None:
            return False
        tools = [schema.model_dump() for schema in self._request.run.environment.schemas()]
        facts = self._apart.ask("prove_continuation", self._folder(), {"tools": tools, "reply": False})
        return not facts["parallel_calls"]

    def shortened(self, texts: list[str], most: int) -> list[tuple[str, bool]]:
        if self._request.model_source is None or not any(needs_tokens(text, most) for text in texts):
            return [(text, False) for text in texts]
        answer = self._apart.ask("shorten", self._folder(), {"texts": texts, "most": most})
        return [(text, cut) for text, cut in answer["texts"]]

    def _folder(self) -> Path:
        assert self._request.model_source is not None
        return self._models.resolve(self._request.model_source, token=self._request.hub_token, added=True)


class _ToolRun:
    def __init__(self, run: ToolRun, tools: Tools, texts: _ModelTexts) -> None:
        self._run, self._tools, self._texts = run, tools, texts
        self._history = tuple(
            PastCall(call.source, call.name, call.arguments, call.status, call.text) for call in run.history
        )
        self._state: Any = run.state
        self._finding: str | None = None

    def result(self) -> ToolRunResult:
        run = self._run
        start = self._started() if run.start or self._state is None else None
        calls = self._called()
        score = self._scored() if run.score else None
        statuses = {call.status for call in calls}
        used = run.calls_before + len(calls)
        end, _ = turn_end(run.environment, statuses, used, run.turn) if calls else (None, None)
        return ToolRunResult(
            calls=calls,
            start=start if run.start else None,
            score=score,
            end="environment" if self._finding else end,
            finding=self._finding,
            state=self._state,
            history=[_past(call) for call in self._history],
        )

    def _started(self) -> ToolStartResult:
        (result,) = self._tools.start([ToolStart(_ROLLOUT, self._run.item, self._run.seed)])
        self._state = result.state
        return ToolStartResult(status=result.status, text=result.text)

    def _called(self) -> list[ToolRunCallResult]:
        calls = self._checked()
        running = [place for place, call in enumerate(calls) if call.status == "ok"]
        requests = [self._request(calls[place]) for place in running]
        results = self._tools.run(requests) if requests else []
        most = self._run.environment.max_result_tokens
        shortened = self._texts.shortened([result.text for result in results], most)
        details: dict[int, str | None] = {}
        for place, request, result, (text, cut) in zip(running, requests, results, shortened, strict=True):
            calls[place] = replace(
                calls[place], status=result.status, result=text, cut=cut, milliseconds=result.milliseconds
            )
            details[place] = result.detail
            self._note(request, result)
        return [_call_result(call, details.get(place)) for place, call in enumerate(calls)]

    def _checked(self) -> list[ToolCall]:
        spec, run = self._run.environment, self._run
        schemas = {schema.name: schema for source in self._tools.schemas for schema in source}
        calls = [
            checked_call(parsed_call(call), run.calls_before + place, schemas, spec.max_tool_calls)
            for place, call in enumerate(run.calls)
        ]
        if len(calls) > 1 and self._texts.one_call_a_turn():
            calls[1:] = map(second_call, calls[1:])
        return calls

    def _request(self, call: ToolCall) -> ToolRequest:
        sources = {
            schema.name: number for number, schemas in enumerate(self._tools.schemas) for schema in schemas
        }
        return ToolRequest(
            rollout=_ROLLOUT,
            item=self._run.item,
            source=sources[call.name],
            name=call.name,
            arguments=json.loads(call.arguments),
            state=self._state,
            history=self._history,
            seed=self._run.seed,
        )

    def _note(self, request: ToolRequest, result: ToolResult) -> None:
        self._state = result.state
        self._history = (*self._history, past_call(request, result))
        self._finding = self._finding or result.finding

    def _scored(self) -> ToolScore:
        (reward,) = self._tools.reward([ToolEnd(_ROLLOUT, self._run.item, self._history, self._run.seed)])
        self._finding = self._finding or reward.finding
        return ToolScore(status=reward.status, value=reward.value, message=reward.message)


def parsed_call(call: ToolRunCall) -> ParsedCall:
    if call.error is not None:
        return ParsedCall(call.name, None, call.arguments, call.error)
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError) as error:
        return ParsedCall(call.name, None, call.arguments, f"The arguments are not JSON: {error}.")
    if is_deeper(arguments, DEEPEST):
        return ParsedCall(call.name, None, call.arguments, "The arguments are nested too deeply.")
    if not isinstance(arguments, dict):
        return ParsedCall(call.name, None, call.arguments, "The arguments are not a JSON object.")
    return ParsedCall(call.name, arguments, call.arguments)


def _call_result(call: ToolCall, detail: str | None) -> ToolRunCallResult:
    return ToolRunCallResult.model_validate(call, from_attributes=True).model_copy(update={"detail": detail})


def _past(call: PastCall) -> PastToolCall:
    return PastToolCall(
        source=call.source, name=call.name, arguments=call.arguments, status=call.status, text=call.text
    )

"""Runs one request on a vLLM server, as one server request per prompt; replies become events."""

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

from reinforge.errors import InvalidInput, ReinforgeError
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm.api import Api, Piece, ServerLost, ServerRefused, completion
from worker.serving.engine import Event, prompt_event
from worker.serving.text import BatchDecoder, TextStream, decoding
from worker.serving.token_log import IMPOSSIBLE, TokenTexts
from worker.serving.vllm_model import ServedModel
from worker.serving_client.protocol import ServingRequest

WAIT_SECONDS = 0.01


class VllmRun:
    def __init__(
        self,
        request: ServingRequest,
        model: ServedModel,
        api: Api,
        name: str,
        *,
        loop: asyncio.AbstractEventLoop,
        news: threading.Event,
        quiet_seconds: float,
        lost: Callable[[str], ReinforgeError],
        closed: Callable[["VllmRun"], None],
    ) -> None:
        """lost: returns the error for a failed server. Raises InvalidInput."""
        self._request, self._news, self._lost, self._closed = request, news, lost, closed
        self._quiet_seconds, self._last_output_at = quiet_seconds, time.monotonic()
        prompt_requests = _prompt_requests(request, model)
        self._texts = TokenTexts(model.text.entries)
        self._decode = BatchDecoder(decoding(request, model.text))
        self._rows = [
            [
                _Row(request, model, self._decode, self._texts, number, sample)
                for sample in range(prompt_request.n)
            ]
            for number, prompt_request in enumerate(prompt_requests)
        ]
        self._events: list[Event] = [
            prompt_event(request, number, len(prompt_request.prompt_ids))
            for number, prompt_request in enumerate(prompt_requests)
        ]
        self._inbox: queue.SimpleQueue[tuple[int, Piece | Exception]] = queue.SimpleQueue()
        self._tasks = [
            asyncio.run_coroutine_threadsafe(
                self._read(api, _body(request, name, prompt_request), number), loop
            )
            for number, prompt_request in enumerate(prompt_requests)
        ]

    @property
    def request(self) -> ServingRequest:
        return self._request

    @property
    def finished(self) -> bool:
        return all(row.ended for rows in self._rows for row in rows)

    def step(self) -> None:
        if self._inbox.empty():
            self._news.wait(WAIT_SECONDS)
            self._news.clear()
        if self._inbox.empty() and time.monotonic() - self._last_output_at > self._quiet_seconds:
            raise self._lost(f"not a word for {self._quiet_seconds:g} s")
        pieces: dict[_Row, deque[Piece]] = {}
        while not self._inbox.empty():
            self._last_output_at = time.monotonic()
            number, piece = self._inbox.get()
            if isinstance(piece, ServerRefused):
                raise InvalidInput(f"vLLM refuses the request: {piece}", code="request_refused")
            if isinstance(piece, Exception):
                raise self._lost(str(piece))
            rows = self._rows[number]
            # Greedy completions of a prompt are equal; the server makes one.
            for row in rows if self._request.temperature == 0 else [rows[piece.sample]]:
                pieces.setdefault(row, deque()).append(piece)
        while pieces:
            self._add({row: of_row.popleft() for row, of_row in pieces.items()})
            pieces = {row: of_row for row, of_row in pieces.items() if of_row}
        for rows, task in zip(self._rows, self._tasks, strict=True):
            if all(row.ended for row in rows):
                task.cancel()

    def _add(self, pieces: "dict[_Row, Piece]") -> None:
        self._decode.load([window for row, piece in pieces.items() for window in row.windows(piece)])
        if (most := self._request.top_logprobs) is not None:
            tops = [token for piece in pieces.values() for top in piece.tops for token, _ in top[:most]]
            self._texts.load([token for piece in pieces.values() for token in piece.token_ids] + tops)
        for row, piece in pieces.items():
            self._events += row.add(piece)

    def take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._closed(self)

    async def _read(self, api: Api, body: dict[str, Any], number: int) -> None:
        try:
            async with aclosing(api.complete(body)) as pieces:
                async for piece in pieces:
                    self._tell(number, piece)
        except (ServerRefused, ServerLost) as error:
            self._tell(number, error)

    def _tell(self, number: int, news: Piece | Exception) -> None:
        self._inbox.put((number, news))
        self._news.set()


class _Row:
    def __init__(
        self,
        request: ServingRequest,
        model: ServedModel,
        decode: Any,
        texts: TokenTexts,
        prompt: int,
        sample: int,
    ) -> None:
        self._place: Event = {"prompt": prompt, "sample": sample}
        self._stop_ids, self._texts, self._most = model.stop_ids, texts, request.top_logprobs
        self._untold: list[Event] = []
        self._stream = TextStream(decode, request.stop)
        self._ids: list[int] = []
        self.ended = False

    def windows(self, piece: Piece) -> list[Sequence[int]]:
        if self.ended:
            return []
        last = piece.finish_reason is not None
        return self._stream.windows(self._text_ids([*self._ids, *piece.token_ids], piece), last=last)

    def _text_ids(self, ids: list[int], piece: Piece) -> list[int]:
        ended = piece.finish_reason == "stop" and ids and ids[-1] in self._stop_ids
        return ids[:-1] if ended else ids

    def add(self, piece: Piece) -> list[Event]:
        if self.ended:
            return []
        self._ids += piece.token_ids
        ids, reason = self._text_ids(self._ids, piece), piece.finish_reason
        text = self._stream.push(ids) if reason is None else self._stream.finish(ids)
        if self._stream.stopped:
            reason = "stop"
        self._untold += self._logged(piece)
        events: list[Event] = []
        if text:
            events.append({"type": "delta", **self._place, "text": text, **self._reported()})
        if reason is not None:
            self.ended = True
            done = {"type": "done", **self._place, "text": self._stream.text, "finish_reason": reason}
            events.append(done | self._reported())
        return events

    def _reported(self) -> Event:
        untold, self._untold = self._untold, []
        return {"tokens": len(self._ids)} | ({} if self._most is None else {"logprobs": untold})

    def _logged(self, piece: Piece) -> list[Event]:
        if self._most is None:
            return []
        entries = []
        for place, (token, logprob) in enumerate(zip(piece.token_ids, piece.logprobs, strict=True)):
            top = piece.tops[place][: self._most] if self._most else []
            alternatives = [self._entry(*alternative) for alternative in top]
            entries.append(self._entry(token, logprob) | {"top_logprobs": alternatives})
        return entries

    def _entry(self, token: int, logprob: float) -> Event:
        return {**self._texts.entry(token), "logprob": max(logprob, IMPOSSIBLE)}


def _body(request: ServingRequest, name: str, prompt_request: GenerateRequest) -> dict[str, Any]:
    body = completion(name, prompt_request) | {"logprobs": request.top_logprobs}
    if request.top_logprobs is not None:
        body["return_tokens_as_token_ids"] = True
    if request.json_schema is not None:
        body["structured_outputs"] = {"json": request.json_schema}
    return body


def _prompt_requests(request: ServingRequest, model: ServedModel) -> list[GenerateRequest]:
    for number, prompt in enumerate(request.prompts):
        if not prompt.ids or max(prompt.ids) >= model.vocabulary:
            raise InvalidInput(
                "The prompt is empty or has a token outside the model's vocabulary.",
                code="prompt_not_renderable",
                param=f"prompts[{number}]",
            )
        if len(prompt.ids) >= model.context:
            raise InvalidInput(
                f"The prompt has {len(prompt.ids)} tokens; this worker's cache has room for {model.context}.",
                code="context_overflow",
                param=f"prompts[{number}]",
            )
    return [
        GenerateRequest(
            policy=request.adapter,
            version=0,
            prompt_ids=tuple(prompt.ids),
            n=request.samples_per_prompt,
            sampling=Sampling(
                max_tokens=min(prompt.max_tokens, model.context - len(prompt.ids)),
                temperature=request.temperature,
                top_p=request.top_p,
                stop_ids=model.stop_ids,
                stop=tuple(request.stop),
            ),
            noise=NoiseKey(request.seed, Stream.PLAY, 0, number),
            tag=number,
        )
        for number, prompt in enumerate(request.prompts)
    ]

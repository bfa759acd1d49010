"""Runs one request as a sequence of decode batches."""

from reinforge.errors import InvalidInput
from worker.policy.load import LoadedModel
from worker.rollout.decoder import Decoder
from worker.rollout.decoding import DecodeBatch
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.folder_text import FolderText
from worker.rollout.noise import Stream
from worker.rollout.transformers_engine import plan
from worker.serving.engine import Event, prompt_event
from worker.serving.grammar import Grammar, GrammarRows
from worker.serving.text import BatchDecoder, TextStream, decoding
from worker.serving.token_log import TokenLog, TokenTexts
from worker.serving_client.protocol import ServingRequest


class Generation:
    """Samples one request. Batches depend on the request alone, so that the same seed gives the same text."""

    def __init__(
        self, request: ServingRequest, base: LoadedModel, text: FolderText, tokens_in_cache: int
    ) -> None:
        self.request = request
        self._base = base
        self._decode = BatchDecoder(decoding(request, text))
        self._plan = plan(_requests(request, base), tokens_in_cache)
        self._batch: DecodeBatch | None = None
        self._places: list[Event] = []
        self._texts: list[TextStream] = []
        self._open: list[int] = []
        self._token_texts = TokenTexts(text.entries)
        self._grammar = Grammar(request.json_schema, base, text) if request.json_schema is not None else None
        self._documents: GrammarRows | None = None
        self._log: TokenLog | None = None
        self._reported: list[int] = []
        self._events: list[Event] = [
            prompt_event(request, number, len(prompt.ids)) for number, prompt in enumerate(request.prompts)
        ]

    @property
    def finished(self) -> bool:
        return self._batch is None and not self._plan

    def step(self) -> None:
        if self._batch is None:
            self._batch = DecodeBatch(Decoder(self._base.model), self._plan.pop(0), _never)
            self._places = [
                {"prompt": part.request.tag, "sample": sample} for part, sample in self._batch.rows
            ]
            self._texts = [TextStream(self._decode, self.request.stop) for _ in self._places]
            self._open = list(range(len(self._places)))
            self._reported = [0] * len(self._places)
            self._documents = self._grammar.rows(len(self._places)) if self._grammar else None
            if self.request.top_logprobs is not None:
                self._log = TokenLog(self._batch, self._token_texts, self.request.top_logprobs)
            return
        if self._documents is not None:
            self._documents.mask(self._batch)
        if self._log is not None:
            self._log.look()
        self._batch.advance()
        if self.request.stop or not self._running():
            self._read()

    def take_events(self) -> list[Event]:
        self._read()
        events, self._events = self._events, []
        return events

    def _running(self) -> bool:
        assert self._batch is not None
        return any(self._batch.reason(row) is None for row in self._open)

    def _read(self) -> None:
        if self._batch is None:
            return
        tokens_of = {row: self._text_tokens(self._batch, row) for row in self._open}
        self._decode.load(
            [
                window
                for row, tokens in tokens_of.items()
                for window in self._texts[row].windows(tokens, last=self._batch.reason(row) is not None)
            ]
        )
        still = []
        for row, tokens in tokens_of.items():
            if not self._read_row(self._batch, row, tokens):
                still.append(row)
        self._open = still
        if not still:
            self._batch = self._log = None

    def _text_tokens(self, batch: DecodeBatch, row: int) -> list[int]:
        tokens = batch.tokens(row)
        ended = batch.reason(row) == "stop" and tokens and tokens[-1] in self._base.stop_ids
        return tokens[:-1] if ended else tokens

    def _read_row(self, batch: DecodeBatch, row: int, tokens: list[int]) -> bool:
        text, reason, count = self._texts[row], batch.reason(row), batch.count(row)
        piece = text.push(tokens) if reason is None else text.finish(tokens)
        if text.stopped:
            batch.end("stop", [row])
            reason = "stop"
        place = self._places[row]
        if piece:
            self._events.append({"type": "delta", **place, "text": piece, **self._tokens(row, count)})
        if reason is None:
            return False
        done = {"type": "done", **place, "text": text.text, "finish_reason": reason}
        self._events.append(done | self._tokens(row, count))
        return True

    def _tokens(self, row: int, count: int) -> Event:
        start, self._reported[row] = self._reported[row], count
        return {"tokens": count} | ({"logprobs": self._log.entries(row, start)} if self._log else {})


def _requests(request: ServingRequest, base: LoadedModel) -> list[GenerateRequest]:
    vocabulary = base.model.config.get_text_config().vocab_size
    for number, prompt in enumerate(request.prompts):
        if not prompt.ids or max(prompt.ids) >= vocabulary:
            raise InvalidInput(
                "The prompt is empty or has a token outside the model's vocabulary.",
                code="prompt_not_renderable",
                param=f"prompts[{number}]",
            )
    return [
        GenerateRequest(
            policy=request.adapter,
            version=0,
            prompt_ids=tuple(prompt.ids),
            n=request.samples_per_prompt,
            sampling=Sampling(
                max_tokens=prompt.max_tokens,
                temperature=request.temperature,
                top_p=request.top_p,
                stop_ids=base.stop_ids,
            ),
            noise=NoiseKey(request.seed, Stream.PLAY, 0, number),
            tag=number,
        )
        for number, prompt in enumerate(request.prompts)
    ]


def _never(_: object) -> list[str]:
    raise AssertionError(
        "requests of the engine must have no stop strings: they are searched for after generation"
    )

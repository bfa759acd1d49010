"""The model in memory: one base model with an LRU set of adapters."""

import gc
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path

import torch

from worker.machine.memory import is_out_of_memory
from worker.policy.host import LocalHost
from worker.policy.load import load_with_tokenizer
from worker.rollout.folder_text import FolderText
from worker.serving.engine import Say
from worker.serving_client.protocol import ServingRequest

ADAPTERS = 8
"""Most adapters in memory; those in use are not evicted."""


class HeldModel:
    def __init__(self, *, adapters: int = ADAPTERS) -> None:
        self._most = adapters
        self._key: tuple[str, str | None] | None = None
        self._host: LocalHost | None = None
        self._text: FolderText | None = None
        self._adapters: OrderedDict[str, None] = OrderedDict()

    @property
    def adapters(self) -> list[str]:
        """Names of loaded adapters, the least recently used first."""
        return list(self._adapters)

    @property
    def text(self) -> FolderText:
        assert self._text is not None
        return self._text

    def fits(self, request: ServingRequest) -> bool:
        return self._key == (request.folder, request.model_sha256)

    def host(self, request: ServingRequest, in_use: Collection[str | None], say: Say) -> LocalHost:
        """Load the request's model and adapter if needed, like `Engine.start`. After an exception, no model
        is loaded.
        """
        others = [name for name in self._adapters if name not in (request.adapter, *in_use)]
        try:
            return self._loaded(request, in_use, say)
        except BaseException as error:
            if not (others and self.fits(request) and is_out_of_memory(error)):
                self.drop()  # a partly loaded adapter may have changed the model
                raise
        self.drop()
        say("Making room for the adapter")
        try:
            return self._loaded(request, in_use, say)
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        if self._text is not None:
            self._text.close()
        self._host, self._key, self._text = None, None, None
        self._adapters.clear()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _loaded(self, request: ServingRequest, in_use: Collection[str | None], say: Say) -> LocalHost:
        if self._host is None or not self.fits(request):
            self.drop()
            say(f"Loading {request.model}")
            self._text = FolderText(Path(request.folder))
            self._host = LocalHost(load_with_tokenizer(self._text.folder, self._text.load))
            self._key = (request.folder, request.model_sha256)
        if request.adapter is not None:
            self._adapter(self._host, request, in_use, say)
        return self._host

    def _adapter(
        self, host: LocalHost, request: ServingRequest, in_use: Collection[str | None], say: Say
    ) -> None:
        name = request.adapter
        assert name is not None and request.adapter_folder is not None
        if name not in self._adapters:
            say("Loading the adapter")
            host.load_adapter(name, Path(request.adapter_folder))
        self._adapters[name] = None
        self._adapters.move_to_end(name)
        for old in [other for other in self._adapters if other != name and other not in in_use]:
            if len(self._adapters) <= self._most:
                return
            host.drop_adapter(old)
            del self._adapters[old]

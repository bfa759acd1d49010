"""An object store over HTTP that can go away and come back with all it had."""

import contextlib
import logging
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest import mock

from tests.support.relay import Relay
from tests.support.s3 import make_bucket

_ACCESS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": secrets.token_hex(8),
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True)
class Store:
    environment: dict[str, str]
    cut: Callable[[], None]
    restore: Callable[[], None]


@contextlib.contextmanager
def object_store() -> Iterator[Store]:
    """A bucket on a server of this process, behind a relay that can be cut."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line per request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        with mock.patch.dict(os.environ, _ACCESS), Relay(server.get_host_and_port()[1]) as relay:
            bucket = make_bucket(relay.url)
            environment = _ACCESS | {"S3_ENDPOINT_URL": relay.url, "STORAGE_URL": f"s3://{bucket}/chaos"}
            with mock.patch.dict(os.environ, {"S3_ENDPOINT_URL": relay.url}):
                yield Store(environment, relay.cut, relay.restore)
    finally:
        server.stop()

"""A real S3 server over HTTP, in this process."""

import secrets
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def s3_environment(s3_endpoint: str) -> Iterator[str]:
    """Address of the server. The environment points at it while the tests of the module run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("S3_ENDPOINT_URL", s3_endpoint)
        yield s3_endpoint


@pytest.fixture
def s3_bucket(s3_environment: str) -> str:
    """A new bucket."""
    return make_bucket(s3_environment)


def make_bucket(endpoint: str) -> str:
    import boto3

    bucket = f"bucket-{secrets.token_hex(6)}"
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=bucket)
    return bucket

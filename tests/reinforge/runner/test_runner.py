"""What a runner tells a server that is away for a moment."""

import httpx
import pytest

from reinforge.runner.runner import PATH, RolloutConnection
from reinforge.schemas.agent_rollouts import EndRollout


def connection(bodies: list[bytes], away: int) -> RolloutConnection:
    """Requests fail `away` times, then are taken."""

    def reply(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        if len(bodies) <= away:
            raise httpx.ConnectError("refused")
        return httpx.Response(204)

    http = httpx.Client(base_url=f"http://server{PATH}", transport=httpx.MockTransport(reply))
    return RolloutConnection(http, "rf-ro-key")


@pytest.mark.parametrize("away", [0, 1])
def test_an_error_while_the_server_is_away_gives_the_rollout_back(away: int) -> None:
    bodies: list[bytes] = []
    end = connection(bodies, away).end(EndRollout(error="APIConnectionError"))
    assert end is not None and end.released == bool(away) and (end.error is None) == bool(away)
    assert len(bodies) == away + 1


def test_a_result_is_sent_until_the_server_takes_it() -> None:
    bodies: list[bytes] = []
    end = connection(bodies, 1).end(EndRollout(reward=0.5))
    assert end is not None and (end.reward, end.released) == (0.5, False)
    assert bodies[0] == bodies[1]

"""Error tree: every failure becomes one of these errors, at the boundary where it happens.

    ReinforgeError
    ├── InvalidInput       the request or file is wrong; fix `param`        (422)
    ├── NotAuthenticated   no key, or an unknown or revoked one             (401)
    ├── NotAllowed         the key lacks the role                           (403)
    ├── NotFound           not in this project                              (404)
    ├── StateConflict      the object's state forbids it                   (409)
    ├── Stale              changed since it was read; see `current`         (412)
    ├── MatchNeeded        an edit without If-Match                         (428)
    ├── LeaseLost          another attempt owns the job; stop at once       (409)
    ├── TooLarge           over a limit                                     (413)
    ├── RequestTooSlow     the body did not arrive in time; retry           (408)
    ├── TooManyRequests    wait, then retry                                 (429)
    │   └── BudgetSpent    do not retry                                     (429)
    ├── Unavailable        a needed service is not running; retryable       (503)
    └── JobFailure         why a job ended or paused; `code` is its `reason`

`code` is stable, `message` says what happened, `hint` what to do, `param` is the field's dotted path.
"""

from functools import partial
from typing import Any


class ReinforgeError(Exception):
    status = 500
    type = "server_error"
    default_code = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        param: str | None = None,
        errors: list[dict[str, Any]] | None = None,
        current: dict[str, Any] | None = None,
        faults: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint
        self.param = param
        self.errors = errors or []
        self.current = current
        """Present state of the object, if the request was based on an older one."""
        self.faults = faults
        """For a file: `bad_rows` and `good_rows` (counts), and `skippable` (whether the bad rows can be
        skipped); `errors` lists the first faults.
        """

    def envelope(self, request_id: str | None = None) -> dict[str, Any]:
        error = {
            "message": self.message,
            "type": self.type,
            "code": self.code,
            "param": self.param,
            "hint": self.hint,
            "errors": self.errors,
            "request_id": request_id,
        }
        optional = {"current": self.current, "faults": self.faults}
        return {"error": error | {name: value for name, value in optional.items() if value is not None}}


class InvalidInput(ReinforgeError):
    status, type, default_code = 422, "invalid_request_error", "invalid_input"


class NotAuthenticated(ReinforgeError):
    status, type, default_code = 401, "authentication_error", "invalid_api_key"


class NotAllowed(ReinforgeError):
    status, type, default_code = 403, "permission_error", "not_allowed"


class NotFound(ReinforgeError):
    status, type, default_code = 404, "invalid_request_error", "not_found"


class StateConflict(ReinforgeError):
    """Sent with `x-should-retry: false`, because the OpenAI SDK retries every other 409."""

    status, type, default_code = 409, "invalid_request_error", "state_conflict"


class Stale(ReinforgeError):
    status, type, default_code = 412, "invalid_request_error", "precondition_failed"


class MatchNeeded(ReinforgeError):
    status, type, default_code = 428, "invalid_request_error", "precondition_required"


class LeaseLost(ReinforgeError):
    status, type, default_code = 409, "conflict_error", "lease_lost"


class TooLarge(ReinforgeError):
    status, type, default_code = 413, "invalid_request_error", "too_large"


class RequestTooSlow(ReinforgeError):
    status, type, default_code = 408, "invalid_request_error", "body_too_slow"


class DeletedMeanwhile(StateConflict):
    """An object that the request names was deleted while the request ran."""

    default_code = "deleted_meanwhile"


class TooManyRequests(ReinforgeError):
    """retry_after: seconds, for the `Retry-After` header."""

    status, type, default_code = 429, "rate_limit_error", "too_many_requests"

    def __init__(self, message: str, *, retry_after: int = 60, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.retry_after = retry_after


class BudgetSpent(TooManyRequests):
    """A rollout's budget is used up. Sent with `x-should-retry: false`, as StateConflict."""

    default_code = "rollout_budget"


class Unavailable(ReinforgeError):
    status, type, default_code = 503, "unavailable_error", "unavailable"


class JobFailure(ReinforgeError):
    """Failure that ends a job, or pauses it if `retryable`; raised inside the worker."""

    default_code = "trainer_failed"

    def __init__(self, message: str, *, code: str, hint: str | None = None, retryable: bool = False) -> None:
        super().__init__(message, code=code, hint=hint)
        self.retryable = retryable

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(JobFailure, code=self.code, hint=self.hint, retryable=self.retryable)
        return again, (self.message,), self.__dict__


def deleted_meanwhile() -> DeletedMeanwhile:
    return DeletedMeanwhile(
        "An object that this request uses was deleted, or came into use, while the request ran.",
        hint="Look at its present state, and send the request again.",
    )

"""What is made of the errors of servers that mean harm, or make mistakes."""

import math

import pytest

from oi_tui.app.engine.models.failures import (
    BoundBroken,
    ModelEndpoint,
    RefusedStatus,
    ReportedError,
    UnreadableAnswer,
    failure,
)

KEY = "sk-very-secret-1234"
ASKED = ModelEndpoint(
    model="m", url=f"https://me:{KEY}@gateway.example/v1?key={KEY}", provider="openai", secrets=(KEY,), timeout=1
)


@pytest.mark.parametrize(
    "wait",
    [
        *("inf", "nan", "1e400", "99999999999", "-5", "soon", "\u0661"),
        "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ],
)
def test_L10_a_server_cannot_ask_for_a_wait_without_end(wait: str) -> None:
    """A model that failed is passed over for so long."""
    for status in (429, 503):
        failed = failure(RefusedStatus(status, {"message": "slow down"}, wait), ASKED, started=False)
        assert math.isfinite(failed.error.wait)
        assert 0 <= failed.error.wait <= 86_400
        assert failed.passing
    reported = failure(ReportedError({"message": "slow", "code": 429, "retry-after": [1]}), ASKED, started=False)
    assert reported.error.kind == "rate_limited"


@pytest.mark.parametrize(
    "error",
    [
        *(RefusedStatus(status, {"message": f"no {KEY}"}, "") for status in (400, 401, 402, 404, 418, 429, 500)),
        *(UnreadableAnswer(f"a page {KEY}"), ConnectionRefusedError("refused"), TimeoutError(), ConnectionResetError()),
        BoundBroken(f"sends requests on to https://other.example/{KEY}: that was not followed"),
    ],
    ids=repr,
)
def test_m2_no_error_shows_a_key_nor_what_stands_in_an_address(error: Exception) -> None:
    for started in (False, True):
        told = failure(error, ASKED, started=started).error
        assert KEY not in f"{told.title} {told.hint} {told.details}"

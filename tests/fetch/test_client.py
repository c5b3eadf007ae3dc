"""The pace of requests and what a redirect may lead to, with a clock that the test turns."""

import asyncio

import httpx
import pytest
from archive_server import Server

from teleembed_ray.errors import ConfigError
from teleembed_ray.fetch import client
from teleembed_ray.fetch.client import Client, Pace, checked_root


class Clock:
    """A clock that sleeping turns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(client.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(client.asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_requests_are_half_a_second_apart_at_two_a_second(clock: Clock) -> None:
    async def starts() -> list[float]:
        pace, times = Pace(2.0), []
        for _ in range(4):
            await pace.turn()
            times.append(clock.now)
        return times

    assert asyncio.run(starts()) == [100.0, 100.5, 101.0, 101.5]


def test_an_idle_minute_saves_up_no_burst_and_a_wish_to_wait_holds_for_all(clock: Clock) -> None:
    async def starts() -> list[float]:
        pace, times = Pace(2.0), []
        await pace.turn()
        clock.now += 60.0
        for _ in range(2):
            await pace.turn()
            times.append(clock.now)
        pace.hold(30.0)
        await pace.turn()
        return [*times, clock.now]

    assert asyncio.run(starts()) == [160.0, 160.5, 190.5]


@pytest.mark.parametrize(
    ("target", "trusted"),
    [
        ("https://www.3gpp.org/other", True),
        ("https://WWW.3GPP.ORG/other", True),
        ("https://3gpp.org/other", True),
        ("https://files.3gpp.org/other", True),
        ("http://www.3gpp.org/other", False),
        ("https://evil3gpp.org/other", False),
        ("https://www.3gpp.org.evil.net/other", False),
        ("https://www.3gpp.org@evil.net/other", False),
        ("ftp://www.3gpp.org/other", False),
        ("https://org/other", False),
    ],
)
def test_a_redirect_is_followed_within_the_server_s_own_name(target: str, trusted: bool) -> None:
    client = Client("https://www.3gpp.org/ftp", rate_per_s=1.0)
    assert client.trusts(httpx.URL(target), secure=True) is trusted


def test_a_host_without_a_dot_trusts_nothing_below_it() -> None:
    assert not Client("http://mirror/ftp", rate_per_s=1.0).trusts(httpx.URL("http://evil.mirror/"), secure=False)


@pytest.mark.parametrize(
    "root",
    [
        "www.3gpp.org/ftp",
        "ftp://www.3gpp.org",
        "https://",
        "https://host:99999/",
        "https://user:secret@host/",
        "https://host/?key=secret",
        "file:///x",
    ],
)
def test_a_root_that_is_no_web_address_is_refused_without_its_password(root: str) -> None:
    with pytest.raises(ConfigError, match="--root") as caught:
        checked_root(root)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 1970 00:02:10 GMT", 30.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", 0.0),
        ("", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, expected: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.time, "time", lambda: 100.0)
    assert client._retry_after_s(httpx.Response(503, headers={"Retry-After": value})) == expected


def test_a_wish_to_wait_holds_the_requests_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    polite = Client("https://host", rate_per_s=1.0)
    held: list[float] = []
    monkeypatch.setattr(polite._pace, "hold", held.append)
    for status in (429, 503):
        response = httpx.Response(status, headers={"Retry-After": "7"}, request=httpx.Request("GET", "https://host/"))
        with pytest.raises(client.BusyError):
            polite._check_status(response)
    assert held == [7.0, 7.0]


def test_a_page_without_end_is_no_listing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> None:
        async with Client(server.host, rate_per_s=1000.0) as polite:
            await polite.read_page(f"{server.host}/folder/")

    server.fail("/folder/", lambda handler: handler.send_page(200, "x" * 2000))
    monkeypatch.setattr(client, "LARGEST_PAGE_BYTES", 1000)
    with pytest.raises(client.FetchError, match="larger than a list"):
        asyncio.run(read())


def test_a_certificate_that_is_not_trusted_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    async def refuse(request: httpx.Request, stream: bool) -> httpx.Response:
        tries.append(request.url)
        raise httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate in certificate chain")

    async def read() -> None:
        async with Client("https://host", rate_per_s=1000.0) as polite:
            monkeypatch.setattr(polite._http, "send", refuse)
            await polite.read_page("https://host/")

    with pytest.raises(client.FetchError, match="set SSL_CERT_FILE"):
        asyncio.run(read())
    assert len(tries) == 1

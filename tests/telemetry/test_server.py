# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Health and metrics by HTTPS: the certificate, who is let in, and slow handshakes."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from cryptography import x509

from enbloc.errors import ConfigError
from enbloc.telemetry import AccessRequest, Certificates, Health, RequestRefusal, Server
from enbloc.telemetry.certificates import LIFETIME
from enbloc.telemetry.server import MOST_CONNECTIONS
from tests.client.certificates import Authority


class Doorman:
    """Lets in who has the right word, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[AccessRequest] = []

    async def refuse(self, asked: AccessRequest) -> RequestRefusal | None:
        self.asked.append(asked)
        if asked.path == "/livez" or asked.authorization == "Bearer friend" or asked.certificate:
            return None
        return RequestRefusal(403, "Forbidden", f'cannot get path "{asked.path}"')


def untrusting() -> ssl.SSLContext:
    """TLS of a client that checks nothing, as a kubelet's probe."""
    return ssl._create_unverified_context()


def get(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    context: ssl.SSLContext | None = None,
    method: str = "GET",
) -> tuple[int, str]:
    request = Request(url, headers=dict(headers or {}), method=method)
    try:
        with urlopen(request, timeout=20, context=context or untrusting()) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def shown(port: int) -> x509.Certificate:
    """The certificate that a server shows."""
    pem = ssl.get_server_certificate(("127.0.0.1", port), timeout=20)
    return x509.load_pem_x509_certificate(pem.encode())


@pytest.fixture
def doorman() -> Doorman:
    return Doorman()


@pytest.fixture
def health() -> Health:
    made = Health()
    made.pages["configz"] = lambda: '{"its": "own"}'
    made.register("watches", lambda: True, "readyz")
    return made


@pytest.fixture
def server(health: Health, doorman: Doorman) -> Iterator[Server]:
    with Server(health, 0, tls=Certificates().context, guard=nullcontext(doorman)) as made:
        yield made


def url(server: Server, path: str) -> str:
    return f"https://127.0.0.1:{server.port}{path}"


# ── what is shown to whom ────────────────────────────────────────────────────────────────────


def test_a_refusal_is_a_status_of_kubernetes(server: Server) -> None:
    code, text = get(url(server, "/metrics"))
    assert code == 403
    assert json.loads(text) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'cannot get path "/metrics"',
        "reason": "Forbidden",
        "details": {},
        "code": 403,
    }


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_who_is_let_in_sees_metrics_and_pages(server: Server, method: str) -> None:
    friend = {"Authorization": "Bearer friend"}
    code, text = get(url(server, "/metrics"), friend, method=method)
    assert code == 200
    assert ("process_max_fds" in text) is (method == "GET")
    code, text = get(url(server, "/configz/"), friend, method=method)
    assert (code, text) == (200, '{"its": "own"}' if method == "GET" else "")


def test_the_guard_is_told_path_and_credentials_and_not_the_query(
    server: Server, doorman: Doorman
) -> None:
    for path in ("/readyz/watches?verbose", "//readyz/watches/"):
        get(url(server, path), {"authorization": "Bearer  x "})
    assert doorman.asked == [AccessRequest("/readyz/watches", "Bearer  x")] * 2


def test_nobody_is_asked_about_what_is_not_there(server: Server, doorman: Doorman) -> None:
    code, text = get(url(server, "/secrets"))
    assert (code, doorman.asked) == (404, [])
    assert "/metrics and /configz" in text


def test_one_check_can_be_asked_for(server: Server, health: Health) -> None:
    assert get(url(server, "/livez/ping"), {"Authorization": "Bearer friend"}) == (200, "ok")
    health.register("watches", lambda: False, "readyz")
    code, _ = get(url(server, "/readyz/watches"), {"Authorization": "Bearer friend"})
    assert code == 500
    assert get(url(server, "/readyz/nonsense"))[0] == 404


def test_a_page_that_breaks_is_an_answer_and_the_server_goes_on(
    server: Server, health: Health
) -> None:
    health.pages["configz"] = lambda: str(1 // 0)
    assert get(url(server, "/configz"), {"Authorization": "Bearer friend"})[0] == 500
    assert get(url(server, "/livez")) == (200, "ok")


def test_a_guard_that_breaks_lets_nobody_in_and_is_an_answer(health: Health) -> None:
    class Broken:
        async def refuse(self, asked: AccessRequest) -> RequestRefusal | None:
            raise RuntimeError(asked.path)

    with Server(health, 0, tls=Certificates().context, guard=nullcontext(Broken())) as server:
        assert get(url(server, "/metrics")) == (500, "failed; see the log\n")


def test_a_check_that_does_not_count_is_shown_and_fails_nothing(health: Health) -> None:
    health.register("podgroups-readable", lambda: False, "readyz", counts=False)
    assert health.report("readyz", "") == (200, "ok")
    code, text = health.report("readyz", "verbose") or (0, "")
    assert code == 200
    assert "[!]podgroups-readable failed: does not count, see the log" in text
    assert health.failed("readyz") == []


# ── certificates ─────────────────────────────────────────────────────────────────────────────


def test_without_files_it_shows_a_certificate_of_its_own_for_a_year(server: Server) -> None:
    certificate = shown(server.port)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert certificate.issuer == certificate.subject
    lasts = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert lasts.total_seconds() >= LIFETIME


def test_its_own_certificate_is_replaced_long_before_it_ends() -> None:
    now = [1e9]
    certificates = Certificates(clock=lambda: now[0])
    first = certificates.context()
    now[0] += LIFETIME / 2 - 10
    assert certificates.context() is first
    now[0] += 20
    assert certificates.context() is not first


def test_files_that_change_are_read_again_and_broken_ones_are_not(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path), tmp_path / "other"
    other.mkdir()
    files = authority.issue("first.test")
    now = [0.0]
    certificates = Certificates(files, clock=lambda: now[0])
    with Server(Health(), 0, tls=certificates.context) as server:
        trusting = ssl.create_default_context(cafile=authority.ca)
        assert get(url(server, "/livez"), context=trusting) == (200, "ok")
        first = shown(server.port).serial_number

        files[0].write_text("no certificate")
        now[0] += 10
        assert shown(server.port).serial_number == first

        renewed = authority.issue("second.test")
        for old, new in zip(files, renewed, strict=True):
            new.replace(old)
        now[0] += 10
        assert shown(server.port).serial_number != first
        assert get(url(server, "/livez"), context=trusting) == (200, "ok")


def test_files_that_cannot_be_used_at_the_start_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--tls-cert-file .*nowhere"):
        Certificates((tmp_path / "nowhere", tmp_path / "key"))


def test_client_certificates_of_the_authorities_are_shown_to_the_guard(
    tmp_path: Path, health: Health, doorman: Doorman
) -> None:
    authority, certificates = Authority(tmp_path), Certificates()
    certificates.client_authorities = authority.ca.read_text()
    client = untrusting()
    client.load_cert_chain(*authority.issue("prometheus"))
    with Server(health, 0, tls=certificates.context, guard=nullcontext(doorman)) as server:
        assert get(url(server, "/metrics"), context=client)[0] == 200
        assert get(url(server, "/metrics"))[0] == 403
    [with_one, without] = doorman.asked
    assert with_one.certificate["subject"] == ((("commonName", "prometheus"),),)
    assert without.certificate == {}


def test_text_between_authorities_may_be_of_any_language(tmp_path: Path) -> None:
    certificates = Certificates()
    certificates.client_authorities = "# Főtanúsítvány\n" + Authority(tmp_path).ca.read_text()
    context = certificates.context()
    assert context.verify_mode is ssl.CERT_OPTIONAL
    assert context.cert_store_stats()["x509_ca"] == 1


def test_a_host_name_that_no_certificate_can_hold_is_left_out() -> None:
    with Server(Health(), 0, tls=Certificates(names=("hôst", "localhost")).context) as server:
        names = shown(server.port).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]


def test_a_client_certificate_of_a_stranger_is_not_let_in(
    tmp_path: Path, health: Health, doorman: Doorman
) -> None:
    for name in ("known", "stranger"):
        (tmp_path / name).mkdir()
    certificates = Certificates()
    certificates.client_authorities = Authority(tmp_path / "known").ca.read_text()
    client = untrusting()
    client.load_cert_chain(*Authority(tmp_path / "stranger").issue("prometheus"))
    with (
        Server(health, 0, tls=certificates.context, guard=nullcontext(doorman)) as server,
        pytest.raises(OSError, match=r"(?i)unknown ca|reset|closed|eof"),
    ):
        get(url(server, "/metrics"), context=client)
    assert doorman.asked == []


def test_older_tls_than_asked_for_is_not_spoken() -> None:
    certificates = Certificates(least=ssl.TLSVersion.TLSv1_3)
    old = untrusting()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with Server(Health(), 0, tls=certificates.context) as server:
        with pytest.raises(OSError, match=r"(?i)version|reset|eof"):
            get(url(server, "/livez"), context=old)
        assert get(url(server, "/livez")) == (200, "ok")


# ── addresses ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("address", ["0.0.0.0", "::", ""])
def test_every_address_is_both_families_where_the_machine_has_both(address: str) -> None:
    with Server(Health(), 0, address) as server:
        assert get(f"http://127.0.0.1:{server.port}/livez") == (200, "ok")
        if socket.has_dualstack_ipv6():
            assert get(f"http://[::1]:{server.port}/livez") == (200, "ok")


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_one_address_of_ipv6_is_enough() -> None:
    with Server(Health(), 0, "::1") as server:
        assert get(f"http://[::1]:{server.port}/livez") == (200, "ok")


def test_an_address_that_is_not_ours_is_an_error_about_the_address() -> None:
    with pytest.raises(ConfigError, match=r"192\.0\.2\.1:.*with --bind-address"):
        Server(Health(), 0, "192.0.2.1")


def test_no_connection_waits_for_acks(server: Server) -> None:
    listening = server._socket  # connections inherit it
    assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# ── slow clients ─────────────────────────────────────────────────────────────────────────────


def hello() -> bytes:
    """The first message of a TLS handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = untrusting().wrap_bio(incoming, outgoing, server_hostname="x")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


BEGINNINGS: Mapping[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "half a hello": lambda: hello()[:40],
    "hello": hello,
    "plain HTTP": lambda: b"GET /livez HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("sends", BEGINNINGS)
def test_a_probe_is_answered_while_slow_handshakes_hang(server: Server, sends: str) -> None:
    sent = BEGINNINGS[sends]()
    threads = threading.active_count()
    with ExitStack() as clients:
        for done in range(2 * MOST_CONNECTIONS):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            with suppress(ConnectionError):  # already ended, in favour of later ones
                client.sendall(sent)
            if done % 100 == 0:
                assert get(url(server, "/livez")) == (200, "ok")
        assert get(url(server, "/livez")) == (200, "ok")
        assert threading.active_count() == threads
        files = sum(1 for _ in Path("/proc/self/fd").iterdir())
        assert files <= 4 * MOST_CONNECTIONS + 100


def test_who_opens_most_connections_loses_them_and_not_who_came_first(server: Server) -> None:
    to, ours = ("127.0.0.1", server.port), untrusting()
    with ExitStack() as clients:
        first = clients.enter_context(socket.create_connection(to, timeout=60))
        many = [
            clients.enter_context(socket.create_connection(to, source_address=("127.0.0.2", 0)))
            for _ in range(MOST_CONNECTIONS + 10)
        ]
        with suppress(ConnectionError):
            many[0].settimeout(60)
            assert many[0].recv(1) == b""
        with ours.wrap_socket(first, server_hostname="x") as secure:
            secure.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
            assert secure.recv(4096).startswith(b"HTTP/1.1 200")


def test_a_handshake_that_stops_is_ended(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(hello()[:40])
        with suppress(ConnectionError):  # as good
            assert client.recv(1) == b""
    assert get(url(server, "/livez")) == (200, "ok")


def test_it_ends_while_handshakes_hang() -> None:
    with Server(Health(), 0, tls=Certificates().context) as server:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        assert get(url(server, "/livez")) == (200, "ok")
    for client in clients:
        with client, suppress(ConnectionError):
            assert client.recv(1) == b""

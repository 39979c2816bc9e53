# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which cluster is chosen, and how it is talked to: files, pods, certificates, plugins."""

import asyncio
import base64
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
import yaml
from aiohttp import web

import enbloc
from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.config import Cluster, TokenFile
from enbloc.client.errors import APIError, Unauthorized, Unreachable
from enbloc.client.paths import PODS
from enbloc.errors import ConfigError
from tests.client.certificates import Authority
from tests.client.fake import answer, refusal, says, serving

Write = Callable[..., Path]


def document(
    server: str = "http://one:1", user: Any = None, cluster: Any = None, name: str = "one"
) -> dict[str, Any]:
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: Any, name: str = "config") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    for name, text in (("token", "pod-token\n"), ("ca.crt", "ca"), ("namespace", "enbloc-system")):
        (folder / name).write_text(text)
    return folder


IN_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


async def echoes(request: web.BaseRequest) -> web.StreamResponse:
    """Answers with who the client is."""
    assert request.transport is not None
    peer = request.transport.get_extra_info("peercert") or {}
    subject = {key: value for ((key, value),) in peer.get("subject", ())}
    authorization = request.headers.get("Authorization")
    return answer({"subject": subject.get("commonName"), "authorization": authorization})


async def who_am_i(cluster: Cluster) -> dict[str, Any]:
    async with Client(cluster, component="test") as client:
        found: dict[str, Any] = await client.get(PODS, "p", "default")
        return found


# ── precedence ───────────────────────────────────────────────────────────────────────────────
async def test_the_flag_wins_over_everything(write: Write, service_account: Path) -> None:
    path = write(document("http://flag:1"))
    env = {**IN_POD, "KUBECONFIG": "/nowhere"}
    cluster = await load(path, env=env, service_account=service_account)
    assert cluster.server == "http://flag:1"


async def test_the_variable_wins_over_the_pod(write: Write, service_account: Path) -> None:
    path = write(document("http://variable:1"))
    env = {**IN_POD, "KUBECONFIG": f"/nowhere{os.pathsep}{path}"}
    cluster = await load(env=env, service_account=service_account)
    assert cluster.server == "http://variable:1"


async def test_the_pod_wins_over_the_home(write: Write, service_account: Path) -> None:
    home = write(document("http://home:1"), ".kube/config").parent.parent
    cluster = await load(env=IN_POD, home=home, service_account=service_account)
    assert cluster.server == "https://10.0.0.1:443"
    assert cluster.namespace == "enbloc-system"
    assert await cluster.auth.header(None) == "Bearer pod-token"
    asked = await load(None, "one", env=IN_POD, home=home, service_account=service_account)
    assert asked.server == "http://home:1"


async def test_answers_are_compressed_unless_it_costs_more_than_it_saves(
    write: Write, service_account: Path
) -> None:
    async def encoding(request: web.BaseRequest) -> web.StreamResponse:
        return answer({"accepts": request.headers.get("Accept-Encoding", "")})

    assert not (await load(env=IN_POD, service_account=service_account)).compressed
    async with serving(encoding) as url:
        far = await load(write(document(url), "far"))
        near = await load(write(document(url, cluster={"disable-compression": True}), "near"))
        assert "gzip" in (await who_am_i(far))["accepts"]
        assert await who_am_i(near) == {"accepts": "identity"}


async def test_an_ipv6_address_of_the_service_is_bracketed(service_account: Path) -> None:
    env = {**IN_POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    cluster = await load(env=env, service_account=service_account)
    assert cluster.server == "https://[fd00::1]:443"


async def test_the_first_file_of_a_list_wins(write: Write) -> None:
    first = document("http://first:1")
    del first["current-context"]
    second = document("http://second:1")
    second["current-context"] = "two"
    second["contexts"].append({"name": "two", "context": {"cluster": "two", "namespace": "ns"}})
    second["clusters"].append({"name": "two", "cluster": {"server": "http://two:1/"}})
    third = {"current-context": "one"}
    paths = [write(first, "a"), write(second, "b"), write(third, "c")]
    env = {"KUBECONFIG": os.pathsep.join(map(str, paths))}
    cluster = await load(env=env)
    assert (cluster.server, cluster.namespace) == ("http://two:1", "ns")
    assert (await load(None, "one", env=env)).server == "http://first:1"


@pytest.mark.processes
@pytest.mark.parametrize("in_pod", [True, False], ids=["a pod", "who has a token"])
def test_who_need_not_log_in_needs_no_kubernetes_library(
    write: Write, service_account: Path, *, in_pod: bool
) -> None:
    path = write(document("https://host:1", {"token": "t"}))
    asked = f"service_account=Path({str(service_account)!r})" if in_pod else f"Path({str(path)!r})"
    program = (
        "import asyncio, sys; from pathlib import Path;"
        "from enbloc.client.cluster_access import load;"
        f"asyncio.run(load({asked}));"
        "assert 'kubernetes' not in sys.modules and 'kopf' not in sys.modules"
    )
    source = str(Path(enbloc.__file__).parent.parent)  # whatever is installed
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": source, **IN_POD}
    subprocess.run([sys.executable, "-c", program], check=True, env=env, timeout=60)


# ── mistakes ─────────────────────────────────────────────────────────────────────────────────
def broken(**changes: Any) -> dict[str, Any]:
    return {**document(), **changes}


@pytest.mark.parametrize(
    ("content", "context", "message"),
    [
        ("{", None, "cannot be read as a kubeconfig"),
        ("- a\n", None, "the document must be a mapping"),
        ("", None, "current-context: not set; pass --context (known contexts: none)"),
        (document(), "two", '--context: no context "two" (known contexts: one)'),
        (broken(**{"current-context": "x"}), None, 'current-context: no context "x"'),
        (broken(clusters=None), None, 'contexts[one].cluster: no cluster "one" (known: none)'),
        (broken(users=[]), None, 'contexts[one].user: no user "one" (known: none)'),
        (broken(clusters=[{"cluster": {}}]), None, "clusters: each entry needs a name"),
        (broken(clusters=True), None, "clusters: must be a list"),
        (broken(users=[{"name": 1}]), None, "users: a name must be text, is 1; put it in quotes"),
        (broken(contexts=[{"name": {}, "context": 1}]), None, "contexts: each entry needs a name"),
        (broken(contexts=[{"name": "one", "context": "one"}]), None, ".context: must be a mapping"),
        (
            broken(contexts=[{"name": "one", "context": {"cluster": ["one"]}}]),
            None,
            "contexts[one].cluster: must be the name of a cluster",
        ),
        (document(""), None, "clusters[one].server: must be a URL such as https://host:6443"),
        (document("one:1"), None, "clusters[one].server: must be a URL"),
        (
            document("https://one:1", cluster={"certificate-authority": "/missing"}),
            None,
            "/missing",
        ),
    ],
)  # fmt: skip
async def test_a_mistake_is_named_with_its_file_and_field(
    write: Write, content: Any, context: str | None, message: str
) -> None:
    path = write(content)
    with pytest.raises(ConfigError) as caught:
        await load(path, context)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"/nowhere: no such file; pass --kubeconfig"):
        await load(Path("/nowhere"))
    with pytest.raises(ConfigError, match=r"\.kube/config: no such file"):
        await load(env={}, home=tmp_path)


async def test_an_incomplete_service_account_is_named(service_account: Path) -> None:
    (service_account / "token").unlink()
    with pytest.raises(ConfigError, match="token: missing; set automountServiceAccountToken"):
        await load(env=IN_POD, service_account=service_account)


async def test_a_certificate_that_is_none_is_named(write: Write, tmp_path: Path) -> None:
    nonsense = tmp_path / "ca.crt"
    nonsense.write_text("no certificate")
    cluster = await load(
        write(document("https://one:1", cluster={"certificate-authority": str(nonsense)}))
    )
    with pytest.raises(ConfigError, match=r"cannot use .*ca\.crt"):
        cluster.ssl_context()


# ── TLS ──────────────────────────────────────────────────────────────────────────────────────
async def test_client_certificates_come_from_files_relative_to_the_kubeconfig(
    write: Write, authority: Authority
) -> None:
    authority.issue("me")
    async with serving(echoes, authority.server_context("server", ask_client=True)) as url:
        user = {"client-certificate": "me.crt", "client-key": "me.key"}
        cluster = await load(write(document(url, user, {"certificate-authority": "ca.crt"})))
        assert (await who_am_i(cluster))["subject"] == "me"


async def test_a_file_is_beside_the_kubeconfig_that_names_it(
    write: Write, authority: Authority, tmp_path: Path
) -> None:
    authority.issue("me")
    async with serving(echoes, authority.server_context("server", ask_client=True)) as url:
        user = {"client-certificate": "me.crt", "client-key": "me.key"}
        users = write({"users": document(url, user)["users"]}, "users")
        (tmp_path / "other").mkdir()
        of_the_cluster = {"certificate-authority": "../ca.crt"}
        clusters = write(document(url, {}, of_the_cluster) | {"users": []}, "other/clusters")
        cluster = await load(env={"KUBECONFIG": f"{users}{os.pathsep}{clusters}"})
        assert (await who_am_i(cluster))["subject"] == "me"


@pytest.mark.parametrize(
    "user", [{"client-certificate": "none.crt", "client-key": "none.key"}, {"tokenFile": "none"}]
)
async def test_a_file_that_is_missing_is_named_with_the_setting(
    write: Write, user: dict[str, Any]
) -> None:
    setting, name = next(iter(user.items()))
    with pytest.raises(ConfigError, match=f"{setting}: no such file: .*{name}"):
        await load(write(document("https://host:1", user)))


async def test_client_certificates_come_from_data(write: Write, authority: Authority) -> None:
    certificate, key = (base64.b64encode(p.read_bytes()).decode() for p in authority.issue("me"))
    ca = base64.b64encode(authority.ca.read_bytes()).decode()
    async with serving(echoes, authority.server_context("server", ask_client=True)) as url:
        user = {"client-certificate-data": certificate, "client-key-data": key}
        cluster = await load(write(document(url, user, {"certificate-authority-data": ca})))
        assert (await who_am_i(cluster))["subject"] == "me"


async def test_the_servers_certificate_is_checked(write: Write, authority: Authority) -> None:
    other = authority.server_context("server.only")
    trusting = {"certificate-authority": str(authority.ca)}
    async with serving(echoes, other) as url:
        wrong_name = await load(write(document(url, cluster=trusting)))
        with pytest.raises(Unreachable) as caught:
            await who_am_i(wrong_name)
        assert not caught.value.sent
        named = {**trusting, "tls-server-name": "server.only"}
        assert await who_am_i(await load(write(document(url, cluster=named))))
        insecure = {"insecure-skip-tls-verify": True}
        assert await who_am_i(await load(write(document(url, cluster=insecure))))


async def test_a_proxy_is_used(write: Write) -> None:
    async with serving(echoes) as proxy:
        cluster = await load(
            write(document("http://cluster.invalid", cluster={"proxy-url": proxy}))
        )
        assert await who_am_i(cluster) == {"subject": None, "authorization": None}


async def test_no_error_and_no_log_shows_what_a_url_of_the_kubeconfig_holds(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    refuses = says(lambda: refusal(407, "ProxyAuthenticationRequired", "no"))
    async with serving(refuses) as proxy:
        secret = proxy.replace("http://", "http://user:s3cret@")
        for server, more in (
            (secret, {}),
            (secret.replace("http:", "https:"), {}),
            ("https://user:s3cret@127.0.0.1:9", {}),
            ("http://user:s3cret@no-such-host.invalid", {}),
            ("https://127.0.0.1:9", {"proxy-url": secret}),
            ("http://127.0.0.1:9", {"proxy-url": "http://user:s3cret@127.0.0.1:9"}),
        ):
            cluster = await load(write(document(server, cluster=more)))
            told += [repr(cluster), str(cluster), cluster.shown]
            async with Client(cluster, component="test") as client:
                with pytest.raises(APIError) as failed:
                    await client.get(PODS, "p", "default")
            told += [str(failed.value), repr(failed.value), failed.value.advice]
    for server in ("http://user:s3/cret@host", "user:s3cret@host", "http://user:s3cret@host:x"):
        with pytest.raises(ConfigError, match="must be a URL") as wrong:
            await load(write(document(server)))
        told.append(str(wrong.value))
    for text in (*told, *caplog.messages):
        assert "s3" not in text


async def test_a_user_in_the_url_and_another_beside_it_is_a_clear_error(write: Write) -> None:
    with pytest.raises(ConfigError, match="names a user, and so does users; use one") as failed:
        await load(write(document("http://user:s3cret@host", user={"token": "t0ken"})))
    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize("line", ["token: 's3cret", "token: s3cret: x", "token: *s3cret"])
async def test_a_kubeconfig_that_is_no_yaml_is_not_quoted(write: Write, line: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read as a kubeconfig: line \d+") as failed:
        await load(write(f"users:\n- name: one\n  user:\n    {line}\n"))
    assert "s3cret" not in f"{failed.value}"
    assert failed.value.__cause__ is None


# ── tokens ───────────────────────────────────────────────────────────────────────────────────
JWT = f"e30.{base64.b64encode(b'{}').decode()}.x"  # expires never


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"tokenFile": "token"}, "Bearer from-file"),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
        ({"auth-provider": {"name": "oidc", "config": {"id-token": JWT}}}, f"Bearer {JWT}"),
        ({}, None),
    ],
)
async def test_the_user_decides_the_header(
    write: Write, user: dict[str, Any], header: str | None
) -> None:
    write("from-file\n", "token")
    async with serving(echoes) as url:
        cluster = await load(write(document(url, user)))
        assert (await who_am_i(cluster))["authorization"] == header


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:aiohttp", "ignore::DeprecationWarning:kubernetes"
)
async def test_an_identity_token_that_has_run_out_is_renewed_at_its_issuer(write: Write) -> None:
    past = base64.b64encode(json.dumps({"exp": 1}).encode()).decode()

    async def issuer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/.well-known/openid-configuration":
            return web.json_response({"token_endpoint": f"http://{request.host}/token"})
        if request.path == "/token" and "refresh_token=again" in await request.text():
            return web.json_response({"id_token": JWT, "refresh_token": "later"})
        return await echoes(request)

    async with serving(issuer) as url:
        config = {
            "id-token": f"e30.{past}.x",
            "refresh-token": "again",
            "client-id": "c",
            "client-secret": "s",
            "idp-issuer-url": url,
        }
        user = {"auth-provider": {"name": "oidc", "config": config}}
        cluster = await load(write(document(url, user)))
        assert (await who_am_i(cluster))["authorization"] == f"Bearer {JWT}"


class Guard:
    """A server that accepts one token."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.refused = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Authorization") == f"Bearer {self.token}":
            return answer({})
        self.refused += 1
        return refusal(401, "Unauthorized")


async def test_a_rejected_token_is_read_again(write: Write) -> None:
    guard = Guard("new")
    token = write("old", "token")
    async with serving(guard) as url:
        cluster = await load(write(document(url, {"tokenFile": "token"})))
        async with Client(cluster, component="test") as client:
            with pytest.raises(Unauthorized):
                await client.get(PODS, "p", "default")
            token.write_text("new")
            await client.get(PODS, "p", "default")
    assert guard.refused == 3


async def test_a_token_file_is_read_again_every_minute_and_when_rejected(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "token"
    path.write_text("one")
    auth = TokenFile(path, clock=lambda: now)
    assert await auth.header(None) == "Bearer one"
    path.write_text("two\n")
    now = 59.0
    assert await auth.header(None) == "Bearer one"
    now = 60.0
    assert await auth.header(None) == "Bearer two"
    path.write_text("three")
    auth.rejected("Bearer one")  # an old request's: nothing new
    assert await auth.header(None) == "Bearer two"
    auth.rejected("Bearer two")
    assert await auth.header(None) == "Bearer three"
    path.unlink()
    now = 200.0
    assert await auth.header(None) == "Bearer three"
    with pytest.raises(ConfigError, match="cannot read the token"):
        await TokenFile(path).header(None)


# ── exec plugins ─────────────────────────────────────────────────────────────────────────────
def plugin(status: Path) -> dict[str, Any]:
    """A user whose plugin prints the status in a file, and counts its runs."""
    program = (
        "import json, sys; from pathlib import Path; status = Path(sys.argv[1]);"
        "runs = status.with_suffix('.runs'); runs.write_text("
        "(runs.read_text() if runs.exists() else '') + '.');"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',"
        "'kind': 'ExecCredential', 'status': json.loads(status.read_text())}))"
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-c", program, str(status)],
        }
    }


@pytest.mark.processes
async def test_an_exec_plugin_gives_a_token_and_is_run_again_after_a_401(
    write: Write, tmp_path: Path
) -> None:
    guard = Guard("first")
    status = write(json.dumps({"token": "first"}), "status")
    async with serving(guard) as url:
        cluster = await load(write(document(url, plugin(status))))
        async with Client(cluster, component="test") as client:
            await client.get(PODS, "p", "default")
            await client.get(PODS, "p", "default")
            guard.token = "second"
            status.write_text(json.dumps({"token": "second"}))
            await client.get(PODS, "p", "default")
    assert guard.refused == 1
    assert (tmp_path / "status.runs").read_text() == ".."


@pytest.mark.processes
async def test_an_exec_plugin_gives_a_certificate_and_renews_it(
    write: Write, authority: Authority
) -> None:
    def certificate(name: str) -> str:
        crt, key = authority.issue(name)
        return json.dumps(
            {"clientCertificateData": crt.read_text(), "clientKeyData": key.read_text()}
        )

    status = write(certificate("first"), "status")
    trusting = {"certificate-authority": "ca.crt"}
    async with serving(echoes, authority.server_context("server", ask_client=True)) as url:
        cluster = await load(write(document(url, plugin(status), trusting)))
        assert (await who_am_i(cluster))["subject"] == "first"
        status.write_text(certificate("second"))
        cluster.auth.rejected(None)
        async with Client(cluster, component="test") as client:
            assert (await client.get(PODS, "p", "default"))["subject"] == "second"


@pytest.mark.processes
async def test_a_failing_exec_plugin_is_a_clear_error(write: Write, tmp_path: Path) -> None:
    missing = plugin(tmp_path / "missing")
    with pytest.raises(ConfigError, match=r"context one: exec: process returned 1"):
        await load(write(document(user=missing)))


@pytest.mark.processes
def test_a_missing_exec_plugin_is_named_with_how_to_get_it(write: Write) -> None:
    async def attempt() -> str:
        with pytest.raises(ConfigError) as failed:
            await load(write(document(user=missing)))
        return str(failed.value)

    missing = plugin(Path("unused"))
    missing["exec"]["command"] = "no-such-plugin"
    missing["exec"]["installHint"] = "see https://example.com"
    for factory in (asyncio.new_event_loop, uvloop.new_event_loop):
        with asyncio.Runner(loop_factory=factory) as runner:
            assert runner.run(attempt()).endswith(
                "context one: exec: cannot run the plugin no-such-plugin: No such file or "
                "directory; see https://example.com"
            )


CREDENTIAL = '"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"'


@pytest.mark.processes
@pytest.mark.parametrize(
    "printed",
    [
        "s3cret",
        f'{{{CREDENTIAL}, "status": "s3cret"}}',
        f'{{{CREDENTIAL}, "status": ["s3cret"]}}',
        f'{{{CREDENTIAL}, "status": {{"tok": "s3cret"}}}}',
        '{"status": {"token": "s3cret"}}',
    ],
)
async def test_what_an_exec_plugin_prints_is_never_shown(
    write: Write, printed: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    user = plugin(Path("unused"))
    user["exec"]["args"] = ["-c", f"print({printed!r})"]
    with pytest.raises(ConfigError, match="context one: ") as failed:
        await load(write(document(user=user)))
    assert "s3cret" not in f"{failed.value} {caplog.text}"


@pytest.mark.processes
async def test_a_token_that_no_header_can_hold_is_no_login(write: Write) -> None:
    status = write(json.dumps({"token": "s3cret\nX-Other: 1"}), "status")
    cluster = await load(write(document(user=plugin(status))))
    async with Client(cluster, component="test") as client:
        with pytest.raises(Unauthorized, match="the token holds a control character"):
            await client.get(PODS, "p", "default")


async def test_who_is_cancelled_while_credentials_are_renewed_ends(write: Write) -> None:
    cluster = await load(write(document(user={"token": "t"})))
    for turns in range(1, 10):
        cluster.auth.rejected("Bearer t")
        asking = asyncio.create_task(cluster.auth.header(None))
        for _ in range(turns):
            await asyncio.sleep(0)
        ended = not asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled() or ended, f"after {turns} turns of the loop it went on"


@pytest.mark.processes
async def test_credentials_that_cannot_be_renewed_look_like_a_401(write: Write) -> None:
    status = write(json.dumps({"token": "t"}), "status")
    async with serving(Guard("other")) as url:
        cluster = await load(write(document(url, plugin(status))))
        status.unlink()
        async with Client(cluster, component="test") as client:
            with pytest.raises(Unauthorized, match="cannot renew the credentials"):
                await client.get(PODS, "p", "default")

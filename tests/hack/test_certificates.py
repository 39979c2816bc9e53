# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The authority's certificates are accepted by a strict reader."""

from __future__ import annotations

import ipaddress
import stat
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from tests.hack.certificates import Authority, Pair, signing_keys


def read(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes())


def test_a_server_certificate_is_valid_for_its_names_and_addresses(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server = read(authority.server("server", ["localhost", "127.0.0.1"]))
    policy = PolicyBuilder().store(Store([read(authority.pair)]))
    policy.build_server_verifier(x509.DNSName("localhost")).verify(server, [])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    policy.build_server_verifier(address).verify(server, [])


def test_a_client_certificate_names_the_user_and_the_groups(tmp_path: Path) -> None:
    client = read(Authority(tmp_path).client("file", "system:x", ["one", "two"]))
    names = {
        oid: [n.value for n in client.subject.get_attributes_for_oid(oid)]
        for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
    }
    assert names[NameOID.COMMON_NAME] == ["system:x"]
    assert sorted(map(str, names[NameOID.ORGANIZATION_NAME])) == ["one", "two"]


def test_private_keys_are_private(tmp_path: Path) -> None:
    pairs = [Authority(tmp_path).pair, signing_keys(tmp_path)]
    assert [stat.S_IMODE(pair.key.stat().st_mode) for pair in pairs] == [0o600, 0o600]

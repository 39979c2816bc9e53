# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for one test control plane: made at start, gone with its directory."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Long enough for a developer who leaves the foreground mode running over a holiday.
LIFETIME = dt.timedelta(days=30)
SERVER = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, in PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs what a control plane needs; elliptic keys, because they take no time to make."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("enbloc-test-ca")
        certificate = (
            _builder(self._name, self._name, self._key.public_key(), self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pair = self._write("ca", certificate, self._key)

    def server(self, file: str, hosts: Sequence[str]) -> Pair:
        """A certificate for a server that is reached under these names and addresses."""
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        return self._sign(file, _name(file), SERVER, names)

    def client(self, file: str, user: str, groups: Sequence[str] = ()) -> Pair:
        """A certificate that Kubernetes reads as this user in these groups."""
        return self._sign(file, _name(user, groups), CLIENT)

    def _sign(
        self, file: str, name: x509.Name, purpose: x509.ObjectIdentifier, *more: x509.ExtensionType
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(name, self._name, key.public_key(), self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )
        for extension in more:
            builder = builder.add_extension(extension, critical=False)
        return self._write(file, builder.sign(self._key, hashes.SHA256()), key)

    def _write(
        self, file: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
    ) -> Pair:
        pair = Pair(self._directory / f"{file}.crt", self._directory / f"{file}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(pair.key, key)
        return pair


def signing_keys(directory: Path) -> Pair:
    """A bare key pair that signs the tokens of service accounts."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Pair(directory / "service-accounts.pub", directory / "service-accounts.key")
    pair.certificate.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    _write_key(pair.key, key)
    return pair


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)


def _name(user: str, groups: Sequence[str] = ()) -> x509.Name:
    # Kubernetes reads the common name as the user and each organisation as a group.
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    issuer_public: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    # Python 3.13 checks strictly by default, and then wants both key identifiers.
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_public), critical=False
        )
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )

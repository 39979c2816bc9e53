# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""TLS of enbloc's servers: a certificate from files, read again on changes, or a self-signed one.

A self-signed certificate and its key are made at the start, in memory.
"""

import datetime as dt
import ipaddress
import logging
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from enbloc.errors import ConfigError

#: The validity of a self-signed certificate, which is replaced after half of it (seconds).
LIFETIME: Final = 365 * 86400.0
#: How far a client's clock may be behind ours (seconds).
SKEW: Final = 86400.0
#: How often the files are checked for changes (seconds).
LOOK_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)

State = tuple[object, ...]


class Certificates:
    """Makes the TLS context of each new connection.

    Args:
        files: of the certificate, followed by those of its issuers, and of its key; None = make a
            self-signed certificate.
        names: the host names and addresses of a self-signed certificate.
        least: the lowest TLS version.
        ciphers: for TLS 1.2, with OpenSSL's names; empty = Python's default.
        clock: Unix seconds.

    Raises:
        ConfigError: the files cannot be used.
    """

    def __init__(
        self,
        files: tuple[Path, Path] | None = None,
        *,
        names: Sequence[str] = ("localhost", "127.0.0.1", "::1"),
        least: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
        ciphers: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._names = names
        self._least = least
        self._ciphers = ciphers
        self._clock = clock
        #: The CAs of client certificates, as PEM; "" = do not ask for client certificates.
        self.client_authorities = ""
        self._known: State = ()
        self._looked = float("-inf")
        self._problem = ""
        self._made = clock()
        self._context = self._new()

    def context(self) -> ssl.SSLContext:
        """The TLS context for a new connection."""
        now = self._clock()
        if not 0 <= now - self._looked < LOOK_SECONDS or self._known[0] != self.client_authorities:
            try:
                if self._state() != self._known:
                    self._context = self._new()
                    logger.info("Serving with a new certificate or new client authorities")
                self._problem = ""
            except ConfigError as error:  # the old certificate stays in use
                if str(error) != self._problem:
                    self._problem = str(error)
                    logger.error("%s; serving with the certificate read before", error)  # noqa: TRY400
            self._looked = now
        return self._context

    def _state(self) -> State:
        """A state whose change means that the context has to be made anew."""
        if self._files is None:
            age = self._clock() - self._made
            return self.client_authorities, int(age // (LIFETIME / 2))
        try:
            stats = [path.stat() for path in self._files]
        except OSError as error:
            raise self._unusable(error) from error
        return self.client_authorities, *((s.st_mtime_ns, s.st_ino, s.st_size) for s in stats)

    def _new(self) -> ssl.SSLContext:
        state = self._state()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.minimum_version = self._least
        context.set_alpn_protocols(["http/1.1"])
        try:
            if self._ciphers:
                context.set_ciphers(":".join(self._ciphers))
        except ssl.SSLError as error:
            raise ConfigError(f"--tls-cipher-suites: {error}") from error
        if self._files is None:
            _load_self_signed(context, self._names, self._clock())
        else:
            try:
                context.load_cert_chain(*self._files)
            except (OSError, ValueError) as error:
                raise self._unusable(error) from error
        if self.client_authorities:
            self._ask_clients(context)
        self._known, self._looked = state, self._clock()
        return context

    def _ask_clients(self, context: ssl.SSLContext) -> None:
        # Any text may stand between certificates, such as their names; Python requires ASCII.
        pem = self.client_authorities.encode("ascii", "replace").decode()
        try:
            context.load_verify_locations(cadata=pem)
        except (ssl.SSLError, ValueError) as error:
            logger.warning("Client certificates are not accepted: the authorities: %s", error)
            return
        context.verify_mode = ssl.CERT_OPTIONAL
        # Cluster CAs often fail the strict RFC 5280 checks that Python 3.13 enables by default.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT

    def _unusable(self, error: Exception) -> ConfigError:
        assert self._files is not None
        certificate, key = self._files
        return ConfigError(
            f"--tls-cert-file {certificate}, --tls-private-key-file {key}: cannot be used: {error}"
        )


def _load_self_signed(context: ssl.SSLContext, names: Sequence[str], now: float) -> None:
    """Make a key and a certificate for these names, and load both.

    Python's ssl only reads files, so they pass through one; in memory, if the system has such.
    """
    pem = b"".join(self_signed(names, now))
    try:
        if hasattr(os, "memfd_create"):
            with os.fdopen(os.memfd_create("enbloc-tls"), "wb") as file:
                file.write(pem)
                file.flush()
                context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        else:
            with tempfile.NamedTemporaryFile(prefix="enbloc-tls-") as file:  # mode 0600
                file.write(pem)
                file.flush()
                context.load_cert_chain(file.name)
    except OSError as error:
        raise ConfigError(
            f"cannot make a self-signed certificate: {error}; pass --tls-cert-file and "
            "--tls-private-key-file, or --secure-port=0"
        ) from error


def self_signed(names: Sequence[str], now: float) -> tuple[bytes, bytes]:
    """A self-signed server certificate for these names, and its key, both as PEM.

    Args:
        names: host names and IP addresses; those that are not ASCII are left out.
        now: Unix seconds.

    Raises:
        ConfigError: the package that makes certificates is not installed.
    """
    # Imported here: not needed with a certificate from files.
    try:
        from cryptography import x509  # noqa: PLC0415
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID  # noqa: PLC0415
    except ImportError as error:  # the kubectl plugin that krew installs does not include it
        raise ConfigError(
            "cannot make a self-signed certificate: the package cryptography is not installed; "
            "pass --tls-cert-file and --tls-private-key-file"
        ) from error

    def general(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    shown = [general(name) for name in names if name.isascii()]

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "enbloc")])
    begin = dt.datetime.fromtimestamp(now - SKEW, dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + dt.timedelta(seconds=SKEW + LIFETIME))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(shown), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )

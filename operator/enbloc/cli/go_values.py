# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Values of flags, in the syntax of Kubernetes' own programs, which are written in Go."""

import math
import ssl
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import click

from enbloc.errors import ConfigError

#: The lowest `--v` that shows debug lines, by Kubernetes' conventions.
DEBUG_LEVEL: Final = 4
_TRUE: Final = frozenset({"1", "t", "true"})
_FALSE: Final = frozenset({"0", "f", "false"})
TLS_VERSIONS: Final[Mapping[str, ssl.TLSVersion]] = {
    "VersionTLS10": ssl.TLSVersion.TLSv1_2,  # older versions are not supported any more
    "VersionTLS11": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
_RSA: Final[Mapping[str, str]] = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "RC4_128_SHA": "RC4-SHA",
}
_ECDHE: Final[Mapping[str, str]] = {
    **_RSA,
    "CHACHA20_POLY1305": "CHACHA20-POLY1305",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
}
#: Go's names of cipher suites for TLS 1.2 → OpenSSL's; its build decides which of them it has.
CIPHERS: Final[Mapping[str, str]] = {
    **{
        f"TLS_ECDHE_{kind}_WITH_{go}": f"ECDHE-{kind}-{name}"
        for kind in ("ECDSA", "RSA")
        for go, name in _ECDHE.items()
    },
    **{f"TLS_RSA_WITH_{go}": name for go, name in _RSA.items()},
}
#: Those of TLS 1.3, which cannot be chosen, as in Go.
_ALWAYS: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)


class _GoBool(click.ParamType[bool]):
    """`--flag`, `--flag=true` or `--flag=false`."""

    name = "true|false"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """Parse the value as Go's strconv.ParseBool does."""
        if isinstance(value, bool):
            return value
        text = str(value).lower()
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        return self._refuse(value, param, ctx)

    def _refuse(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> NoReturn:
        self.fail(f"must be true or false, is {value!r}", param, ctx)


class _Duration(click.ParamType[float]):
    """A Go duration, such as `15s`, `1m30s` or `500ms`; the value is in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the duration into seconds."""
        if isinstance(value, int | float):
            return float(value)
        from enbloc.config.strict import seconds  # noqa: PLC0415  # `--help` needs none of it

        try:
            found: float = seconds(value)
        except ValueError as error:
            self.fail(f"{error}, is {value!r}", param, ctx)
        if found < 0:
            self.fail(f"must not be negative, is {value!r}", param, ctx)
        return found


class _Finite(click.ParamType[float]):
    """A finite number."""

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the number."""
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            self.fail(f"must be a number, is {value!r}", param, ctx)
        return found


class _Level(click.ParamType[int]):
    """`--v=2`, `-v 2`, `-v=2`; `-v` alone is debug."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the level."""
        text = str(value).removeprefix("=")
        if text.strip("v") == "":  # -v, -vv
            return DEBUG_LEVEL
        if not text.isascii() or not text.isdecimal():
            self.fail(f"must be a number, as in --v=2; is {value!r}", param, ctx)
        return int(text[:9])


GO_BOOL: Final = _GoBool()
DURATION: Final = _Duration()
FINITE: Final = _Finite()
LEVEL: Final = _Level()


def ciphers_of(text: str) -> list[str]:
    """OpenSSL's names for a list of Go's cipher suites; those of TLS 1.3 are always on.

    Raises:
        ConfigError: a name is unknown.
    """
    made: list[str] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name in CIPHERS:
            made.append(CIPHERS[name])
        elif name not in _ALWAYS:
            raise ConfigError(
                f"--tls-cipher-suites: unknown cipher suite {name!r}; known: {', '.join(CIPHERS)}"
            )
    return made

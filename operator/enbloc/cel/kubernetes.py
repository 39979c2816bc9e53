# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes adds to CEL: quantities, versions, addresses, optional values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final

from enbloc.cel.texts import text
from enbloc.cel.values import (
    LARGEST,
    NONE,
    Fault,
    Map,
    Optional,
    Prefix,
    Quantity,
    Spend,
    Uint,
)
from enbloc.cel.versions import SemanticVersion, exact

_Address = IPv4Address | IPv6Address
_NO_OVERLOAD: Final = "no such overload"
#: Characters, and a little more.
_LONGEST_ADDRESS: Final = 64
_BROADCAST: Final = IPv4Address("255.255.255.255")


def _ordered(a: Any, b: Any) -> int:
    if type(a) is Quantity and type(b) is Quantity:
        return (a.value > b.value) - (a.value < b.value)
    if type(a) is SemanticVersion and type(b) is SemanticVersion:
        return a.compare(b)
    raise Fault(_NO_OVERLOAD)


def is_greater(a: Any, b: Any) -> bool:
    """Of two quantities or two versions."""
    return _ordered(a, b) > 0


def is_less(a: Any, b: Any) -> bool:
    """Of two quantities or two versions."""
    return _ordered(a, b) < 0


def compare_to(a: Any, b: Any) -> int:
    """-1, 0 or 1 of two quantities or two versions."""
    return _ordered(a, b)


def quantity(given: Any) -> Quantity:
    """The quantity of a string."""
    text(given)
    try:
        return Quantity(exact(given))
    except ValueError as error:
        raise Fault(str(error)) from None


def _amount(value: Any) -> Fraction:
    if type(value) is not Quantity:
        raise Fault(_NO_OVERLOAD)
    return value.value


def add(a: Any, b: Any) -> Quantity:
    """A quantity and a quantity or an int."""
    return Quantity(_amount(a) + (b if type(b) is int else _amount(b)))


def sub(a: Any, b: Any) -> Quantity:
    """A quantity less a quantity or an int."""
    return Quantity(_amount(a) - (b if type(b) is int else _amount(b)))


def sign(value: Any) -> int:
    """-1, 0 or 1."""
    amount = _amount(value)
    return (amount > 0) - (amount < 0)


def is_integer(value: Any) -> bool:
    """Whether it is whole and within 64 bits."""
    amount = _amount(value)
    return amount.denominator == 1 and -LARGEST - 1 <= amount.numerator <= LARGEST


def as_integer(value: Any) -> int:
    """The quantity as an int."""
    if not is_integer(value):
        raise Fault("cannot convert value to integer")
    return int(_amount(value))


def as_float(value: Any) -> float:
    """The quantity as a double."""
    return float(_amount(value))


def semver(given: Any, normalize: Any = False) -> SemanticVersion:
    """The version of a string; with `normalize` also of "v1.2"."""
    text(given)
    if type(normalize) is not bool:
        raise Fault(_NO_OVERLOAD)
    try:
        return SemanticVersion.normalized(given) if normalize else SemanticVersion.parse(given)
    except ValueError as error:
        raise Fault(str(error)) from None


def number_of(name: str) -> Callable[[Any], int]:
    """`major`, `minor` or `patch` of a version."""

    def pick(version: Any) -> int:
        if type(version) is not SemanticVersion:
            raise Fault(_NO_OVERLOAD)
        return int(getattr(version, name))

    return pick


def valid(read: Callable[..., Any]) -> Callable[..., bool]:
    """Whether `read` accepts the string."""

    def check(given: Any, *more: Any) -> bool:
        text(given)
        try:
            read(given, *more)
        except Fault:
            return False
        return True

    return check


def address(given: Any) -> Any:
    """The address of a string, or of a network."""
    if type(given) is Prefix:
        raise Fault(_NO_OVERLOAD)
    text(given)
    try:
        found = ip_address(given[:_LONGEST_ADDRESS])
    except ValueError:
        raise Fault(
            f'IP Address "{given[:80]}" parse error during conversion from string'
        ) from None
    if isinstance(found, IPv6Address):
        if found.scope_id is not None:
            raise Fault(f'IP address "{given[:80]}" with zone value is not allowed')
        if found.ipv4_mapped is not None:
            raise Fault(f'IPv4-mapped IPv6 address "{given[:80]}" is not allowed')
    return found


def cidr(given: Any) -> Prefix:
    """The network of a string such as "10.0.0.1/8"."""
    text(given)
    host, slash, bits = given.partition("/")
    plain = bits.isascii() and bits.isdigit() and (bits == "0" or not bits.startswith("0"))
    if not slash or not plain or len(bits) > 3:
        raise Fault("network address parse error during conversion from string")
    found = address(host)
    if int(bits) > found.max_prefixlen:
        raise Fault("network address parse error during conversion from string")
    return Prefix(found, int(bits))


def _of_address(value: Any) -> _Address:
    if not isinstance(value, (IPv4Address, IPv6Address)):
        raise Fault(_NO_OVERLOAD)
    return value


def _of_prefix(value: Any) -> Prefix:
    if type(value) is not Prefix:
        raise Fault(_NO_OVERLOAD)
    return value


def family(value: Any) -> int:
    """4 or 6."""
    return _of_address(value).version


def is_canonical(given: Any) -> bool:
    """Whether the string is how the address is written."""
    return str(address(given)) == given


def is_unspecified(value: Any) -> bool:
    """0.0.0.0 or ::."""
    return _of_address(value).is_unspecified


def is_loopback(value: Any) -> bool:
    """127.0.0.0/8 or ::1."""
    return _of_address(value).is_loopback


def is_link_local_multicast(value: Any) -> bool:
    """224.0.0.0/24 or ff02::/16, with any flags."""
    found = _of_address(value)
    if found.version == 4:
        return int(found) >> 8 == 0xE00000
    return found.is_multicast and (int(found) >> 112) & 0xF == 2


def is_link_local_unicast(value: Any) -> bool:
    """169.254.0.0/16 or fe80::/10."""
    return _of_address(value).is_link_local


def is_global_unicast(value: Any) -> bool:
    """Neither unspecified, loopback, multicast, link-local nor the broadcast address."""
    found = _of_address(value)
    return not (
        found.is_unspecified
        or found.is_loopback
        or found.is_multicast
        or found.is_link_local
        or found == _BROADCAST
    )


def prefix_address(value: Any) -> _Address:
    """The address of a network as it was written."""
    return _of_prefix(value).address


def prefix_length(value: Any) -> int:
    """How many bits count."""
    return _of_prefix(value).bits


def masked(value: Any) -> Prefix:
    """The network with its host bits clear."""
    prefix = _of_prefix(value)
    network = ip_network((prefix.address, prefix.bits), strict=False)
    return Prefix(network.network_address, prefix.bits)


def _covers(prefix: Prefix, one: _Address) -> bool:
    drop = prefix.address.max_prefixlen - prefix.bits
    return one.version == prefix.address.version and (
        int(one) >> drop == int(prefix.address) >> drop
    )


def contains_ip(value: Any, one: Any) -> bool:
    """Whether the address, or that of a string, is in the network."""
    prefix = _of_prefix(value)
    return _covers(prefix, address(one) if type(one) is str else _of_address(one))


def contains_cidr(value: Any, one: Any) -> bool:
    """Whether the network, or that of a string, is a part of this one."""
    prefix = _of_prefix(value)
    other = cidr(one) if type(one) is str else _of_prefix(one)
    return prefix.bits <= other.bits and _covers(prefix, other.address)


def some(value: Any) -> Optional:
    """An optional that has the value."""
    return Optional(value, present=True)


def some_unless_zero(value: Any) -> Optional:
    """An optional that has the value unless it is its type's zero."""
    empty = (
        value is None
        or (type(value) in (bool, int, float, str, bytes, list) and not value)
        or (type(value) is Map and not value.entries)
        or value == Uint(0)
    )
    return NONE if empty else some(value)


def nothing() -> Optional:
    """An empty optional."""
    return NONE


def _optional(value: Any) -> Optional:
    if type(value) is not Optional:
        raise Fault(_NO_OVERLOAD)
    return value


def has_value(value: Any) -> bool:
    """Whether the optional has one."""
    return _optional(value).present


def value_of(value: Any) -> Any:
    """The optional's value."""
    if not _optional(value).present:
        raise Fault("optional.none() dereference")
    return value.value


def unwrapped(spend: Spend, values: Any) -> list[Any]:
    """The values of those optionals of a list that have one."""
    if type(values) is not list:
        raise Fault(_NO_OVERLOAD)
    spend(len(values) // 2)
    return [one.value for one in map(_optional, values) if one.present]

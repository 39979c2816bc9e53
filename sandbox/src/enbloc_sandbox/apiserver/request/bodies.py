# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Request bodies to documents: JSON, YAML, and the few protobuf messages that kubectl sends."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import yaml

from enbloc_sandbox.apiserver.request import protobuf
from enbloc_sandbox.apiserver.status import bad_request, unsupported_body
from enbloc_sandbox.apiserver.storage.store import decode

_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"


class _Loader(yaml.CSafeLoader):
    """YAML in which a time stays the text that it is."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def media_type(content_type: str) -> str:
    """The media type without parameters; JSON when there is none."""
    return content_type.partition(";")[0].strip() or "application/json"


def read(data: bytes, content_type: str) -> dict[str, Any]:
    """The object in a body; Refused 400 when it is none, 415 for other media types."""
    media = media_type(content_type)
    if media == _PROTOBUF:
        return protobuf.read(data)
    document = read_json(data) if media == "application/json" else None
    if media in {"application/yaml", "application/apply-patch+yaml"}:
        document = read_yaml(data)
    elif media != "application/json":
        raise unsupported_body(
            f"the body of the request was in an unknown format - accepted media types include: "
            f"application/json, application/yaml, {_PROTOBUF}"
        )
    if not isinstance(document, dict):
        raise bad_request("the body of the request is not an object")
    return document


def read_json(data: bytes) -> Any:
    """Any JSON value; Refused 400."""
    try:
        return decode(data)
    except msgspec.DecodeError as error:
        raise bad_request(f"the body of the request is not JSON: {error}") from None


def read_yaml(data: bytes) -> Any:
    """Any YAML value; Refused 400."""
    try:
        # Loader is a SafeLoader: it makes plain values only.
        return yaml.load(data, Loader=_Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise bad_request(f"the body of the request is not YAML: {error}") from None

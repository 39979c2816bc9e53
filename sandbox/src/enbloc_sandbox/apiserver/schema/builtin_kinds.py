# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds: their resources, columns and schemas, as a kube-apiserver gave them."""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).with_name("builtins.json.xz")


@cache
def builtins() -> dict[str, Any]:
    """What `hack/distil_schemas.py` copied from a kube-apiserver. Shared: treat as frozen.

    `version` is the document at /version; `resources` maps a group version to the entries of its
    discovery document, with the columns of their tables; `definitions` are OpenAPI v3 schemas.
    """
    return json.loads(lzma.decompress(_FILE.read_bytes()))

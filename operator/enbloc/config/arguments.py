# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of plugins: upstream's for in-tree plugins, the plugin's own fields for others.

Source: kube-scheduler v1.36 pkg/scheduler/apis/config/types_pluginargs.go.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from enbloc.config.argument_models import MODELS, Args
from enbloc.config.documents import WHERE, stamped
from enbloc.config.findings import Findings
from enbloc.config.models import GROUP
from enbloc.config.outside import outside_fields
from enbloc.config.strict import decode
from enbloc.config.wanted import Arguments
from enbloc.framework.registry import Factory
from enbloc.model.text import quoted

_TYPE_FIELDS: Final = ("apiVersion", "kind")
_VERSIONS: Final = ("v1", "v1beta3", "v1beta2", "v1beta1")


def decoded(
    name: str, factory: Factory, arguments: Arguments, findings: Findings
) -> Mapping[str, Any] | None:
    """The fields of a plugin from its arguments; None if problems were noted."""
    if name not in MODELS:
        return outside_fields(factory, arguments, findings)
    before = len(findings.problems)
    model = read(name, arguments, findings)
    model.check(findings)
    return model.fields() if len(findings.problems) == before else None


def read(name: str, arguments: Arguments, findings: Findings) -> Args:
    """The arguments of an in-tree plugin, decoded and with its defaults."""
    given = arguments.given
    api_version, kind = given.get("apiVersion"), given.get("kind")
    if kind is not None and kind != f"{name}Args":
        findings.problem(f"{arguments.where}.kind", f'must be "{name}Args", is {_shown(kind)}')
    if api_version is not None and api_version not in [f"{GROUP}/{each}" for each in _VERSIONS]:
        text = f'must be "{GROUP}/v1", is {_shown(api_version)}'
        findings.problem(f"{arguments.where}.apiVersion", text)
    data = stamped(_written(given), arguments.where)
    return decode(MODELS[name], {**data, WHERE: arguments.where}, findings)


def _shown(value: Any) -> str:
    return quoted(value if isinstance(value, str) else json.dumps(value, default=str))


def _written(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without the keys that only identify their type."""
    return {key: value for key, value in given.items() if key not in _TYPE_FIELDS}

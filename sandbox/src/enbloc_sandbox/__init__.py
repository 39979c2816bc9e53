# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A local API server with fake nodes, for the demo, the tests and plugin authors.

Who lives here: `apiserver`, an API server in this process; `nodes`, clients that make a cluster of
any API server; `together`, which runs both. The two know each other by HTTP only, so that the
clients run unchanged against a real kube-apiserver.

Also here: `demo`, which shows two gangs on a sandbox. It is a distribution of its own, and the
image of the servers does not carry it.

What may be touched from outside: the names below, `together`, and what `nodes` exports.
"""

from enbloc_sandbox.apiserver import Faults, Sandbox, load_crds, resource_names

__all__ = ["Faults", "Sandbox", "load_crds", "resource_names"]

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A local API server with fake nodes, for the demo, the tests and plugin authors.

What may live here: the embedded API server (`Sandbox`), which knows no client, and clients that
make a cluster of it (kubelet, controllers), which reach it by HTTP only, so that they run
unchanged against a real one. Nothing outside `demo` and `cli` imports this package.
"""

from enbloc.sandbox.faults import Faults
from enbloc.sandbox.server import Sandbox, load_crds, serve

__all__ = ["Faults", "Sandbox", "load_crds", "serve"]

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An API server in this process: what kube-apiserver does, as far as a scheduler can see it.

Who lives here, from the outside in (each imports only what stands after it):

* `server` - one server: start, stop, kubeconfig; it attaches the `garbage_collector`
* `http` - requests and answers: lists, watches, tables, discovery, OpenAPI; `faults` on order
* `verbs` - create, read, change (patch, apply), delete; binding, eviction, scale
* `kinds` - what each kind adds to them: defaults, admission, rules
* `request` - what a request asks for: its target, its options, its body
* `storage` - the served resources, their objects and history, selection
* `schema` - what documents look like: built-in kinds, custom kinds, metadata
* `status` - refusals, in the words of kube-apiserver

The garbage collector (with the namespace controller) is here and not among the nodes' clients: it
works on the store between two requests, so that a server without nodes cleans up, too.

What may be touched from outside: the names below.
"""

from enbloc_sandbox.apiserver.faults import Faults
from enbloc_sandbox.apiserver.server import Sandbox, load_crds, resource_names

__all__ = ["Faults", "Sandbox", "load_crds", "resource_names"]

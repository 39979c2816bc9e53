# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What acts on objects, as kubelets and the controllers of kube-controller-manager do.

Who lives here: the kubelet of many fake nodes; controllers of nodes, of pods of lost nodes, of Jobs
and of disruption budgets, beside the pure modules that decide for them (`jobs`, `room`, …). All are
plain clients: nothing here imports the API server.

What may be touched from outside: the names below.
"""

from enbloc.sandbox.nodes.controllers import UNATTENDED, ControllerPace, run_controllers
from enbloc.sandbox.nodes.kubelet import Kubelet, Pace
from enbloc.sandbox.nodes.objects import Object
from enbloc.sandbox.nodes.shapes import GPU, Shape, default_shapes, read_trace

__all__ = [
    "GPU",
    "UNATTENDED",
    "ControllerPace",
    "Kubelet",
    "Object",
    "Pace",
    "Shape",
    "default_shapes",
    "read_trace",
    "run_controllers",
]

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What acts on objects, as kubelets and the controllers of kube-controller-manager do.

Who lives here: the kubelet of many fake nodes; controllers of nodes, of pods of lost nodes, of Jobs
and of disruption budgets, beside the pure modules that decide for them (`jobs`, `room`, …); in
`claims` what concerns volumes and devices. All are plain clients: nothing here imports the API
server.

What may be touched from outside: the names below.
"""

from enbloc_sandbox.nodes.claims.device_driver import DEVICE_DRIVER, DeviceDriver
from enbloc_sandbox.nodes.claims.provisioner import DISK_DRIVER, Provisioner
from enbloc_sandbox.nodes.controllers import UNATTENDED, ControllerPace, run_controllers
from enbloc_sandbox.nodes.kubelet import Kubelet, Pace
from enbloc_sandbox.nodes.objects import Object
from enbloc_sandbox.nodes.shapes import GPU, Shape, default_shapes, read_trace

__all__ = [
    "DEVICE_DRIVER",
    "DISK_DRIVER",
    "GPU",
    "UNATTENDED",
    "ControllerPace",
    "DeviceDriver",
    "Kubelet",
    "Object",
    "Pace",
    "Provisioner",
    "Shape",
    "default_shapes",
    "read_trace",
    "run_controllers",
]

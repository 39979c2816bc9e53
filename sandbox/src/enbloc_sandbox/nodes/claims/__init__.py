# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Claims for storage and devices: their controllers, a provisioner and a device driver.

Who lives here: the controllers of volumes and of resource claims, as kube-controller-manager has
them, a provisioner and a device driver that own nothing but names, and what a kubelet waits for
before it starts a pod. Pure modules (`volumes`, `devices`, `of_pods`) say what is to change, the
others carry it out. All are plain clients, and run against a real API server too.
"""

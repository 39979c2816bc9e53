# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reads: what a plugin's answer depends on, and so when it goes stale."""

import enum


class Reads(enum.Enum):
    """Declared by every filter and score plugin instead of incremental callbacks.

    SPEC: only the node object. Asked once per class of pods, valid until a node object changes.
    NODE: also the pods on that node. Asked again for the rows on which a pod was placed.
    CLUSTER: pods anywhere. `evaluator.placed(row)` is called after each placement, then the
        whole answer is computed again.

    The law behind SPEC and NODE is row-wise:
    `plugin.filter(pod, nodes)[rows] == plugin.filter(pod, nodes.take(rows))`, also where a row is
    there more than once: the engine asks so what a node would be with one, two or more pods.
    """

    SPEC = "spec"
    NODE = "node"
    CLUSTER = "cluster"

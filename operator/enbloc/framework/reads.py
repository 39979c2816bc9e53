# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reads: what a plugin's answer depends on, which says when it goes stale."""

import enum


class Reads(enum.Enum):
    """What the answer of a filter or score plugin depends on; each declares it as `reads`.

    SPEC: only the node object. Asked once per class of pods, valid until a node object changes.
        NODE: the pods on that node, too. Asked again for the rows on which a pod was placed.
        CLUSTER: pods anywhere. `evaluator.placed(pod, row)` is called after each placement, then
        the whole answer is computed again.

    Answers that read SPEC or NODE must be row-wise: `plugin.filter(pod, nodes)[rows] ==
    plugin.filter(pod, nodes.take(rows))`, even if a row occurs more than once: this is how the
    engine asks about a node with one, two or more further pods.
    """

    SPEC = "spec"
    NODE = "node"
    CLUSTER = "cluster"

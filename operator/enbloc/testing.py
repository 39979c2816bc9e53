# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""For plugin authors' tests: the contract as properties (extra `testing`)."""

from enbloc.framework.testing import check_plugin, pod_specs, pods, table, tables

__all__ = ["check_plugin", "pod_specs", "pods", "table", "tables"]

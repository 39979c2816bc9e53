# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Devices: what drivers publish, what claims ask for, who has what, and what could be had.

`facts` are the objects of resource.k8s.io; `pools` and `demand` say which devices of a pool serve a
claim; `search` finds devices for claims; `table` combines all of it with a ledger, and is what the
rest of the scheduler uses.
"""

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Schedulers on a real API server, beside what a bare client reaches on it in the same run.

Each run of a case has etcd and a kube-apiserver of its own, without an audit log. Whoever asks
them for something is a process of its own, so that the CPU time of each is known: the bare client
(client.py), the one that notes when pods are bound (watcher.py), and the scheduler.
"""

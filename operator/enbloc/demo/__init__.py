# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is made of several shells at once: both servers in one process, and the demo.

What may live here: code that needs the scheduler, the controller and the sandbox together. No
logic of theirs, and nothing that they import.
"""

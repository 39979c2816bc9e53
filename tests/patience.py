# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long a test waits for what must come, however busy the machine is."""

from typing import Final

#: Seconds; no test is judged by how much of it was needed.
PATIENCE: Final = 60.0

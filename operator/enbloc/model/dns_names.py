# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Names as the API takes them: RFC 1123 labels and subdomains."""

import re
from typing import Final

#: At most 63 characters.
LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
#: Of any length; the API takes 253 characters.
SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
#: The longest name of an object, in characters.
LONGEST_NAME: Final = 253

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m enbloc`: the command line without an installed script."""

import sys

from enbloc.start import main

if __name__ == "__main__":
    sys.exit(main())

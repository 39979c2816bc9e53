# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kopf, imported without the client library whose objects it also supports.

enbloc passes it no such objects, and importing the library costs 0.15 s and 47 MiB.
"""

import sys
from typing import Final

_LIBRARY: Final = "kubernetes"

if _LIBRARY in sys.modules:
    import kopf
else:
    sys.modules[_LIBRARY] = None  # type: ignore[assignment]  # an import of it raises ImportError
    try:
        import kopf
    finally:
        del sys.modules[_LIBRARY]

__all__ = ["kopf"]

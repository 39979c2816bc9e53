# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A plugin of a user's: notes which pods it was asked about, and which were bound."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from enbloc import Api, Pod, Reads, Snapshot, Target


@dataclass(frozen=True)
class Sample:
    """Writes a diary."""

    name: ClassVar[str] = "Sample"
    reads: ClassVar[Reads] = Reads.SPEC
    diary: str

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> None:
        """Note the pod, and let every node be."""
        del snapshot
        self._note(f"preFilter {pod.key.name}")

    async def post_bind(self, target: Target, api: Api) -> None:
        """Note where it went."""
        del api
        self._note(f"postBind {target.pod.name} {target.node}")

    def _note(self, line: str) -> None:
        with Path(self.diary).open("a", encoding="utf-8") as diary:
            diary.write(line + "\n")

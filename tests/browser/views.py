# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The views that a browser is shown: one row for each."""

from dataclasses import dataclass
from typing import Final

from tests.browser.chromium import Tab


@dataclass(frozen=True, slots=True)
class Shown:
    """One view of the recorded cluster.

    Attributes:
        name: of the view; that of its picture in the documentation, too.
        path: its address.
        heading: of the page.
        says: texts on it.
        folds: whether there is an explanation to fold out.
        opens: in the row of which link; "" = there is but one.
    """

    name: str
    path: str
    heading: str
    says: tuple[str, ...]
    folds: bool = False
    opens: str = ""

    async def unfold(self, tab: Tab) -> None:
        """Open the explanation, if it has one, and wait until it is there."""
        if not self.folds:
            return
        part = tab.page.locator("main")
        if self.opens:
            link = tab.page.get_by_role("link", name=self.opens)
            part = tab.page.locator("tr").filter(has=link)
        summary = part.locator("details[data-load] > summary")
        if await summary.count():  # else it is known already, and shown at once
            await summary.click()
        await part.locator("section h2").wait_for()


VIEWS: Final = (
    Shown(
        "queue",
        "/",
        "Queue",
        ("6 groups and pods wait", "4 of 6 members exist", "as users expect"),
        folds=True,
        opens="segment",
    ),
    Shown(
        "nodes", "/nodes", "Nodes", ("cordoned: 1", "not ready: 1", "20 nodes by topology racks")
    ),
    Shown("time", "/time", "Time", ("8 groups and pods that run or start", "now, 09:")),
    Shown(
        "group",
        "/groups/speech/diarize",
        "Group speech/diarize",
        ("It is number 3 in the order.", "diarize-2", "History", "What if"),
        folds=True,
    ),
)
#: Further pages, to which these lead.
OTHERS: Final = (
    Shown("explanation", "/groups/vision/hotfix/explanation", "What would make", ("it evicts",)),
    Shown("running", "/groups/vision/detector", "Group vision/detector", ("It does not wait.",)),
    Shown("found", "/?namespace=speech&name=ali", "Queue", ("1 group or pod waits", "align")),
    Shown("nobody", "/?name=none", "Queue", ('Nobody of a name with "none" in it waits',)),
    Shown(
        "block",
        "/nodes?rack=r2&shape=g8.24xlarge%3A+96+CPUs%2C+768Gi%2C+8+nvidia.com%2Fgpu",
        "Nodes: r2",
        ("gpu-r2-5", "All nodes"),
    ),
)

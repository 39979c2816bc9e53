# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Leader election on a Lease, with a fence that trusts no wall clock.

::

    STANDBY ──lease free, released, or unchanged for its duration by our clock──► LEADING
       ▲                                                                            │
       └── run() has ended: released, or LeaseLost  ◄── work done, or not renewed ──┘
           (`terms` begins anew after the latter)       within renew_deadline, or
                                                        a rival leads

A rival (`rivals`) has another Lease and must not lead at the same time: a process that sees a rival
does not lead, and a leader that sees one stops.

``holds()`` is true until renew_deadline after the last successful renewal *was sent*: every write
is checked against it, and a write takes at most duration − renew_deadline (`write_seconds`).
"""

import asyncio
import logging
import math
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from enbloc.client.client import Client
from enbloc.client.clock import boot_clock
from enbloc.client.errors import (
    APIError,
    Conflict,
    Forbidden,
    NotFound,
    Unreachable,
    readable,
)
from enbloc.client.lease_objects import (
    LONGEST,
    MOST_TRANSITIONS,
    SHOWN,
    LeaseMetadata,
    LeaseSpec,
    follows,
)
from enbloc.client.lease_owner import owner_reference
from enbloc.client.paths import LEASES
from enbloc.client.rivals import PATIENCE, Rivals
from enbloc.client.transport import WRITE_SECONDS
from enbloc.errors import ConfigError, EnblocError
from enbloc.model.text import clipped, printable
from enbloc.model.times import micro_time_text
from enbloc.telemetry import metrics

logger = logging.getLogger(__name__)

#: The longest time that a leader may take to notice that its Lease has expired (seconds).
SLACK: Final = 20.0
#: A margin (seconds): another's Lease is read again this long after it expires, and ours is not
#: renewed in its last moments of this length.
MOMENT: Final = 0.05
#: How often a release of the Lease is tried if a renewal in flight changes it meanwhile.
RELEASE_TRIES: Final = 3
#: The longest look for rivals of a leader (seconds): it lists several times, 30 s each at most.
LOOK_SECONDS: Final = 120.0


class _Lease(msgspec.Struct):
    """The fields read of our Lease, which has a spec; writes keep all other fields."""

    metadata: LeaseMetadata
    spec: LeaseSpec


class LeaseLost(EnblocError):  # noqa: N818  # what happened, not a fault
    """Leadership ended before the work did."""


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """How long each part of an election takes (seconds); duration > renew_deadline > 1.2 × retry.

    Attributes:
        duration: others may take a Lease that was not renewed for this long.
        renew_deadline: a leader stops if it could not renew for this long.
        retry: the pause between two tries, times a jitter of 0.8 to 1.2.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > 1.2 * self.retry > 0:
            raise ConfigError(
                f"leader election: the lease duration ({self.duration:g} s) must be above the "
                f"renew deadline ({self.renew_deadline:g} s), and that above 1.2 × the retry "
                f"period ({self.retry:g} s); set them in the configuration (leaderElection) or "
                "with --leader-elect-lease-duration, --leader-elect-renew-deadline and "
                "--leader-elect-retry-period"
            )

    @property
    def write_seconds(self) -> float:
        """The time limit of a leader's writes: the last one ends before another may lead."""
        return min(WRITE_SECONDS, self.duration - self.renew_deadline)


@dataclass(slots=True)
class OtherHolder:
    """What a process remembers of another holder of its Lease, from one term to the next.

    Attributes:
        state: holder and renewal as the Lease said last; None = it said nothing of another since
            it was ours.
        since: when it said that first, on the clock of the Elector.
        lasting: how long the Lease of the other holder seen last lasts, seconds.
        transitions: its leaseTransitions.
    """

    state: tuple[str, str | None] | None = None
    since: float = float("-inf")
    lasting: float = 0.0
    transitions: int = 0


def identity_of(pod_name: str) -> str:
    """A holder identity: the pod's name with a suffix that no earlier process has."""
    return f"{pod_name}_{uuid.uuid4()}"


class Elector:
    """One candidate for one Lease.

    Args:
        client: the API, not fenced.
        namespace: of the Lease; must exist.
        name: of the Lease.
        identity: ours.
        timing: see LeaseTiming.
        clock: monotonic seconds.
        report: called with each new problem, and with None when it is over.
        rivals: finds other schedulers that must not lead too; None = do not look.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        timing: LeaseTiming | None = None,
        clock: Callable[[], float] = boot_clock,
        report: Callable[[str | None], None] = lambda _: None,
        rivals: Rivals | None = None,
    ) -> None:
        #: Called after each failed try to take the Lease; may be set before `run`.
        self.tried: Callable[[], None] = lambda: None
        #: Who else was seen to hold the Lease; may be set to that of an earlier term before `run`.
        self.other = OtherHolder()
        #: Until when writes may be sent, on ``clock``.
        self.valid_until: float = float("-inf")
        #: leaseTransitions of the lease we hold: one number per term of leadership.
        self.epoch = 0
        #: When the Lease became ours, on ``clock``; nobody else writes since.
        self.since = math.inf
        #: Who holds it, as last seen.
        self.holder = ""
        #: Whether nobody else has held it since the first read: we continue our own term.
        self.unbroken = True
        #: Why the last try failed; None while tries succeed.
        self.last_error: APIError | None = None
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._timing = timing or LeaseTiming()
        self._clock = clock
        self._report = report
        self._rivals = rivals
        #: Set when the Lease was not as we had left it, and is written again.
        self._rewritten = asyncio.Event()
        self._lease: dict[str, Any] | None = None
        self._may_own = True
        self._left = math.inf
        #: Whether the work is under way; and whether `holds` was false meanwhile.
        self._leads = self._fenced = False

    def holds(self) -> bool:
        """Whether a write sent now takes effect before anybody else may lead.

        Once a leader was told no, its term is over, even if a renewal under way succeeds: a write
        that was not sent is not sent later, so what waits for its outcome would wait for ever.
        """
        if self._clock() < self.valid_until and not self._fenced:
            return True
        self._fenced = self._leads
        return False

    def healthy(self) -> bool:
        """False if this still leads long after its Lease expired, as in client-go's `Check`."""
        slack = self._timing.duration - self._timing.renew_deadline + SLACK
        return self.valid_until == float("-inf") or self._clock() < self.valid_until + slack

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, do the work while holding it, release it.

        Cancelling ``run`` cancels the work and releases the Lease.

        Raises:
            LeaseLost: the Lease could not be renewed in time, or is another's, or a rival leads;
                the work was cancelled.
            ConfigError: the namespace of the Lease does not exist.
        """
        leading = metrics.LEADER.labels(self._name)
        leading.set(0)
        while (renewing := await self._acquired()) is None:
            self.tried()
            await self._pause(self._left + MOMENT)
        leading.set(1)
        self.since = self._clock()
        self._leads = True
        task = asyncio.ensure_future(work())
        looking = asyncio.ensure_future(self._rival())
        stop_within: float | None = None
        landing = 0.0
        try:
            await asyncio.wait({task, renewing, looking}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                stop_within = self._timing.duration - self._timing.renew_deadline
                self.valid_until = float("-inf")  # no more writes, whoever holds the Lease now
                self._fenced = True  # and even if a renewal under way succeeds
                if not renewing.done():
                    rival, landing = looking.result(), stop_within
                    raise LeaseLost(f"gave back the Lease {self._namespace}/{self._name}: {rival}")
                renewing.result()
                raise LeaseLost(f"lost the Lease {self._namespace}/{self._name}: {self._why()}")
            task.result()
        finally:
            # Renewals go on during a graceful stop. A Lease that is given back is free at once, and
            # what was sent must have landed by then.
            await asyncio.gather(_cancelled(task, stop_within), asyncio.sleep(landing))
            await asyncio.gather(_cancelled(renewing, None), _cancelled(looking, None))
            leading.set(0)
            if stop_within is None or landing:
                await self._release(in_vain=landing > 0)

    def _why(self) -> str:
        if self.holder != self._identity:
            return f"{clipped(printable(self.holder), SHOWN) or 'nobody'} holds it"
        late = self.last_error or "a renewal came too late"
        return f"not renewed for {self._timing.renew_deadline} s ({late})"

    async def _pause(self, at_most: float = math.inf) -> None:
        await asyncio.sleep(min(_jittered(self._timing.retry), at_most))

    async def _renew(self) -> None:
        """Renew until that fails for too long, or another holds the Lease.

        It stops MOMENT before the end: waits shorter than a clock resolves would repeat endlessly.
        """
        while (left := self.valid_until - self._clock()) > MOMENT and self.holder == self._identity:
            if self._fenced:
                return
            await self._pause(left)
            left = self.valid_until - self._clock()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(left, WRITE_SECONDS))):
                    await self._try()

    async def _rival(self) -> str:
        """Look for rivals while we lead; what to say of one, once it is seen to lead too.

        A look that fails or takes long costs nothing but another one soon.
        """
        if self._rivals is None:
            never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            return await never
        soon = False
        while True:
            pause = self._timing.retry if soon else PATIENCE * self._timing.duration
            with suppress(TimeoutError):
                async with asyncio.timeout(_jittered(pause)):
                    await self._rewritten.wait()
            self._rewritten.clear()
            soon = True
            with suppress(APIError, TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    rival = await self._rivals.lead_too()
                if rival is not None and rival.leads:
                    return rival.told
                soon = rival is not None

    async def _acquired(self) -> asyncio.Task[None] | None:
        """Take the Lease, and release it if a rival leads; what renews it, if we lead now.

        It is renewed while we look: that takes long if the API server answers slowly.
        """
        if not await self._try(first=True):
            return None
        self._rewritten.clear()  # we look now
        renewing = asyncio.ensure_future(self._renew())
        looking = asyncio.ensure_future(self._rivalled())
        leads = False
        try:
            await asyncio.wait({renewing, looking}, return_when=asyncio.FIRST_COMPLETED)
            if renewing.done():
                renewing.result()
            else:
                leads = not looking.result()
        except APIError as error:
            self._note(error)
        finally:
            if not leads:
                await asyncio.gather(_cancelled(renewing, None), _cancelled(looking, None))
                await self._release(in_vain=True)
        return renewing if leads else None

    async def _rivalled(self) -> bool:
        """Whether a rival leads.

        Raises:
            APIError: the Leases cannot be read.
        """
        return self._rivals is not None and await self._rivals.lead()

    async def _try(self, *, first: bool = False) -> bool:
        """Take or renew the Lease once; False if that did not succeed.

        Args:
            first: we do not lead yet, so the Lease is not taken while a rival leads.
        """
        lease, self._lease = self._lease, None  # read it again unless this try succeeds
        reads = lease is None
        self._left = math.inf
        try:
            if lease is None:
                if self._leads:
                    metrics.LEADER_SLOWPATH.labels(self._name).inc()
                lease = await self._read()
            if not self._may_take(lease.get("spec") or {}):
                if self._rivals is not None:
                    self._rivals.compare(lease)
                return False
            if first and await self._rivalled():
                return False
            sent = self._clock()
            claim = self._claim(lease.get("spec") or {})
            self._lease = await self._write(lease, claim)
        except APIError as error:
            self._note(error)
            return False
        self._note(None)
        if reads:
            self._rewritten.set()
        self.holder = self._identity
        self.epoch = claim["leaseTransitions"]
        self.valid_until = sent + self._timing.renew_deadline
        self.other.state = None
        return True

    async def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await self._client.get(LEASES, self._name, self._namespace)
        except NotFound as missing:
            if missing.resource_missing:  # from a proxy: every API server has Leases
                raise
            metadata = {"name": self._name, "namespace": self._namespace}
            return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}
        return _checked("get", found)

    async def _write(
        self, lease: dict[str, Any], spec: dict[str, Any], *, in_vain: bool = False
    ) -> dict[str, Any]:
        """Create or replace the Lease, if it is still in the state that was read."""
        # The server keeps managedFields itself, and they may nest without limit.
        metadata = {k: v for k, v in lease["metadata"].items() if k != "managedFields"}
        if self._rivals:
            metadata = self._rivals.marked(metadata, spec["holderIdentity"], in_vain=in_vain)
        metadata = await self._owned(metadata)
        body = {**lease, "metadata": metadata, "spec": spec}
        written: dict[str, Any]
        if "resourceVersion" in lease["metadata"]:
            try:
                written = await self._client.replace(LEASES, self._name, body, self._namespace)
            except Forbidden:
                # Some clusters forbid changes of ownerReferences without permission to delete.
                self._may_own = False
                raise
            return _checked("update", written)
        try:
            written = await self._client.create(LEASES, body, self._namespace)
        except NotFound as error:
            if error.resource_missing:
                raise
            raise ConfigError(
                f'the namespace "{self._namespace}" of the Lease {self._name} does not exist: '
                "create it, or name another with --lease-namespace"
            ) from error
        return _checked("create", written)

    async def _owned(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The metadata of our Lease, with our service account as owner if it has none."""
        if metadata.get("ownerReferences") or not self._may_own:
            return metadata
        with suppress(ConfigError):  # the request itself reports it
            header = await self._client.cluster.auth.header(None)
            if owner := owner_reference(header, self._namespace):
                return {**metadata, "ownerReferences": [owner]}
        return metadata

    def _may_take(self, spec: dict[str, Any]) -> bool:
        """Whether the Lease is ours, free, or was not renewed for its duration by our clock.

        Once another holder was seen, it may still lead though the Lease names us, or nobody: the
        Lease was deleted, or restored from a backup. It may have renewed just before.
        """
        self.holder = spec.get("holderIdentity") or ""
        ours, other = self.holder == self._identity, self.other
        self.unbroken = self.unbroken and ours and other.state is None
        renewed, now = spec.get("renewTime"), self._clock()
        state, known = (self.holder, renewed), other.state
        if known is None and (ours or not self.holder):
            return True
        later = follows(spec.get("leaseTransitions"), other.transitions + ours)
        if (ours or not self.holder) and renewed and later:
            return True  # released; or taken by us, though no answer said so
        if self.holder and not ours:
            if known is None or known[0] != self.holder:
                holder = clipped(printable(self.holder), SHOWN)
                lease = f"{self._namespace}/{self._name}"
                logger.info("Another holds the Lease", extra={"lease": lease, "holder": holder})
            other.lasting = self._lasts(spec)
            other.transitions = spec.get("leaseTransitions") or 0
        if state != known:
            other.state, other.since = state, now
        left = other.since + other.lasting - now
        self._left = left if left > 0 else math.inf
        return left <= 0

    def _lasts(self, spec: Mapping[str, Any]) -> float:
        """Seconds that another holder's Lease lasts, bounded: its editor may write any number."""
        asked = spec.get("leaseDurationSeconds") or 0
        longest = max(LONGEST, self._timing.duration)
        return float(min(asked, longest) if asked > 0 else self._timing.duration)

    def _claim(self, old: dict[str, Any]) -> dict[str, Any]:
        now = _micro_time()
        ours = old.get("holderIdentity") == self._identity
        transitions = old.get("leaseTransitions")
        if transitions is not None:
            transitions = (transitions + (not ours)) % MOST_TRANSITIONS
        return {
            **old,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._timing.duration),
            "acquireTime": old.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": transitions or 0,
        }

    async def _release(self, *, in_vain: bool = False) -> None:
        """Release the Lease, so that a standby need not wait until it expires.

        If a renewal that was cut off has taken effect, the Lease is read again.

        Args:
            in_vain: we took the Lease but never led.
        """
        self.valid_until = float("-inf")
        lease, self._lease = self._lease, None
        with suppress(TimeoutError):  # the Lease then expires by itself
            async with asyncio.timeout(WRITE_SECONDS):
                for _ in range(RELEASE_TRIES):
                    try:
                        lease = lease or await self._read()
                        held = lease.get("spec") or {}
                        if held.get("holderIdentity") == self._identity:
                            await self._write(lease, _given_back(held), in_vain=in_vain)
                    except Conflict:
                        lease = None
                    except APIError as error:
                        self._note(error)
                        return
                    else:
                        return

    def _note(self, error: APIError | None) -> None:
        # A lost race for the Lease is not a problem to report.
        before, self.last_error = self.last_error, error
        if str(error) != str(before) and not isinstance(error, Conflict):
            self._report(None if error is None else error.advice)


def _checked(verb: str, lease: dict[str, Any]) -> dict[str, Any]:
    """The answer, if it is a Lease.

    Raises:
        Unreachable: it is not a Lease.
    """
    read = readable(partial(msgspec.convert, type=_Lease), lease, verb, LEASES.label())
    if not read.metadata.resource_version:
        why = "unreadable answer: metadata.resourceVersion: missing"
        raise Unreachable(verb, LEASES.label(), why, sent=True)
    return lease


def _given_back(spec: dict[str, Any]) -> dict[str, Any]:
    freed = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _micro_time()}
    return {**spec, **freed}


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311  # spreading load is no secret


def _micro_time() -> str:
    """Now as metav1.MicroTime: UTC, six decimals."""
    return micro_time_text(time.time())


async def _cancelled(task: asyncio.Future[Any], timeout: float | None) -> None:
    """Cancel a task and wait at most `timeout` seconds for its end; ignores its outcome."""
    task.cancel()
    await asyncio.wait({task}, timeout=timeout)
    if task.done() and not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it: run() raises what matters

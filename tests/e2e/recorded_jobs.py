# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of other projects on a target, created as their controllers do: from `tests/fixtures`."""

import functools
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
import yaml

from enbloc.client.errors import AlreadyExists, NotFound
from enbloc.client.paths import (
    CONFIG_MAPS,
    CRDS,
    JOBS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from enbloc.controller.sources import WORKLOADS, coscheduling, godel, kai, volcano
from enbloc.controller.sources.source import Derived
from enbloc.model import names
from enbloc.wire import codec
from enbloc.wire.auto_groups import auto_group
from enbloc.wire.objects import PodObject, controller_of
from tests import recorded
from tests.e2e.observer import RUN_LABEL
from tests.e2e.world import World
from tests.foreign_crds import DIALECTS, crd

#: How many pods each job has that is one gang.
SIZE: Final = 3
PLUGINS: Final = "scheduler-plugins-scheduler"
#: The schedulerNames that a scheduler serves which takes the place of all these projects' own.
SERVED: Final = (
    names.SCHEDULER_NAME,
    volcano.SCHEDULER_NAME,
    PLUGINS,
    "godel-scheduler",
    "kai-scheduler",
    "koord-scheduler",
    "yunikorn",
)
#: The kinds of PodGroup that jobs have, by API version.
GROUPS: Final = {
    each.api_version: each
    for each in (coscheduling.RESOURCE, volcano.RESOURCE, kai.RESOURCE, godel.RESOURCE)
}
#: Kubernetes' own controllers set these, and the API server refuses them from others.
_OF_JOBS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")


def kind_of(body: Mapping[str, Any]) -> Resource:
    """The resource of an object of a fixture; plurals are regular."""
    group, _, version = str(body["apiVersion"]).rpartition("/")
    return Resource(group, version, f"{str(body['kind']).lower()}s", str(body["kind"]))


class Recorded:
    """A job, and what its project's controllers create for it.

    Its steps are what creates pods: each pod, and each Job, of which Kubernetes' controller makes
    the pods.

    Args:
        world: where.
        name: of the fixture.
        job: the name of the job.
    """

    def __init__(self, world: World, name: str, job: str = "train") -> None:
        self._world, self.name, self.job = world, name, job
        text = yaml.safe_dump_all(recorded.objects(name))
        self._text = re.sub(r"\btrain\b", job, text)
        bodies: list[dict[str, Any]] = list(yaml.safe_load_all(self._text))
        of_jobs = {each["metadata"]["uid"] for each in bodies if kind_of(each) == JOBS}
        self.steps = [each for each in bodies if _makes_pods(each, of_jobs)]
        self._others = [each for each in bodies if each not in self.steps and each["kind"] != "Pod"]
        self._uids: dict[str, str] = {}
        self._left: list[dict[str, Any]] = []
        self._made: dict[str, Mapping[str, Any]] = {}

    # ── what it is ───────────────────────────────────────────────────────────────────────────

    @property
    def pod_groups(self) -> list[dict[str, Any]]:
        """Its PodGroups, of another project's kind."""
        return [each for each in self._others if each["kind"] == "PodGroup"]

    @property
    def resource(self) -> Resource:
        """The kind of its PodGroup."""
        return GROUPS[self.pod_groups[0]["apiVersion"]]

    @property
    def group(self) -> str:
        """The name of its PodGroup, or of its first one."""
        return self._mapped(str(self.pod_groups[0]["metadata"]["name"]))

    @property
    def minimum(self) -> int:
        """That of its PodGroup."""
        return int(self.pod_groups[0]["spec"]["minMember"])

    def waiting(self) -> str:
        """The phase that its PodGroup has while it waits."""
        return "Pending" if self.resource is coscheduling.RESOURCE else "Inqueue"

    def over(self) -> str:
        """The phase that its PodGroup has when all pods have succeeded."""
        return "Finished" if self.resource is coscheduling.RESOURCE else "Completed"

    @property
    def reports(self) -> bool:
        """Whether its PodGroup is told how it fares."""
        told = (coscheduling.RESOURCE, volcano.RESOURCE)
        return bool(self.pod_groups) and self.resource in told

    def made_groups(self) -> set[str]:
        """The names of the PodGroups of ours that are made for the job or its PodGroups."""
        if self.pod_groups:
            return {self._mapped(each["metadata"]["name"]) for each in self.pod_groups}
        found: set[str] = set()
        for source in WORKLOADS:
            for body in self._made.values():
                if body.get("kind") != source.resources[0].kind or body["kind"] == JOBS.kind:
                    continue
                derived = source.derive(msgspec.convert(body, source.shape, strict=False))
                made = (derived,) if isinstance(derived, Derived) else derived
                assert isinstance(made, tuple)
                found |= {each.name for each in made}
        return found

    def members(self) -> dict[str, list[str]]:
        """The names of the pods that are there now, by the PodGroup of ours."""
        made = self.made_groups()
        found: dict[str, list[str]] = {}
        for pod in self._world.observer.of(self._world.namespace):
            if not re.search(rf"\b{self.job}\b", pod.metadata.name):
                continue
            body = PodObject(
                metadata=msgspec.convert(
                    msgspec.to_builtins(pod.metadata), PodObject().metadata.__class__
                )
            )
            member = codec.pod(body).group
            if member is not None:
                found.setdefault(member.name, []).append(pod.metadata.name)
                continue
            auto = auto_group(pod.metadata.labels, controller_of(body.metadata.owner_references))
            if auto is not None:
                key = auto.wave if auto.wave in made else auto.name
                found.setdefault(key, []).append(pod.metadata.name)
        return found

    # ── what is done ─────────────────────────────────────────────────────────────────────────

    async def submit(self, *, grouped: bool = True, **spec: Any) -> None:
        """Create the job and its PodGroup, with these fields beside its own, and no pods.

        Args:
            grouped: whether the PodGroup is created.
            spec: of the PodGroup.
        """
        self._left = []
        for body in self._others:
            if body["kind"] == "PodGroup":
                if not grouped:
                    continue
                body["spec"] |= spec
                if self.resource is volcano.RESOURCE:  # as KubeRay and Spark's operator create it
                    body.setdefault("status", {"phase": "Pending"})
            await self._create(body)
        if any(self._uids.get(each["metadata"]["uid"]) for each in self.pod_groups):
            self._world.watch_over(self.group, self.minimum)
            if self.name == "training-operator-volcano" and self.minimum > 0:
                await self.told(phase="Inqueue")  # it creates no pod before that

    async def pods(
        self, first: int = 0, last: int | None = None, run_seconds: float | None = None
    ) -> None:
        """Carry out steps, by their numbers."""
        for body in self.steps[first:last]:
            template = body["spec"]["template"] if body["kind"] == JOBS.kind else body
            metadata = template.setdefault("metadata", {})
            if self.pod_groups:
                metadata["labels"] = {**(metadata.get("labels") or {}), RUN_LABEL: self.group}
            if run_seconds is not None:
                said = {names.RUN_SECONDS_KEY: str(run_seconds)}
                metadata["annotations"] = {**(metadata.get("annotations") or {}), **said}
            await self._create(body)

    def restart(self) -> None:
        """Have the steps be those of a JobSet's next attempt; its Jobs must be gone."""
        for step in self.steps:
            self._uids.pop(step["metadata"]["uid"], None)
        first, second = "restart-attempt: '0'", "restart-attempt: '1'"
        text = yaml.safe_dump_all(self.steps).replace(first, second)
        self.steps = list(yaml.safe_load_all(text))

    async def another(self, suffix: str = "more") -> str:
        """One more pod like the last one; its name."""
        body = next(each for each in reversed(self.steps) if each["kind"] == "Pod")
        name = f"{body['metadata']['name']}-{suffix}"
        await self._create({**body, "metadata": {**body["metadata"], "name": name, "uid": name}})
        return name

    async def _create(self, body: Mapping[str, Any]) -> None:
        """Create an object, or keep it until its owner is there; then, what waits for it."""
        owners = [each["uid"] for each in body["metadata"].get("ownerReferences", ())]
        if any(uid not in self._uids for uid in owners):
            self._left.append(dict(body))
            return
        uid = body["metadata"]["uid"]
        wanted = self._prepared(body)
        resource = kind_of(wanted)
        found: dict[str, Any] = await self._world.client.create(
            resource, wanted, self._world.namespace
        )
        made: dict[str, Any] = {"apiVersion": resource.api_version, "kind": resource.kind, **found}
        self._uids[uid] = made["metadata"]["uid"]
        self._made[made["metadata"]["uid"]] = made
        waiting, self._left = self._left, []
        for each in waiting:
            await self._create(each)

    def _mapped(self, text: str) -> str:
        for uid, real in self._uids.items():
            text = text.replace(uid, real)
        return text

    def _prepared(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """An object as a client sends it, with the UIDs of what exists."""
        wanted: dict[str, Any] = yaml.safe_load(self._mapped(yaml.safe_dump(dict(body))))
        metadata: dict[str, Any] = wanted["metadata"]
        del metadata["uid"]
        for reference in metadata.get("ownerReferences", ()):
            if reference["kind"] == "StatefulSet":
                reference |= {"apiVersion": "v1", "kind": CONFIG_MAPS.kind}
        if wanted["kind"] == "StatefulSet":
            # Kubernetes' controller would make pods of it that no webhook of the project has seen.
            kept = {key: wanted["metadata"][key] for key in ("name", "ownerReferences")}
            return {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": kept}
        if wanted["kind"] == JOBS.kind and kind_of(wanted) == JOBS:
            wanted["spec"].pop("selector", None)
            for labels in (
                wanted["metadata"].get("labels", {}),
                wanted["spec"]["template"]["metadata"].get("labels", {}),
            ):
                for key in _OF_JOBS:
                    labels.pop(key, None)
        return wanted

    async def status(self) -> dict[str, Any]:
        """What the PodGroup says now."""
        world = self._world
        found = await world.client.get(self.resource, self.group, world.namespace)
        return found.get("status") or {}

    async def told(self, **wanted: Any) -> None:
        """Wait until the PodGroup's status holds this."""
        found: dict[str, Any] = {}

        async def is_there() -> bool:
            found.clear()
            found.update(await self.status())
            return all(found.get(name) == value for name, value in wanted.items())

        await self._world.eventually(is_there, lambda: f"{self.group} says {wanted}; {found}")

    async def delete(self) -> None:
        """Delete the job, and with it what it owns; then wait until its PodGroups are gone."""
        world, groups = self._world, self.made_groups()
        left = [each for each in self._others if each["kind"] not in ("PodGroup", "StatefulSet")]
        tops = [each for each in left if not each["metadata"].get("ownerReferences")]
        for body in [*tops, *self.pod_groups]:
            if body in self.pod_groups and world.target.complete and tops:
                continue  # the garbage collector's
            with suppress(NotFound):
                name = self._mapped(body["metadata"]["name"])
                await world.client.delete(kind_of(body), name, world.namespace)
        world.observer.deleted_by_test |= {
            pod.metadata.name for pod in world.observer.of(world.namespace)
        }

        async def gone() -> bool:
            return not any([await exists(world, POD_GROUPS, group) for group in groups])

        await world.eventually(gone, lambda: f"the PodGroups {groups} are gone")


def _makes_pods(body: Mapping[str, Any], jobs: set[str]) -> bool:
    """Whether it is a Job, or a pod that none of these Jobs makes."""
    owners = {each["uid"] for each in body["metadata"].get("ownerReferences", ())}
    return kind_of(body) == JOBS or (body["kind"] == PODS.kind and not owners & jobs)


async def exists(world: World, kind: Resource, name: str) -> bool:
    """Whether there is such an object in the test's namespace."""
    try:
        await world.client.get(kind, name, world.namespace if kind.namespaced else None)
    except NotFound:
        return False
    return True


async def install(world: World, fixtures: Sequence[str]) -> None:
    """Have the kinds served of which these fixtures have objects, and what they refer to."""
    for file in DIALECTS.glob("*.yaml"):
        with suppress(AlreadyExists):
            await world.client.create(CRDS, yaml.safe_load(file.read_text("utf-8")))
    bodies = [each for name in fixtures for each in recorded.objects(name)]
    builtin = ("v1", "apps/v1", JOBS.api_version)
    kinds = {kind_of(each) for each in bodies if each["apiVersion"] not in builtin}
    for kind in kinds:
        with suppress(AlreadyExists):
            await world.client.create(CRDS, crd(kind))
    for kind in kinds | {volcano.QUEUES}:
        # As the controller asks; where it does not find a kind, it looks again in half a minute.
        await world.eventually(
            functools.partial(world.client.serves, kind), lambda: "the kinds are served"
        )
    for name in {each["spec"].get("priorityClassName") for each in bodies if "spec" in each}:
        if name is not None:
            priority = {"metadata": {"name": name}, "value": 0}
            with suppress(AlreadyExists):
                await world.client.create(PRIORITY_CLASSES, priority)


async def start(world: World, *served: str) -> None:
    """Have both processes serve these schedulerNames, and no others."""
    profiles = world.path / "profiles.yaml"
    profiles.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"schedulerName": name} for name in served],
            }
        )
    )
    await world.start_scheduler(f"--config={profiles}", restart=True)
    world.controller.kill()
    await world.start_controller(*(f"--scheduler-name={name}" for name in served))

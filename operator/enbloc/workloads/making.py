# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Maker: collects the pods and other objects that controllers make.

UIDs and the random suffixes of names are numbers, so that each run makes the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from enbloc.errors import UsageError
from enbloc.model.dns_names import LONGEST_NAME
from enbloc.model.qualified_names import object_name_problem
from enbloc.workloads.fields import Named, PodFields, Template, read

#: The most pods of one question.
MOST_PODS: Final = 10_000
#: The most containers, volumes and claims of these pods together.
MOST_PARTS: Final = 200_000
_LISTS: Final = ("containers", "initContainers", "volumes", "resourceClaims")
#: The most levels of objects that make others, as a CronJob makes a Job.
_DEEPEST: Final = 6

Json = Mapping[str, Any]


class PlannedPod(NamedTuple):
    """A pod that would be created.

    Attributes:
        pod: as JSON, as its controller would send it.
        wave: 0 = created at once; n = created once the pods of wave n-1 of its object have nodes.
        of: the object that was asked about, as "Job default/train".
        field: the path of its spec in that object.
    """

    pod: dict[str, Any]
    wave: int
    of: str
    field: str


class Owner(NamedTuple):
    """An object that makes pods or other objects.

    Attributes:
        body: the object as JSON, with namespace and UID.
        wave: the first wave of its pods; see `PlannedPod`.
        field: the path of its spec in the object that was asked about.
    """

    body: Json
    wave: int = 0
    field: str = "spec"

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body["metadata"]["name"])

    @property
    def uid(self) -> str:
        """Its UID."""
        return str(self.body["metadata"]["uid"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.body["metadata"]["namespace"])

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return dict(self.body["metadata"].get("labels") or {})

    @property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        return dict(self.body["metadata"].get("annotations") or {})

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"{self.kind} {self.namespace}/{self.name}"

    def path(self, field: str) -> str:
        """The path of one of its fields in the object that was asked about."""
        return f"{self.field}{field.removeprefix('spec')}" if field.startswith("spec") else field

    @property
    def reference(self) -> dict[str, Any]:
        """The ownerReference of the objects that it makes."""
        return {
            "apiVersion": self.body["apiVersion"],
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


Expander = Callable[["Maker", Owner], None]


@dataclass
class Maker:
    """Collects the objects that controllers make.

    Args:
        expanders: by API group and kind of the object.
        namespace: the namespace of objects that name none.
        only: objects may name no other namespace.
        beside: objects of the same files that make no pods, such as TrainingRuntimes, by kind and
            name.

    Attributes:
        pods: in the order of their creation.
        objects: the given objects and those that their controllers make; they may call for
            PodGroups. Each has a namespace and a UID.
        claims: PersistentVolumeClaims that are made for the pods.
        notes: remarks about the objects, one line each.
    """

    expanders: Mapping[tuple[str, str], Expander]
    namespace: str
    only: bool = False
    beside: Mapping[tuple[str, str], Json] = field(default_factory=dict[tuple[str, str], Json])
    pods: list[PlannedPod] = field(default_factory=list[PlannedPod])
    objects: list[Json] = field(default_factory=list[Json])
    claims: list[Json] = field(default_factory=list[Json])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    _asked: str = ""
    _made: int = 0
    _parts: int = 0
    _depth: int = 0

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def given(self, body: Json, where: str) -> Owner:
        """An object of a file, as the API server would store it.

        Raises:
            UsageError: its name is missing or invalid; its namespace is invalid, or not the only
                one that is allowed.
        """
        metadata = read(body, Named, where).metadata
        name = metadata.name or ""
        if not name and metadata.generate_name:
            name = f"{metadata.generate_name}{self._number():05}"
        if not name:
            raise UsageError(f"{where}: metadata.name is missing; write one")
        if problem := object_name_problem(name):
            raise UsageError(
                f"{where}: metadata.name: {problem}; use small letters, digits, '-' and '.'"
            )
        namespace = metadata.namespace or self.namespace
        if self.only and namespace != self.namespace:
            raise UsageError(
                f"{where}: metadata.namespace is {namespace}, and --namespace is "
                f"{self.namespace}; leave one of them out"
            )
        if problem := object_name_problem(namespace):
            raise UsageError(f"{where}: metadata.namespace: {problem}; name one that exists")
        return Owner(_stored(body, name, namespace, self.uid()))

    def ask(self, owner: Owner) -> None:
        """Add what the controllers make of an object that is asked about."""
        self._asked = owner.where
        self._expand(owner)

    def child(self, above: Owner, body: Json, *, wave: int | None = None, at: str = "spec") -> None:
        """Add an object that another one's controller makes, and what is made of it.

        Args:
            above: the object whose controller makes it.
            body: the object as JSON; its metadata needs only a name.
            wave: the first wave of its pods; None = that of `above`.
            at: the path of its spec in `above`.
        """
        named: Json = body["metadata"]
        owned = {**body, "metadata": {**named, "ownerReferences": [above.reference]}}
        made = _stored(owned, named["name"], above.namespace, self.uid())
        self._expand(Owner(made, above.wave if wave is None else wave, above.path(at)))

    def _expand(self, owner: Owner) -> None:
        if self._depth >= _DEEPEST:
            raise UsageError(f"{owner.where}: objects that make objects nest too deep")
        self.objects.append(owner.body)
        group = str(owner.body["apiVersion"]).rpartition("/")[0]
        expander = self.expanders.get((group, owner.kind))
        if expander is not None:
            self._depth += 1
            expander(self, owner)
            self._depth -= 1

    def uid(self) -> str:
        """The UID of a new object."""
        return f"what-if-{self._number():06}"

    def _number(self) -> int:
        self._made += 1
        return self._made

    def note(self, text: str) -> None:
        """Add a remark about an object, once."""
        self.notes[text] = None

    def suspended(self, owner: Owner, field: str) -> None:
        """Add the remark that an object is suspended, and what the answer assumes."""
        self.note(
            f"{owner.where}: {owner.path(field)} is true; the answer is for when it is resumed"
        )

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    def weigh(self, parts: int, owner: Owner, field: str) -> None:
        """Count more containers, volumes and claims.

        Args:
            parts: how many more.
            owner: the object whose controller makes them.
            field: the owner's field that asks for them.

        Raises:
            UsageError: there are more than MOST_PARTS.
        """
        self._parts += parts
        if self._parts > MOST_PARTS:
            raise UsageError(
                f"{owner.where}: {owner.path(field)}: its pods have more than {MOST_PARTS} "
                "containers, volumes and claims together; ask about fewer at once"
            )

    def check(self, number: int, owner: Owner, field: str) -> None:
        """Check that more pods can be made.

        Args:
            number: how many more.
            owner: the object whose controller makes them.
            field: the owner's field that asks for them.

        Raises:
            UsageError: there would be more than MOST_PODS.
        """
        if len(self.pods) + number > MOST_PODS:
            raise UsageError(
                f"{owner.where}: {owner.path(field)}: with these there are "
                f"{len(self.pods) + number} pods; at most {MOST_PODS} can be asked about at once"
            )

    def pod(  # noqa: PLR0913  # what a pod has of its template, and of its owner
        self,
        owner: Owner,
        template: Template,
        name: str,
        *,
        at: str,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        spec: Json | None = None,
        wave: int | None = None,
        by: Json | None = None,
    ) -> dict[str, Any]:
        """Add a pod of a template.

        Args:
            owner: the object whose controller makes it.
            template: of the pod.
            name: of the pod; truncated if it is too long.
            at: the path of the pod's spec in the owner.
            labels: in addition to those of the template.
            annotations: in addition to those of the template.
            spec: fields that replace those of the template's spec.
            wave: when it is created; None = the owner's wave.
            by: its ownerReference, if another object than the owner controls it.
        """
        self.check(1, owner, at)
        lists = (template.spec.get(field) for field in _LISTS)
        self.weigh(sum(len(each) for each in lists if isinstance(each, list)), owner, at)
        reference = owner.reference if by is None else by
        metadata = {
            "name": name[:LONGEST_NAME].rstrip("-."),
            "namespace": owner.namespace,
            "uid": self.uid(),
            "labels": {**template.labels, **(labels or {})},
            "annotations": {**template.annotations, **(annotations or {})},
            "ownerReferences": [reference],
        }
        made = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**template.spec, **(spec or {})},
        }
        wave = owner.wave if wave is None else wave
        self.pods.append(PlannedPod(made, wave, self._asked, owner.path(at)))
        return made

    def alone(self, owner: Owner) -> None:
        """Add a pod that is itself in a file."""
        read(owner.body, PodFields, owner.where)
        self.check(1, owner, "metadata")
        self.pods.append(PlannedPod({**owner.body}, owner.wave, self._asked, "spec"))


def _stored(body: Json, name: str, namespace: str, uid: str) -> Json:
    metadata = {**body["metadata"], "name": name, "namespace": namespace, "uid": uid}
    for own in ("resourceVersion", "generateName", "deletionTimestamp", "managedFields"):
        metadata.pop(own, None)
    return {**{key: value for key, value in body.items() if key != "status"}, "metadata": metadata}

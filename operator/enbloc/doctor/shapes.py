# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The fields read of objects, other projects' among them."""

from typing import Any

import msgspec

from enbloc.client.paths import Resource
from enbloc.model import names

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
OWN_ACCESS = Resource(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    namespaced=False,
)
RESOURCE_CLAIM_TEMPLATES = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)


class _Struct(msgspec.Struct, rename="camel"):
    """A base with camelCase names; a missing map or list is empty, and null is accepted."""


class Metadata(_Struct):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None

    @property
    def part_of(self) -> str:
        """The application that its label says it belongs to."""
        return (self.labels or {}).get(names.PART_OF_KEY, "")


class Named(_Struct):
    """Any object, by its name."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone."""
        namespace = self.metadata.namespace
        return f"{namespace}/{self.metadata.name}" if namespace else self.metadata.name


class Container(_Struct):
    """The fields of a container that show whether it is a scheduler."""

    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None

    @property
    def words(self) -> list[str]:
        """Image, command and arguments."""
        return [self.image or "", *(self.command or ()), *(self.args or ())]


class _ConfigMapSource(_Struct):
    name: str = ""


class _Volume(_Struct):
    config_map: _ConfigMapSource | None = None


class _PodSpec(_Struct):
    containers: list[Container] | None = None
    volumes: list[_Volume] | None = None
    service_account_name: str | None = None

    @property
    def account(self) -> str:
        """The service account of its pods."""
        return self.service_account_name or "default"


class _Template(_Struct):
    spec: _PodSpec | None = None


class _DeploymentSpec(_Struct):
    template: _Template | None = None


class Deployment(_Struct):
    """A Deployment."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _DeploymentSpec | None = None

    @property
    def pod(self) -> _PodSpec:
        """The spec of its pods."""
        template = self.spec and self.spec.template
        return (template and template.spec) or _PodSpec()

    @property
    def words(self) -> list[str]:
        """Images, commands and arguments of its containers."""
        return [word for each in self.pod.containers or () for word in each.words]

    @property
    def config_maps(self) -> list[str]:
        """The ConfigMaps that its pods mount."""
        return [v.config_map.name for v in self.pod.volumes or () if v.config_map]


class ConfigMap(_Struct):
    """A ConfigMap."""

    data: dict[str, str] | None = None


class CRDNames(_Struct):
    """The names of a kind."""

    plural: str = ""
    short_names: list[str] | None = None


class _Schema(_Struct):
    open_api_v3_schema: dict[str, Any] | None = msgspec.field(name="openAPIV3Schema", default=None)


class CRDVersion(_Struct):
    """A version of a kind."""

    name: str = ""
    served: bool = False
    schema: _Schema | None = None


class CRDSpec(_Struct):
    """`spec` of a CustomResourceDefinition."""

    group: str = ""
    names: CRDNames = msgspec.field(default_factory=CRDNames)
    versions: list[CRDVersion] | None = None


class CRD(_Struct):
    """A CustomResourceDefinition."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: CRDSpec = msgspec.field(default_factory=CRDSpec)


class _ReviewStatus(_Struct):
    allowed: bool = False


class Review(_Struct):
    """The answer to an access review."""

    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)


class _Requirement(_Struct):
    scope_name: str = ""


class _Selector(_Struct):
    match_expressions: list[_Requirement] | None = None


class _QuotaSpec(_Struct):
    scope_selector: _Selector | None = None


class Quota(_Struct):
    """A ResourceQuota."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _QuotaSpec | None = None

    @property
    def of_priority_classes(self) -> bool:
        """Whether it selects pods by their priority class."""
        selector = self.spec and self.spec.scope_selector
        found = (selector and selector.match_expressions) or ()
        return any(each.scope_name == "PriorityClass" for each in found)

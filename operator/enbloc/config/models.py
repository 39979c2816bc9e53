# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""KubeSchedulerConfiguration v1 and EnblocConfiguration, field by field.

None is "not given", so that what was written can be told from what is a default.

Source: kube-scheduler v1.36 pkg/scheduler/apis/config/types.go KubeSchedulerConfiguration.
"""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from enbloc.config.strict import Duration, Int32, Int64, Strict
from enbloc.model.names import API_VERSION, CONFIG_GROUP

GROUP: Final = "kubescheduler.config.k8s.io"
VERSION: Final = f"{GROUP}/v1"
KIND: Final = "KubeSchedulerConfiguration"
OUR_VERSION: Final = f"{CONFIG_GROUP}/{API_VERSION}"
OUR_KIND: Final = "EnblocConfiguration"


class Plugin(Strict):
    """A plugin, with an optional weight."""

    name: str
    weight: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None


class PluginSet(Strict):
    """Plugins that are enabled and disabled at one extension point."""

    enabled: list[Plugin] = Field(default_factory=list[Plugin])
    disabled: list[Plugin] = Field(default_factory=list[Plugin])


class Plugins(Strict):
    """A plugin set for each extension point, and one for all of them."""

    pre_enqueue: PluginSet | None = None
    queue_sort: PluginSet | None = None
    pre_filter: PluginSet | None = None
    filter: PluginSet | None = None
    post_filter: PluginSet | None = None
    pre_score: PluginSet | None = None
    score: PluginSet | None = None
    reserve: PluginSet | None = None
    permit: PluginSet | None = None
    pre_bind: PluginSet | None = None
    bind: PluginSet | None = None
    post_bind: PluginSet | None = None
    multi_point: PluginSet | None = None
    placement_generate: PluginSet | None = None
    placement_score: PluginSet | None = None
    placement_feasible: PluginSet | None = None
    pod_group_post_filter: PluginSet | None = None


class PluginConfig(Strict):
    """The arguments of one plugin."""

    name: str
    args: Any = None


class KubeSchedulerProfile(Strict):
    """A profile: the plugins that schedule the pods of one schedulerName."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    percentage_of_placements_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    plugins: Plugins | None = None
    plugin_config: list[PluginConfig] = Field(default_factory=list[PluginConfig])


class LeaderElectionConfiguration(Strict):
    """Leader election among several replicas."""

    leader_elect: bool | None = None
    lease_duration: Duration | None = None
    renew_deadline: Duration | None = None
    retry_period: Duration | None = None
    resource_lock: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None


class ClientConnectionConfiguration(Strict):
    """Connection to the API server."""

    kubeconfig: str | None = None
    accept_content_types: str | None = None
    content_type: str | None = None
    qps: Annotated[float, Field(allow_inf_nan=False)] | None = None
    burst: Annotated[Int32, Field(ge=0)] | None = None


class ManagedResource(Strict):
    """An extended resource that an extender manages."""

    name: str
    ignored_by_scheduler: bool = False


class TLSConfig(Strict):
    """TLS settings of the connection to an extender. Data fields are PEM, encoded as base64."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class ExtenderFields(Strict):
    """An HTTP extender, without its timeout."""

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = Field(default=False, alias="enableHTTPS")
    tls_config: TLSConfig | None = None
    node_cache_capable: bool = False
    managed_resources: list[ManagedResource] = Field(default_factory=list[ManagedResource])
    ignorable: bool = False


class ExtenderConfiguration(ExtenderFields):
    """An HTTP extender."""

    http_timeout: Duration = 0.0


class KubeSchedulerConfiguration(Strict):
    """Configuration of a scheduler, with the fields of kube-scheduler."""

    api_version: str = ""
    kind: str = ""
    parallelism: Annotated[Int32, Field(gt=0)] | None = None
    leader_election: LeaderElectionConfiguration | None = None
    client_connection: ClientConnectionConfiguration | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    percentage_of_placements_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    pod_initial_backoff_seconds: Annotated[Int64, Field(gt=0)] | None = None
    pod_max_backoff_seconds: Annotated[Int64, Field(gt=0)] | None = None
    profiles: list[KubeSchedulerProfile] = Field(default_factory=list[KubeSchedulerProfile])
    extenders: list[ExtenderConfiguration] = Field(default_factory=list[ExtenderConfiguration])
    delay_cache_until_active: bool | None = None


#: A year at most.
Seconds = Annotated[int, Field(ge=0, le=31_536_000)]


class MinRuntimeRule(Strict):
    """Minimum runtime before preemption, of pods of a PriorityClass, in a namespace, or both."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"minLength": 1}}}
                for name in ("priorityClassName", "namespace")
            ]
        }
    )

    priority_class_name: str = ""
    namespace: str = ""
    seconds: Seconds


class EnblocConfiguration(Strict):
    """Settings of enbloc that KubeSchedulerConfiguration does not have."""

    api_version: str = ""
    kind: str = ""
    schedule_timeout_seconds: Annotated[Int32, Field(gt=0)] | None = None
    reservation_seconds: Annotated[Int32, Field(gt=0)] | None = None
    reservation_limits: dict[str, str | int] | None = None
    missing_grace_seconds: Annotated[Int32, Field(ge=0)] | None = None
    pod_max_in_unschedulable_pods_seconds: Annotated[Int32, Field(gt=0)] | None = None
    search_steps: Annotated[Int32, Field(ge=0)] | None = None
    priority_class_raises: bool | None = None
    other_schedulers: list[str] | None = None
    min_runtime_seconds: Seconds | None = None
    min_runtimes: list[MinRuntimeRule] | None = None
    preemption_delay_seconds: Seconds | None = None
    max_evictions_per_unit: Annotated[Int32, Field(gt=0)] | None = None
    max_lost_work_seconds: Seconds | None = None

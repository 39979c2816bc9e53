# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pods of each kind: how many, when, and by whom they are controlled."""

from typing import Any

import pytest

from enbloc.errors import UsageError
from enbloc.workloads import MOST_PODS
from tests.workloads.given import expanded, names, owner, waves


def test_a_job_makes_as_many_pods_as_run_at_once() -> None:
    found = expanded("""
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec: {parallelism: 5, completions: 3, completionMode: Indexed, template: TEMPLATE}
        """)
    assert names(found) == ["train-0", "train-1", "train-2"]
    assert {owner(each) for each in found.pods} == {"Job/train"}
    key = "batch.kubernetes.io/job-completion-index"
    assert [each.pod["metadata"]["annotations"][key] for each in found.pods] == ["0", "1", "2"]


def test_a_job_that_says_no_number_makes_one_pod() -> None:
    found = expanded("""
        apiVersion: batch/v1
        kind: Job
        metadata: {generateName: train-}
        spec: {template: TEMPLATE}
        """)
    assert names(found) == ["train-00001-0"]


def test_a_cron_job_makes_the_pods_of_one_run() -> None:
    found = expanded("""
        apiVersion: batch/v1
        kind: CronJob
        metadata: {name: nightly, namespace: ml}
        spec:
          schedule: "0 0 * * *"
          jobTemplate: {spec: {parallelism: 2, template: TEMPLATE}}
        """)
    assert names(found) == ["nightly-0-0", "nightly-0-1"]
    assert [each["kind"] for each in found.objects] == ["CronJob", "Job"]
    assert found.notes == ["CronJob ml/nightly: the answer is for one run that starts now"]
    assert found.pods[0].field == "spec.jobTemplate.spec.template.spec"
    assert found.pods[0].of == "CronJob ml/nightly"


def test_what_is_suspended_is_asked_about_as_if_it_was_resumed() -> None:
    found = expanded("""
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec: {suspend: true, template: TEMPLATE}
        """)
    assert names(found) == ["train-0"]
    assert found.notes == [
        "Job default/train: spec.suspend is true; the answer is for when it is resumed"
    ]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Parallel", [["web-0", "web-1", "web-2"]]),
        ("OrderedReady", [["web-0"], ["web-1", "web-2"]]),
    ],
)
def test_a_stateful_set_makes_its_replicas_in_the_order_of_its_policy(
    policy: str, expected: list[list[str]]
) -> None:
    found = expanded(f"""
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {{name: web}}
        spec: {{replicas: 3, podManagementPolicy: {policy}, template: TEMPLATE}}
        """)
    assert waves(found) == expected


def test_each_replica_of_a_stateful_set_has_claims_of_its_own() -> None:
    found = expanded("""
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: web}
        spec:
          replicas: 2
          template: TEMPLATE
          volumeClaimTemplates:
          - metadata: {name: data}
            spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
        """)
    assert [each["metadata"]["name"] for each in found.claims] == ["data-web-0", "data-web-1"]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}
    assert found.pods[1].pod["spec"]["volumes"] == [volume]


def test_a_deployment_makes_a_replica_set_whose_pods_carry_its_hash() -> None:
    found = expanded("""
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec: {replicas: 2, template: TEMPLATE}
        """)
    assert {owner(each) for each in found.pods} == {"ReplicaSet/web-new"}
    assert found.pods[0].pod["metadata"]["labels"] == {"pod-template-hash": "new"}
    assert found.pods[0].field == "spec.template.spec"


def test_replicated_jobs_that_depend_on_others_come_after_these() -> None:
    found = expanded("""
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {name: rl}
        spec:
          replicatedJobs:
          - {name: store, template: {spec: {template: TEMPLATE}}}
          - name: learn
            dependsOn: [{name: store, status: Ready}]
            template: {spec: {template: TEMPLATE}}
          - name: report
            dependsOn: [{name: learn, status: Complete}]
            template: {spec: {template: TEMPLATE}}
        """)
    assert waves(found) == [["rl-store-0-0"], ["rl-learn-0-0"]]
    assert found.notes == [
        (
            "JobSet default/rl: replicatedJob report is created once learn is complete; it is no "
            "part of the answer"
        )
    ]


@pytest.mark.parametrize(
    ("mode", "indexes"),
    [
        ("", ["0", "1"]),
        ("completionMode: null, ", ["0", "1"]),
        ("completionMode: NonIndexed, ", [None, None]),
    ],
)
def test_the_jobs_of_a_jobset_are_indexed_unless_they_say_otherwise(
    mode: str, indexes: list[str | None]
) -> None:
    found = expanded(f"""
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {{name: rl}}
        spec:
          replicatedJobs:
          - {{name: w, template: {{spec: {{{mode}parallelism: 2, template: TEMPLATE}}}}}}
        """)
    key = "batch.kubernetes.io/job-completion-index"
    metadata = [each.pod["metadata"] for each in found.pods]
    assert [each["labels"].get(key) for each in metadata] == indexes
    assert [each["annotations"].get(key) for each in metadata] == indexes


def test_workers_that_wait_for_their_leader_come_after_it() -> None:
    found = expanded("""
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {name: serve}
        spec:
          replicas: 2
          startupPolicy: LeaderReady
          leaderWorkerTemplate: {size: 2, workerTemplate: TEMPLATE}
        """)
    assert waves(found) == [["serve-0", "serve-1"], ["serve-0-1", "serve-1-1"]]
    assert [owner(each) for each in found.pods] == [
        "StatefulSet/serve",
        "StatefulSet/serve-0",
        "StatefulSet/serve",
        "StatefulSet/serve-1",
    ]


def test_each_pod_of_a_leaderworkerset_has_claims_of_its_own() -> None:
    found = expanded("""
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {name: serve}
        spec:
          leaderWorkerTemplate:
            size: 2
            volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]
            leaderTemplate: {spec: {containers: [], volumes: [{name: data}, {name: tmp}]}}
            workerTemplate: TEMPLATE
        """)
    assert [each["metadata"]["name"] for each in found.claims] == ["data-serve-0", "data-serve-0-1"]
    leader, worker = (each.pod["spec"]["volumes"] for each in found.pods)
    assert leader == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-serve-0"}},
        {"name": "tmp"},
    ]
    assert worker == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-serve-0-1"}}]


RAY = """
    headGroupSpec: {template: TEMPLATE}
    workerGroupSpecs:
    - {groupName: cpu, replicas: 9, minReplicas: 1, maxReplicas: 2, template: TEMPLATE}
    - {groupName: tpu, replicas: 1, numOfHosts: 2, template: TEMPLATE}
    - {groupName: idle, replicas: 1, suspend: true, template: TEMPLATE}
"""


@pytest.mark.parametrize(
    ("kind", "field", "cluster"),
    [
        ("RayCluster", "", "ray"),
        ("RayJob", "rayClusterSpec", "ray-0"),
        ("RayService", "rayClusterConfig", "ray-0"),
    ],
)
def test_a_ray_cluster_has_a_head_and_the_workers_that_it_starts_with(
    kind: str, field: str, cluster: str
) -> None:
    spec = RAY.replace("TEMPLATE", "{spec: {containers: []}}").strip().replace("\n    ", "\n  ")
    nested = spec.replace("\n", "\n  ")
    text = f"spec:\n  {field}:\n    {nested}" if field else f"spec:\n  {spec}"
    found = expanded(f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: ray}}\n{text}\n")
    ends = ["head-0", "cpu-worker-0", "cpu-worker-1", "tpu-worker-0", "tpu-worker-1"]
    assert names(found) == [f"{cluster}-{end}" for end in ends]
    assert {owner(each) for each in found.pods} == {f"RayCluster/{cluster}"}
    prefix = f"spec.{field}" if field else "spec"
    assert found.pods[0].field == f"{prefix}.headGroupSpec.template.spec"


def test_where_ray_scales_the_workers_its_autoscaler_needs_capacity_too() -> None:
    found = expanded("""
        apiVersion: ray.io/v1
        kind: RayCluster
        metadata: {name: ray}
        spec: {enableInTreeAutoscaling: true, headGroupSpec: {template: TEMPLATE}}
        """)
    _, scaling = found.pods[0].pod["spec"]["containers"]
    assert scaling["resources"]["requests"] == {"cpu": "500m", "memory": "512Mi"}


def test_executors_come_after_their_driver_and_request_what_spark_does() -> None:
    found = expanded("""
        apiVersion: sparkoperator.k8s.io/v1beta2
        kind: SparkApplication
        metadata: {name: pi}
        spec:
          type: Python
          nodeSelector: {disk: ssd, pool: any}
          driver: {cores: 1, memory: 1g, schedulerName: enbloc}
          executor:
            instances: 1
            coreRequest: 500m
            memory: 10g
            gpu: {name: nvidia.com/gpu, quantity: 2}
            nodeSelector: {pool: spark}
            template: {spec: {nodeSelector: {zone: a, disk: any}}}
        """)
    assert waves(found) == [["pi-driver"], ["pi-exec-1"]]
    assert found.pods[0].pod["spec"]["nodeSelector"] == {"disk": "ssd", "pool": "any"}
    spec = found.pods[1].pod["spec"]
    assert spec["nodeSelector"] == {"zone": "a", "disk": "ssd", "pool": "spark"}
    [container] = spec["containers"]
    assert container["resources"]["requests"] == {
        "cpu": "500m",
        "memory": "14Gi",
        "nvidia.com/gpu": "2",
    }


def executor(fields: str) -> dict[str, Any]:
    """The spec of an executor with these fields, of 1 CPU and 1408Mi."""
    found = expanded(f"""
        apiVersion: sparkoperator.k8s.io/v1beta2
        kind: SparkApplication
        metadata: {{name: pi}}
        spec:
          type: Scala
          driver: {{cores: 1, memory: 1g, schedulerName: enbloc}}
          executor: {{instances: 1, {fields}}}
        """)
    spec: dict[str, Any] = found.pods[1].pod["spec"]
    return spec


def test_spark_keeps_what_the_template_requests_besides_cpu_and_memory() -> None:
    spec = executor("""template: {spec: {containers: [
            {name: log, resources: {requests: {cpu: 2}}},
            {name: spark-kubernetes-executor, resources: {
              requests: {cpu: 64, ephemeral-storage: 9Gi}, limits: {nvidia.com/gpu: 1}}}]}}""")
    by = {each["name"]: each["resources"] for each in spec["containers"]}
    assert by == {
        "log": {"requests": {"cpu": 2}},
        "spark-kubernetes-executor": {
            "requests": {"cpu": "1", "memory": "1408Mi", "ephemeral-storage": "9Gi"},
            "limits": {"nvidia.com/gpu": 1},
        },
    }


def test_spark_takes_the_first_container_of_a_template_that_names_none_of_its_own() -> None:
    spec = executor("""template: {spec: {containers: [
            {name: main, image: i, resources: {limits: {nvidia.com/gpu: 1}}}, {name: log}]}}""")
    main, log = spec["containers"]
    assert (main["name"], main["image"]) == ("main", "i")
    assert main["resources"]["limits"] == {"nvidia.com/gpu": 1}
    assert main["resources"]["requests"] == {"cpu": "1", "memory": "1408Mi"}
    assert log == {"name": "log"}


def test_the_gpus_of_an_executor_replace_those_of_its_template() -> None:
    template = "template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}}"
    [container] = executor(f"gpu: {{name: nvidia.com/gpu, quantity: 4}}, {template}")["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    assert container["resources"]["requests"]["nvidia.com/gpu"] == "4"
    [container] = executor(f"gpu: {{name: nvidia.com/gpu, quantity: 0}}, {template}")["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}


def test_an_executor_has_the_sidecars_and_init_containers_that_its_template_lacks() -> None:
    spec = executor("""
            sidecars: [{name: log, image: i}, {name: log, image: i}, {name: top, image: i}],
            initContainers: [{name: fetch, image: i}, {name: warm, image: i}],
            template: {spec: {containers: [{name: main}, {name: log, image: i}],
              initContainers: [{name: warm, image: i}]}}""")
    names = ["main", "log", "top"]
    assert [each["name"] for each in spec["containers"]] == names
    assert [each["name"] for each in spec["initContainers"]] == ["warm", "fetch"]


def test_the_tolerations_of_an_executor_come_after_those_of_its_template() -> None:
    given = "template: {spec: {tolerations: [{key: gpu}]}}"
    assert executor(given)["tolerations"] == [{"key": "gpu"}]
    both = executor(f"tolerations: [{{key: spot}}, {{key: gpu}}], {given}")
    assert both["tolerations"] == [{"key": "gpu"}, {"key": "spot"}, {"key": "gpu"}]
    assert executor("tolerations: [{key: spot}]")["tolerations"] == [{"key": "spot"}]


def test_an_executor_has_the_volumes_that_it_mounts_after_those_of_its_template() -> None:
    found = expanded("""
        apiVersion: sparkoperator.k8s.io/v1beta2
        kind: SparkApplication
        metadata: {name: pi}
        spec:
          volumes:
          - {name: data, persistentVolumeClaim: {claimName: data}}
          - {name: spark-local-dir-1, emptyDir: {}}
          - {name: other, emptyDir: {}}
          driver: {schedulerName: enbloc}
          executor:
            instances: 1
            template: {spec: {volumes: [{name: own, emptyDir: {}}]}}
            volumeMounts:
            - {name: data, mountPath: /in}
            - {name: spark-local-dir-1, mountPath: /tmp}
            - {name: data, mountPath: /out}
            - {name: own, mountPath: /own}
        """)
    driver, executor = (each.pod["spec"] for each in found.pods)
    assert "volumes" not in driver
    assert executor["volumes"] == [
        {"name": "own", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    ]


def test_a_launcher_that_waits_for_the_workers_comes_after_them() -> None:
    found = expanded("""
        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: mpi}
        spec:
          launcherCreationPolicy: WaitForWorkersReady
          mpiReplicaSpecs:
            Launcher: {replicas: 1, template: TEMPLATE}
            Worker: {replicas: 2, template: TEMPLATE}
        """)
    assert waves(found) == [["mpi-worker-0", "mpi-worker-1"], ["mpi-launcher-0"]]


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("TFJob", "tfReplicaSpecs"),
        ("XGBoostJob", "xgbReplicaSpecs"),
        ("PaddleJob", "paddleReplicaSpecs"),
        ("JAXJob", "jaxReplicaSpecs"),
    ],
)
def test_each_kind_of_the_training_operator_has_its_own_field(kind: str, field: str) -> None:
    found = expanded(f"""
        apiVersion: kubeflow.org/v1
        kind: {kind}
        metadata: {{name: job}}
        spec:
          {field}:
            Worker: {{replicas: 2, template: TEMPLATE}}
        """)
    assert names(found) == ["job-worker-0", "job-worker-1"]
    assert {owner(each) for each in found.pods} == {f"{kind}/job"}


def test_a_volcano_job_has_a_pod_group_of_volcano_and_its_tasks_wait_for_each_other() -> None:
    found = expanded("""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {name: job}
        spec:
          schedulerName: enbloc
          minAvailable: 2
          tasks:
          - {name: first, replicas: 1, template: {spec: {containers: []}}}
          - name: second
            replicas: 2
            dependsOn: {name: [first]}
            template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
        """)
    assert waves(found) == [["job-first-0"], ["job-second-0", "job-second-1"]]
    assert {each.pod["spec"]["schedulerName"] for each in found.pods} == {"enbloc"}
    group = found.objects[1]
    assert (group["apiVersion"], group["kind"]) == ("scheduling.volcano.sh/v1beta1", "PodGroup")
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minResources"] == {"cpu": "1"}


@pytest.mark.parametrize("said", ["", "minAvailable: 0"])
def test_a_volcano_job_that_says_no_minimum_has_that_of_its_tasks(said: str) -> None:
    found = expanded(f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: job}}
        spec:
          {said}
          tasks:
          - {{name: ps, replicas: 1, template: TEMPLATE}}
          - {{name: worker, replicas: 4, minAvailable: 2, template: TEMPLATE}}
          - {{name: spare, template: TEMPLATE}}
        """)
    assert names(found) == ["job-ps-0", *(f"job-worker-{at}" for at in range(4))]
    group = found.objects[1]["spec"]
    assert group["minMember"] == 3
    assert group["minTaskMember"] == {"ps": 1, "worker": 2, "spare": 0}


def test_in_the_pod_group_of_a_volcano_job_limits_do_not_count_as_requests() -> None:
    found = expanded("""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {name: job}
        spec:
          tasks:
          - name: worker
            replicas: 2
            template: {spec: {containers: [{resources: {
              requests: {cpu: 1}, limits: {nvidia.com/gpu: 8}}}]}}
        """)
    # Volcano reads the template, to which the API server adds no requests.
    assert found.objects[1]["spec"]["minResources"] == {"cpu": "2"}
    [container] = found.pods[0].pod["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}


# ── what is refused ──────────────────────────────────────────────────────────────────────────


def job(spec: str = "{template: TEMPLATE}", metadata: str = "{name: train}") -> str:
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {metadata}\nspec: {spec}\n"


WHERE = "file.yaml: document 1: "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            job("{parallelism: 1000000, template: TEMPLATE}"),
            (
                "Job default/train: spec.parallelism: with these there are 1000000 pods; at most "
                f"{MOST_PODS} can be asked about at once"
            ),
        ),
        (
            job("{parallelism: -1, template: TEMPLATE}"),
            "Job default/train: spec.parallelism: -1 is negative; write 0 or more",
        ),
        (
            job("{parallelism: many, template: TEMPLATE}"),
            "Job default/train: spec.parallelism: Expected int | null, got str",
        ),
        (job("{}"), "Job default/train: spec.template: is missing; write it"),
        (job("{template: {}}"), "Job default/train: spec.template.spec: is missing; write it"),
        (
            job("{template: {metadata: {labels: {a: 1}}, spec: {}}}"),
            "Job default/train: spec.template.metadata.labels[...]: Expected str, got int",
        ),
        (job(metadata="{}"), f"{WHERE}Job: metadata.name is missing; write one"),
        (
            job(metadata="{name: Train}"),
            (
                f'{WHERE}Job: metadata.name: "Train" is not the name of an object; use small '
                "letters, digits, '-' and '.'"
            ),
        ),
        (
            job(metadata="{name: a, namespace: B}"),
            (
                f'{WHERE}Job: metadata.namespace: "B" is not the name of an object; name one that '
                "exists"
            ),
        ),
        (
            f"{job()}---\n{job()}",
            "Job default/train is in the files twice; remove one",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
            "Pod default/a: spec: is missing; write it",
        ),
        (
            "{apiVersion: batch/v1, kind: Jub, metadata: {name: a}}",
            f"{WHERE}kind Jub of batch/v1 is not known (did you mean Job",
        ),
        (
            "{apiVersion: example.com/v1, kind: Job, metadata: {name: a}}",
            f"{WHERE}Job of example.com/v1 is not known; Job is known of batch, batch.volcano.sh",
        ),
        (
            "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}}",
            f"{WHERE}DaemonSet of apps/v1: each of its pods belongs to one node",
        ),
        (
            "{apiVersion: v1, kind: Namespace, metadata: [a]}",
            f"{WHERE}Namespace: metadata: Expected object, got array",
        ),
    ],
)
def test_an_object_that_cannot_be_asked_about_says_which_field_and_why(
    text: str, said: str
) -> None:
    with pytest.raises(UsageError) as raised:
        expanded(text)
    assert str(raised.value).startswith(said)


def test_an_object_of_another_namespace_than_the_one_that_is_given_is_refused() -> None:
    text = job(metadata="{name: train, namespace: other}")
    assert names(expanded(text, "ml")) == ["train-0"]
    with pytest.raises(UsageError) as raised:
        expanded(text, "ml", only=True)
    assert "metadata.namespace is other, and --namespace is ml" in str(raised.value)


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "Service"),
        ("v1", "LimitRange"),
        ("v1", "ResourceQuota"),
        ("kueue.x-k8s.io/v1beta1", "Topology"),
        ("kueue.x-k8s.io/v1beta1", "WorkloadPriorityClass"),
        ("scheduling.k8s.io/v1alpha2", "Workload"),
    ],
)
def test_what_makes_no_pods_is_left_out_and_said_so(version: str, kind: str) -> None:
    other = f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: a}}}}"
    found = expanded(f"{other}\n---\n{job()}")
    assert names(found) == ["train-0"]
    assert found.notes == [f"{kind} objects make no pods, and are left out"]

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pods of TrainJobs: those of the runtime, changed as the TrainJob says."""

import pytest

from enbloc.errors import UsageError
from tests.workloads.given import expanded, names, waves

RUNTIME = """
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            template: {spec: {containers: [{name: node, image: i}]}}
"""
TRAIN_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: torch}
  trainer: {numNodes: 2, resourcesPerNode: {requests: {nvidia.com/gpu: 8}}}
"""


def test_a_train_job_has_the_nodes_that_it_asks_for_of_its_runtime() -> None:
    found = expanded(TRAIN_JOB + RUNTIME)
    assert names(found) == ["llm-node-0-0", "llm-node-0-1"]
    [container] = found.pods[0].pod["spec"]["containers"]
    assert container["resources"] == {"requests": {"nvidia.com/gpu": 8}}
    assert found.pods[0].field == (
        "ClusterTrainingRuntime torch: "
        "spec.template.spec.replicatedJobs[0].template.spec.template.spec"
    )


def test_what_a_train_job_says_of_resources_is_added_to_its_runtime_s() -> None:
    resources = "{requests: {cpu: 16, nvidia.com/gpu: 4}, limits: {memory: 64Gi}}"
    runtime = RUNTIME.replace("image: i}", f"image: i, resources: {resources}}}")
    [container] = expanded(TRAIN_JOB + runtime).pods[0].pod["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": 16, "nvidia.com/gpu": 8},
        "limits": {"memory": "64Gi"},
    }


@pytest.mark.parametrize(
    ("policy", "asked", "nodes"), [("", "", 4), ("", "numNodes: 2, ", 2), ("mlPolicy: {}", "", 1)]
)
def test_without_a_policy_a_train_job_has_the_nodes_that_the_job_of_its_runtime_says(
    policy: str, asked: str, nodes: int
) -> None:
    label = "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}"
    template = "        template:\n"
    spec = f"{template}          {label}\n          spec:\n            parallelism: 4\n"
    runtime = RUNTIME.replace("mlPolicy: {numNodes: 1}", policy)
    runtime = runtime.replace(f"{template}          spec:\n", spec, 1)
    assert len(expanded(TRAIN_JOB.replace("numNodes: 2, ", asked) + runtime).pods) == nodes


def test_the_jobset_of_a_train_job_has_the_labels_and_annotations_of_its_runtime() -> None:
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    marks = f"metadata: {{labels: {{a: x, b: x}}, annotations: {{{key}: rack}}}}"
    patch = "{trainingRuntimeSpec: {template: {metadata: {labels: {c: z}, annotations: {d: z}}}}}"
    train_job = TRAIN_JOB.replace("{name: llm}", "{name: llm, annotations: {own: x}}")
    more = f"  labels: {{b: y}}\n  runtimePatches: [{patch}]\n"
    runtime = RUNTIME.replace("  template:\n    spec:", f"  template:\n    {marks}\n    spec:", 1)
    found = expanded(train_job + more + runtime)
    [job_set] = [each for each in found.objects if each["kind"] == "JobSet"]
    assert job_set["metadata"]["labels"] == {"a": "x", "b": "y", "c": "z"}
    assert job_set["metadata"]["annotations"] == {key: "rack", "d": "z"}
    assert waves(found) == [["llm-node-0-0"], ["llm-node-0-1"]]


def test_the_pod_group_of_a_train_job_counts_the_pods_of_all_its_jobs() -> None:
    runtime = RUNTIME.replace(
        "  template:\n", "  podGroupPolicy: {coscheduling: {}}\n  template:\n", 1
    )
    template = "{spec: {template: {spec: {containers: [{name: c}]}}}}"
    jobs = f"replicatedJobs:\n      - {{name: dataset, template: {template}}}"
    found = expanded(TRAIN_JOB + runtime.replace("replicatedJobs:", jobs))
    [group] = [each for each in found.objects if each["kind"] == "PodGroup"]
    assert group["spec"] == {"minMember": 3}


def test_a_train_job_whose_runtime_is_not_there_says_how_to_add_it() -> None:
    with pytest.raises(UsageError) as raised:
        expanded(TRAIN_JOB)
    assert "ClusterTrainingRuntime torch is not in the files; add it" in str(raised.value)


NODE = "{spec: {containers: [{name: node}], nodeSelector: {zone: a, pool: a}}}"


def with_mpi(policy: str, trainer: str, node: str = NODE, more: str = "", group: str = "{}") -> str:
    """A TrainJob whose runtime has a launcher that is its trainer, and nodes."""
    return f"""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: ds}}
spec:
  runtimeRef: {{name: deepspeed}}
  trainer: {trainer}
  {more}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: deepspeed}}
spec:
  mlPolicy: {{numNodes: 1, mpi: {policy}}}
  podGroupPolicy: {group}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec: {{template: {node}, parallelism: 2, completions: 2}}
      - name: launcher
        dependsOn: [{{name: node, status: Ready}}]
        template:
          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
          spec: {{template: {{spec: {{containers: [{{name: node}}]}}}}}}
"""


@pytest.mark.parametrize(
    ("policy", "trainer", "nodes"),
    [
        ("{runLauncherAsNode: true}", "{numNodes: 4}", 3),
        ("{runLauncherAsNode: true}", "{numNodes: 1}", 1),
        ("{runLauncherAsNode: true}", "{}", 2),
        ("{}", "{numNodes: 4}", 4),
    ],
)
def test_the_launcher_of_a_train_job_with_mpi_may_be_one_of_its_nodes(
    policy: str, trainer: str, nodes: int
) -> None:
    found = expanded(with_mpi(policy, trainer, group="{coscheduling: {}}"))
    assert waves(found) == [[f"ds-node-0-{at}" for at in range(nodes)], ["ds-launcher-0-0"]]
    [group] = [each for each in found.objects if each["kind"] == "PodGroup"]
    assert group["spec"] == {"minMember": nodes + 1}


def test_the_nodes_of_a_train_job_with_mpi_have_the_resources_of_its_launcher() -> None:
    trainer = "{numNodes: 3, resourcesPerNode: {requests: {nvidia.com/gpu: 8}}}"
    found = expanded(with_mpi("{runLauncherAsNode: true}", trainer))
    resources = [each.pod["spec"]["containers"][0]["resources"] for each in found.pods]
    assert resources == [{"requests": {"nvidia.com/gpu": 8}}] * 3


PLACED = "{nodeSelector: {pool: b}, tolerations: [{operator: Exists}], volumes: [{name: v}]}"
JOB_PATCH = f"{{name: node, template: {{spec: {{template: {{spec: {PLACED}}}}}}}}}"


@pytest.mark.parametrize(
    ("field", "patches"),
    [
        ("podSpecOverrides", PLACED.replace("{node", "{targetJobs: [{name: node}], node", 1)),
        ("podTemplateOverrides", f"{{targetJobs: [{{name: node}}], spec: {PLACED}}}"),
        (
            "runtimePatches",
            f"{{trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{JOB_PATCH}]}}}}}}}}",
        ),
    ],
)
def test_what_a_train_job_says_of_where_its_pods_go_is_followed(field: str, patches: str) -> None:
    more = f"{field}: [{patches}]"
    found = expanded(with_mpi("{runLauncherAsNode: true}", "{numNodes: 2}", more=more))
    node, launcher = (each.pod["spec"] for each in found.pods)
    assert node["nodeSelector"] == {"zone": "a", "pool": "b"}
    assert node["tolerations"] == [{"operator": "Exists"}]
    assert "volumes" not in node
    assert launcher.keys() == {"containers"}
    note = f"TrainJob default/ds: spec.{field}[0]: volumes is not followed in this answer"
    assert found.notes == [note]


def test_labels_and_affinity_of_a_train_job_are_added_to_those_of_its_runtime() -> None:
    node = """{
        metadata: {labels: {a: x}, annotations: {b: x}},
        spec: {containers: [{name: node}], affinity: {podAffinity: {}, nodeAffinity: {old: []}}},
    }"""
    patch = """{
        targetJobs: [{name: node}],
        metadata: {labels: {c: y}, annotations: {b: y}},
        spec: {affinity: {nodeAffinity: {new: []}}},
    }"""
    more = " ".join(f"podTemplateOverrides: [{patch}]".split())
    found = expanded(
        with_mpi("{runLauncherAsNode: true}", "{numNodes: 2}", " ".join(node.split()), more)
    )
    pod = found.pods[0].pod
    assert pod["metadata"]["labels"].items() >= {("a", "x"), ("c", "y")}
    assert pod["metadata"]["annotations"]["b"] == "y"
    assert pod["spec"]["affinity"] == {"podAffinity": {}, "nodeAffinity": {"old": [], "new": []}}

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An unmodified kubectl at work on the sandbox."""

import asyncio

import pytest

from .conftest import ROOT, Kubectl

pytestmark = pytest.mark.kubectl

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
"""
GROUP = """
apiVersion: enbloc.dev/v1alpha1
kind: PodGroup
metadata: {name: train}
spec: {minMember: 2}
"""


async def test_apply_diff_scale_and_edit_of_a_built_in_kind(kubectl: Kubectl) -> None:
    assert "created" in await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    assert "unchanged" in await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    await kubectl("scale", "deploy/web", "--replicas=5")
    changed = DEPLOYMENT.replace("replicas: 2", "replicas: 3")
    assert "+  replicas: 3" in await kubectl("diff", "-f", "-", stdin=changed, code=1)
    assert "0/5" in await kubectl("get", "deploy", "web")
    assert "configured" in await kubectl("apply", "-f", "-", stdin=changed)
    assert "0/3" in await kubectl("get", "deploy", "web")
    await kubectl("set", "image", "deploy/web", "c=nginx:2")
    image = "-o=jsonpath={.spec.template.spec.containers[0].image}"
    assert await kubectl("get", "deploy", "web", image) == "nginx:2"
    assert "deployment.apps/web" in await kubectl("get", "all")
    await kubectl("delete", "deploy", "--all")


async def test_apply_and_explain_of_our_kind_on_both_sides(kubectl: Kubectl) -> None:
    assert "created" in await kubectl("apply", "-f", "-", stdin=GROUP)
    changed = GROUP.replace("minMember: 2", "minMember: 3")
    assert "configured" in await kubectl("apply", "-f", "-", stdin=changed)
    await kubectl("apply", "--server-side", "-f", "-", stdin=changed)
    await kubectl("apply", "--server-side", "-f", "-", stdin=changed)
    assert "train" in await kubectl("get", "epg", "-o", "wide")
    assert "Min Member" in await kubectl("describe", "epg", "train")
    assert "scheduled together" in await kubectl("explain", "podgroup.spec.minMember")
    wrong = GROUP.replace("minMember: 2", "minMember: 0")
    output = await kubectl("apply", "-f", "-", stdin=wrong, code=1)
    assert "should be greater than or equal to 1" in output
    assert "unknown field" in await kubectl(
        "apply", "-f", "-", stdin=GROUP.replace("minMember", "minMembers"), code=1
    )


async def test_crds_and_examples_of_the_repository_apply(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", str(ROOT / "crds"))
    crd = "crd/podgroups.enbloc.dev"
    await kubectl("wait", "--for=condition=Established", crd, "--timeout=60s")
    await kubectl("apply", "-f", str(ROOT / "manifests/examples"))


async def test_small_commands(kubectl: Kubectl) -> None:
    await kubectl("create", "ns", "team")
    await kubectl("-n", "team", "create", "configmap", "c", "--from-literal=a=b")
    await kubectl("-n", "team", "create", "secret", "generic", "s", "--from-literal=a=b")
    await kubectl("run", "p", "--image=busybox")
    await kubectl("label", "pod", "p", "a=b")
    await kubectl("annotate", "pod", "p", "a=b")
    await kubectl("patch", "pod", "p", "-p", '{"metadata":{"labels":{"c":"d"}}}')
    await kubectl("patch", "pod", "p", "--type=merge", "-p", '{"metadata":{"labels":{"c":null}}}')
    operation = '[{"op":"add","path":"/metadata/labels/e","value":"f"}]'
    await kubectl("patch", "pod", "p", "--type=json", "-p", operation)
    assert "a=b,e=f,run=p" in await kubectl("get", "pods", "--show-labels")
    assert "p" in await kubectl("get", "pods", "-l", "a in (b,c)", "-A")
    await kubectl("wait", "--for=jsonpath={.status.phase}=Pending", "pod/p", "--timeout=60s")
    assert "Tolerations" in await kubectl("describe", "pod", "p")
    assert "No resources found" in await kubectl("get", "events")
    assert "podgroups" in await kubectl("api-resources")
    assert (await kubectl("auth", "can-i", "create", "pods")).strip() == "yes"
    assert "no logs" in await kubectl("logs", "p", code=1)
    assert "kubectl apply -f -" in await kubectl("create", "job", "j", "--image=x", code=1)
    await kubectl("delete", "ns", "team")
    await asyncio.gather(
        kubectl("wait", "--for=delete", "pod/p", "--timeout=60s"), kubectl("delete", "pod", "p")
    )


async def test_a_node_is_cordoned_tainted_and_drained(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin="{apiVersion: v1, kind: Node, metadata: {name: n1}}")
    assert "cordoned" in await kubectl("cordon", "n1")
    assert "SchedulingDisabled" in await kubectl("get", "nodes")
    assert "uncordoned" in await kubectl("uncordon", "n1")
    await kubectl("taint", "node", "n1", "a=b:NoSchedule")
    assert "a=b:NoSchedule" in await kubectl("describe", "node", "n1")
    overrides = '--overrides={"spec":{"nodeName":"n1"}}'
    await kubectl("run", "p", "--image=busybox", overrides)
    drained = await kubectl("drain", "n1", "--force", "--grace-period=0", "--timeout=60s")
    assert "pod/p evicted" in drained
    assert "No resources found" in await kubectl("get", "pods")

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of the training operator and of the MPI operator: the pods of each role.

Source: training-operator v1.9 pkg/controller.v1/common/pod.go createNewPod;
pkg/controller.v1/pytorch/initcontainer.go.
Source: mpi-operator v0.6 pkg/controller/mpi_job_controller.go newWorker, newLauncherJob.
"""

from collections.abc import Mapping
from typing import Any, Final

from enbloc.wire.auto_groups import LAUNCHER, WORKER
from enbloc.workloads.fields import Fields, Template, count, read
from enbloc.workloads.making import Maker, Owner

_KEY: Final = "training.kubeflow.org/"
_WAITS: Final = "WaitForWorkersReady"
#: The field that holds each kind's replicas.
_FIELDS: Final = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}
#: The roles that are also labelled as the job's master.
_MASTERS: Final = frozenset({"master", "chief"})
#: The init container of a PyTorchJob's worker, which waits for the master.
_INIT: Final = {
    "name": "init-pytorch",
    "image": "alpine:3.10",
    "resources": {
        "limits": {"cpu": "100m", "memory": "20Mi"},
        "requests": {"cpu": "50m", "memory": "10Mi"},
    },
}


class _Replicas(Fields):
    template: Template
    replicas: int | None = None
    restart_policy: str | None = None


class _RunPolicy(Fields):
    suspend: bool | None = None


class _Spec(Fields):
    run_policy: _RunPolicy | None = None
    launcher_creation_policy: str | None = None


class _Job(Fields):
    spec: _Spec


Roles = Mapping[str, _Replicas]


def training_job(make: Maker, owner: Owner) -> None:
    """Add the pods of all replicas of a training job."""
    _, roles, field = _read(make, owner)
    has_master = any(role.lower() in _MASTERS for role in roles)
    for role, each in roles.items():
        lower, at = role.lower(), f"spec.{field}.{role}"
        labels = {
            f"{_KEY}operator-name": f"{owner.kind.lower()}-controller",
            f"{_KEY}job-name": owner.name,
            f"{_KEY}replica-type": lower,
            **({f"{_KEY}job-role": "master"} if lower in _MASTERS else {}),
        }
        spec: dict[str, Any] = {}
        if owner.kind == "PyTorchJob" and lower == WORKER and has_master:
            before = each.template.spec.get("initContainers")
            spec["initContainers"] = [*(before if isinstance(before, list) else ()), _INIT]
        for index in range(_number(make, owner, each, at)):
            make.pod(
                owner,
                each.template,
                f"{owner.name}-{lower}-{index}",
                at=f"{at}.template.spec",
                labels={**labels, f"{_KEY}replica-index": str(index)},
                spec=spec,
            )


def mpi_job(make: Maker, owner: Owner) -> None:
    """Add the workers and the launcher of an MPIJob; a launcher that waits comes a wave later."""
    spec, roles, field = _read(make, owner)
    waits = spec.launcher_creation_policy == _WAITS
    for role, each in sorted(roles.items(), key=lambda pair: pair[0].lower() == LAUNCHER):
        lower, at = role.lower(), f"spec.{field}.{role}"
        labels = {
            f"{_KEY}operator-name": "mpi-operator",
            f"{_KEY}job-name": owner.name,
            f"{_KEY}job-role": lower,
        }
        number = _number(make, owner, each, at)
        if lower == LAUNCHER:
            name = f"{owner.name}-{LAUNCHER}"
            job = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": name,
                "uid": make.uid(),
                "controller": True,
                "blockOwnerDeletion": True,
            }
            make.pod(
                owner,
                each.template,
                f"{name}-0",
                at=f"{at}.template.spec",
                labels={**labels, "job-name": name, "batch.kubernetes.io/job-name": name},
                wave=owner.wave + waits,
                by=job,
            )
            continue
        for index in range(number):
            make.pod(
                owner,
                each.template,
                f"{owner.name}-{lower}-{index}",
                at=f"{at}.template.spec",
                labels={**labels, f"{_KEY}replica-index": str(index)},
            )


def _read(make: Maker, owner: Owner) -> tuple[_Spec, Roles, str]:
    spec, field = read(owner.body, _Job, owner.where).spec, _FIELDS[owner.kind]
    given = owner.body["spec"].get(field) or {}
    roles = read(given, dict[str, _Replicas], f"{owner.where}: spec.{field}")
    if spec.run_policy is not None and spec.run_policy.suspend:
        make.suspended(owner, "spec.runPolicy.suspend")
    return spec, dict(sorted(roles.items())), field


def _number(make: Maker, owner: Owner, replicas: _Replicas, at: str) -> int:
    number = count(replicas.replicas, f"{at}.replicas", owner.where)
    make.check(number, owner, f"{at}.replicas")
    return number

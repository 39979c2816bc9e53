# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A real API server takes the plain manifests, with no warning about pod security."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from enbloc.model.names import NAMESPACE
from tests.controlplane import ControlPlane

pytestmark = pytest.mark.controlplane
INSTALL = "manifests/install.yaml"
KINDS = "manifests/enbloc-crds.yaml"


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    with ControlPlane(controller_manager=False) as running:
        yield running


def test_kustomize_builds_what_install_yaml_holds(controlplane: ControlPlane) -> None:
    built = controlplane.kubectl("kustomize", "manifests/overlays/default").stdout
    rendered = Path(INSTALL).read_text(encoding="utf-8")

    def key(document: dict[str, dict[str, str]]) -> str:
        return f"{document['kind']}/{document['metadata']['name']}"

    assert sorted(yaml.safe_load_all(built), key=key) == sorted(
        yaml.safe_load_all(rendered), key=key
    )


@pytest.mark.parametrize("mode", ["--server-side=false", "--server-side=true"])
def test_install_yaml_is_accepted_without_a_warning(controlplane: ControlPlane, mode: str) -> None:
    # A dry run makes no namespace, and needs one for what lies in it.
    namespace = "manifests/base/namespace/namespace.yaml"
    controlplane.kubectl("apply", mode, "-f", namespace)

    done = controlplane.kubectl("apply", mode, "--dry-run=server", "-f", KINDS, "-f", INSTALL)

    assert done.stderr == ""
    assert f"namespace/{NAMESPACE}" in done.stdout
    assert "deployment.apps/enbloc-scheduler" in done.stdout


@pytest.mark.parametrize("overlay", sorted(p.name for p in Path("manifests/overlays").iterdir()))
def test_an_overlay_is_accepted_without_a_warning(controlplane: ControlPlane, overlay: str) -> None:
    built = controlplane.kubectl("kustomize", f"manifests/overlays/{overlay}").stdout
    spaces = [each for each in yaml.safe_load_all(built) if each["kind"] == "Namespace"]
    controlplane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(spaces))

    done = controlplane.kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=built
    )

    assert done.stderr == ""


def test_deleting_the_install_keeps_podgroups(controlplane: ControlPlane) -> None:
    controlplane.kubectl("apply", "--server-side", "-f", KINDS)
    controlplane.established("podgroups.enbloc.dev")
    controlplane.kubectl("apply", "--server-side", "-f", INSTALL)
    group = "apiVersion: enbloc.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: kept}\nspec: {}"
    controlplane.kubectl("apply", "-f", "-", stdin=group)

    # Nobody here ends a namespace.
    controlplane.kubectl("delete", "--wait=false", "-f", INSTALL)

    assert "kept" in controlplane.kubectl("get", "podgroups.enbloc.dev").stdout


def test_examples_are_accepted(controlplane: ControlPlane) -> None:
    controlplane.kubectl("apply", "-f", "crds/")
    controlplane.established("podgroups.enbloc.dev")

    done = controlplane.kubectl("apply", "--dry-run=server", "-f", "manifests/examples/")

    assert done.stderr == ""
    assert "podgroup.enbloc.dev/train created" in done.stdout

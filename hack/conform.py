# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Hold what the chart renders, and the manifests, to the schemas of Kubernetes.

    python hack/conform.py

helm lints and renders, kubeconform compares. The schemas are local files: those that the sandbox
serves, those of `hack/schemas/` for kinds that it does not (a part of the Prometheus Operator's,
written for the fields that the chart uses), and our own of `crds/`. Nothing may have a field that
its schema does not know.
"""

import json
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from hack.build_controlplane import CHECK_TOOLS, BuildError, ensure  # noqa: E402  # needs the path

BUILTINS: Final = ROOT / "sandbox/src/enbloc_sandbox/apiserver/schema/builtins.json.xz"
SCHEMAS: Final = ROOT / "hack/schemas"
CHART: Final = ROOT / "helm/enbloc"
MONITORING: Final = "monitoring.coreos.com"
REF: Final = "#/components/schemas/"
WHERE: Final = "{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json"
#: Words of a schema below which names stand.
NAMED: Final = ("properties", "definitions")
SECONDS: Final = 120
#: What the server adds to each object.
OBJECT: Final = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


def closed(schema: Any) -> Any:
    """A JSON schema that knows all fields, from one that OpenAPI or a CRD has."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: closed(value) for key, value in schema.items() if key not in ("default", *NAMED)}
    for key in NAMED:
        if key in schema:  # what stands below are names, and no words of a schema
            kept[key] = {name: closed(each) for name, each in schema[key].items()}
    if "$ref" in schema:
        kept["$ref"] = schema["$ref"].replace(REF, "#/definitions/")
    if schema.get("x-kubernetes-int-or-string"):
        kept.pop("type", None)
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        kept.setdefault("additionalProperties", False)
    return kept


def references(schema: Any) -> Iterator[str]:
    """The definitions that a schema names."""
    if isinstance(schema, list):
        for each in schema:
            yield from references(each)
    elif isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        for each in schema.values():
            yield from references(each)


def whole(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with all definitions that it names."""
    found: dict[str, Any] = {}
    todo = [*references(schema)]
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = definitions[name]
            todo += references(found[name])
    return {**schema, "definitions": found}


def schemas() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Group, version, kind and schema of all that may be rendered."""
    served = json.loads(lzma.decompress(BUILTINS.read_bytes()))["definitions"]
    beside = json.loads((SCHEMAS / "kubernetes.json").read_text("utf-8"))
    definitions = {name: closed(each) for name, each in {**beside, **served}.items()}
    for name, schema in definitions.items():
        for each in schema.get("x-kubernetes-group-version-kind", ()):
            if name.startswith("io.k8s.api") and not name.endswith("List"):
                yield each["group"], each["version"], each["kind"], whole(schema, definitions)
    meta = {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    for path in (ROOT / "crds").glob("*.yaml"):
        spec = yaml.safe_load(path.read_text("utf-8"))["spec"]
        for version in spec["versions"]:
            own = closed(version["schema"]["openAPIV3Schema"])
            own["properties"] |= {"metadata": meta, **OBJECT}
            kind = spec["names"]["kind"]
            yield spec["group"], version["name"], kind, whole(own, definitions)
    theirs = json.loads((SCHEMAS / "monitoring.json").read_text("utf-8"))
    known = {**definitions, **closed({"definitions": theirs.pop("definitions")})["definitions"]}
    for kind, parts in theirs.items():
        properties = {**OBJECT, "metadata": meta, "spec": parts["spec"]}
        own = closed({"type": "object", "required": ["spec"], "properties": properties})
        yield MONITORING, "v1", kind, whole(own, known)


def rendered(helm: Path) -> Iterator[tuple[str, str]]:
    """A name and the documents of each way to use the chart, and of each plain manifest.

    Raises:
        subprocess.CalledProcessError: the chart does not pass lint, or does not render.
    """
    for values in sorted((CHART / "ci").glob("*-values.yaml")):
        name = str(values.relative_to(ROOT))
        for command in (("lint", "--strict", CHART), ("template", "enbloc", CHART)):
            text = run(str(helm), *map(str, command), "-f", str(values))
        yield name, text
    for folder in ("manifests/examples", "manifests"):
        for path in sorted((ROOT / folder).glob("*.yaml")):
            yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def run(*command: str, text: str = "") -> str:
    """Run a command to its end; what it printed."""
    return subprocess.run(
        command,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=SECONDS,
    ).stdout


def problems() -> Iterator[str]:
    """What is wrong, one finding each.

    Raises:
        BuildError: a tool is missing and cannot be built.
    """
    helm = ensure(["helm"]) / "helm"
    kubeconform = ensure(["kubeconform"], tools=CHECK_TOOLS) / "kubeconform"
    with tempfile.TemporaryDirectory() as folder:
        for group, version, kind, schema in schemas():
            name = f"{group or version}_{version}_{kind.lower()}.json"
            Path(folder, name).write_text(json.dumps(schema), encoding="utf-8")
        location = f"-schema-location={folder}/{WHERE}"
        try:
            for name, documents in rendered(helm):
                try:
                    run(str(kubeconform), location, "-", text=documents)
                except subprocess.CalledProcessError as error:
                    yield from (f"{name}: {line}" for line in error.stdout.splitlines())
        except subprocess.CalledProcessError as error:
            yield f"{' '.join(error.cmd)}:\n{error.stdout}"


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    try:
        found = [*problems()]
    except BuildError as error:
        found = [str(error)]
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What random cases with claims are made of: kinds, names, and what stands during a run."""

from dataclasses import dataclass
from typing import Final

from enbloc.client.paths import NAMESPACES, Resource
from tests.e2e.differential.vocabulary import Json

_STORAGE: Final = "storage.k8s.io"
_DEVICES: Final = "resource.k8s.io"
VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
STORAGE_CLASSES: Final = Resource(
    _STORAGE, "v1", "storageclasses", "StorageClass", namespaced=False
)
CSI_NODES: Final = Resource(_STORAGE, "v1", "csinodes", "CSINode", namespaced=False)
CSI_DRIVERS: Final = Resource(_STORAGE, "v1", "csidrivers", "CSIDriver", namespaced=False)
CAPACITIES: Final = Resource(_STORAGE, "v1", "csistoragecapacities", "CSIStorageCapacity")
ATTACHMENTS: Final = Resource(
    _STORAGE, "v1", "volumeattachments", "VolumeAttachment", namespaced=False
)
ATTRIBUTES: Final = Resource(
    _STORAGE, "v1", "volumeattributesclasses", "VolumeAttributesClass", namespaced=False
)
SLICES: Final = Resource(_DEVICES, "v1", "resourceslices", "ResourceSlice", namespaced=False)
DEVICE_CLASSES: Final = Resource(_DEVICES, "v1", "deviceclasses", "DeviceClass", namespaced=False)
RESOURCE_CLAIMS: Final = Resource(_DEVICES, "v1", "resourceclaims", "ResourceClaim")
TEMPLATES: Final = Resource(_DEVICES, "v1", "resourceclaimtemplates", "ResourceClaimTemplate")

#: Where the pods with claims are.
NAMESPACE: Final = "claims"
#: Without it no claim there may have adminAccess.
ADMINS: Final = "resource.kubernetes.io/admin-access"
#: A node's own disk, a disk of a zone, one whose driver says how much is left.
DISK: Final = "disk.example.com"
COUNTED: Final = "counted.example.com"
#: Whose driver stands in for a source that Kubernetes once served itself.
MIGRATED: Final = "pd.csi.storage.gke.io"
#: Classes by name: provisioner, whether volumes wait for a pod, topology.
CLASSES: Final = {
    "local": ("kubernetes.io/no-provisioner", True, ()),
    "made": (DISK, True, ()),
    "zonal": (DISK, True, ("a", "b")),
    "counted": (COUNTED, True, ()),
    "at-once": ("kubernetes.io/no-provisioner", False, ()),
}
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
GPU_DRIVER: Final = "gpu.example.com"
#: Its devices can be had by several claims, and from several nodes.
NIC_DRIVER: Final = "nic.example.com"
#: A device as a pod asks a device plugin for it, and that of a class by the class' name.
EXTENDED: Final = "example.com/gpu"
IMPLICIT: Final = "deviceclass.resource.kubernetes.io/a100"
_GPU: Final = f'device.driver == "{GPU_DRIVER}"'
#: Device classes by name: the expressions that select.
GPU_CLASSES: Final = {
    "any": (_GPU,),
    "a100": (f'{_GPU} && device.attributes["{GPU_DRIVER}"].model == "a100"',),
    "large": (
        f'{_GPU} && device.capacity["{GPU_DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0',
        f'device.attributes["{GPU_DRIVER}"].?healthy.orValue(true)',
    ),
    "nic": (f'device.driver == "{NIC_DRIVER}"',),
    "broken": ('device.attributes["nobody.example.com"].nothing',),
}


@dataclass(frozen=True)
class Made:
    """An object as it is created, and what its status becomes at once."""

    resource: Resource
    body: Json

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str | None:
        """Its namespace."""
        return NAMESPACE if self.resource.namespaced else None


def _storage_class(name: str) -> Json:
    provisioner, waits, zones = CLASSES[name]
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else []
    return {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        "allowedTopologies": terms,
    }


#: In the order in which they can be made.
STANDING_CLAIMS: Final = (
    Made(NAMESPACES, {"metadata": {"name": NAMESPACE, "labels": {ADMINS: "true"}}}),
    *(Made(STORAGE_CLASSES, _storage_class(name)) for name in CLASSES),
    Made(
        ATTRIBUTES, {"metadata": {"name": "gold"}, "driverName": DISK, "parameters": {"tier": "1"}}
    ),
    Made(CSI_DRIVERS, {"metadata": {"name": DISK}, "spec": {"attachRequired": True}}),
    Made(CSI_DRIVERS, {"metadata": {"name": COUNTED}, "spec": {"storageCapacity": True}}),
    *(
        Made(
            DEVICE_CLASSES,
            {
                "metadata": {"name": name},
                "spec": {
                    "selectors": [{"cel": {"expression": one}} for one in expressions],
                    **({"extendedResourceName": EXTENDED} if name == "any" else {}),
                },
            },
        )
        for name, expressions in GPU_CLASSES.items()
    ),
)

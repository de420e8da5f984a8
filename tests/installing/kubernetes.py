"""Kubernetes manifests: rendered by helm, read, and checked against Kubernetes' own schemas.

The schemas of all versions are in the package kubernetes-validate. Resource definitions of others (Prometheus)
have none there.
"""

from __future__ import annotations

from typing import Any

import yaml

from tests.check.source import ROOT
from tests.installing.helm import Said, helm

CHART = ROOT / "packaging" / "helm" / "rocketns"
MANIFESTS = ROOT / "packaging" / "kubernetes" / "rocketns.yaml"
OLDEST = "1.25"
Manifest = dict[str, Any]


def template(*settings: str) -> Said:
    """The chart with these values (``name=value``)."""
    values = [word for setting in settings for word in ("--set", setting)]
    return helm("template", "rocketns", str(CHART), *values, "--kube-version", OLDEST)


def rendered(*settings: str) -> list[Manifest]:
    """What the chart makes of these values."""
    status, text = template(*settings)
    assert status == 0, text
    return read(text)


def read(text: str) -> list[Manifest]:
    return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def mistakes(manifest: Manifest) -> list[str]:
    """What the oldest and the newest Kubernetes say against a manifest; unknown fields count.

    The schemas are imported only here: they need seconds, which each worker would spend when it collects.
    """
    import kubernetes_validate

    found = []
    for version in (OLDEST, kubernetes_validate.latest_version()):
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            found.append(f"{version}: {manifest['kind']}: {error.message}")
    return found


def of_kind(manifests: list[Manifest], kind: str, name: str = "rocketns") -> Manifest:
    [found] = [one for one in manifests if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


def container(manifests: list[Manifest]) -> Manifest:
    [found] = of_kind(manifests, "StatefulSet")["spec"]["template"]["spec"]["containers"]
    return dict(found)

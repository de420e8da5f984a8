"""Prints a software bill of materials (CycloneDX, JSON) of what pip installed: sbom.py DEPENDENCIES.json ROCKETNS.json

Both are reports of pip (``pip install --report``): which file it took, with its hash and its metadata. The same reports
give the same bytes.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

Installed = Mapping[str, Any]  # an item of "install" in a report
# Which optional dependencies of rocketns the image has.
EXTRAS = {"", "admin"}
LICENSE_CHARACTERS_MAX = 80  # some packages have the whole text there


def bill(dependencies: Iterable[Installed], rocketns: Installed) -> str:
    """The bill as JSON: rocketns, each dependency with the hash of the file that was installed, who needs whom."""
    root = component(rocketns, ComponentType.APPLICATION, "generic")  # no package index has it
    found = {canonicalize_name(one["metadata"]["name"]): one for one in dependencies}
    parts = {name: component(one, ComponentType.LIBRARY, "pypi") for name, one in found.items()}
    bom = Bom(components=parts.values(), serial_number=uuid.uuid5(uuid.NAMESPACE_OID, repr(sorted(found.items()))))
    bom.metadata.component = root
    for name, one in (*found.items(), (root.name, rocketns)):
        needed = [parts[other] for other in needs(one) if other in parts]
        bom.register_dependency(parts.get(name, root), needed)
    made = json.loads(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string())
    del made["metadata"]["timestamp"]  # which would be that of each run
    return json.dumps(made, indent=1) + "\n"


def component(one: Installed, kind: ComponentType, index: str) -> Component:
    metadata = one["metadata"]
    url = PackageURL(index, name=canonicalize_name(metadata["name"]), version=metadata["version"])
    hashes = one["download_info"].get("archive_info", {}).get("hashes", {})
    return Component(
        name=canonicalize_name(metadata["name"]), version=metadata["version"], type=kind, purl=url, bom_ref=str(url),
        description=metadata.get("summary"), licenses=licenses(metadata),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashes["sha256"])] if hashes else (),
    )  # fmt: skip


def licenses(metadata: Mapping[str, Any]) -> list[Any]:
    said = metadata.get("license_expression") or metadata.get("license") or ""
    return [LicenseFactory().make_from_string(said)] if 0 < len(said) <= LICENSE_CHARACTERS_MAX else []


def needs(one: Installed) -> set[str]:
    """The normalised names of what a distribution needs on this Python and processor."""
    wanted = map(Requirement, one["metadata"].get("requires_dist", ()))
    return {
        canonicalize_name(each.name)
        for each in wanted
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in EXTRAS)
    }


def installed(path: str) -> list[Installed]:
    return list(json.loads(Path(path).read_text("utf-8"))["install"])


if __name__ == "__main__":
    sys.stdout.write(bill(installed(sys.argv[1]), installed(sys.argv[2])[0]))

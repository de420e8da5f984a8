"""Writes the plain manifests: python packaging/helm/manifests.py > packaging/kubernetes/rocketns.yaml."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CHART = Path(__file__).resolve().parent / "rocketns"
# The oldest Kubernetes that the chart takes; helm itself assumes an older one.
KUBERNETES = "1.25"
HEADER = """\
# rocketns with two name servers, for kubectl apply -f. Change replicas, image and size here; the addresses of the
# name servers are rocketns-0.rocketns-headless:9876;rocketns-1.rocketns-headless:9876.
# Made from the chart by packaging/helm/manifests.py; a test compares.
"""
OF_HELM = re.compile(r" *(helm\.sh/chart|app\.kubernetes\.io/managed-by|checksum/config): .*|# Source: .*")


def rendered(helm: str, *options: str) -> str:
    command = [helm, "template", "rocketns", str(CHART), "--kube-version", KUBERNETES, *options]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def manifests(made: str) -> str:
    """What the chart makes of its defaults, without the lines that only helm has a use for."""
    lines = made.removeprefix("---\n").splitlines()
    text = "\n".join(line.rstrip() for line in lines if not OF_HELM.fullmatch(line)) + "\n"
    return HEADER + text.replace(
        "      annotations:\n        # Other properties are a reason to start the pods again.\n", ""
    )


if __name__ == "__main__":
    sys.stdout.write(manifests(rendered(sys.argv[1] if len(sys.argv) > 1 else "helm")))

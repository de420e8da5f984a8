"""The plain manifests and the Helm chart: Kubernetes' schemas accept them, and they fit the server that they start."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from interop.harness.ports import free_port
from interop.harness.rocketmq.maven import alone, cache_folder, jars
from interop.harness.servers import RocketnsServer
from rocketns import __version__, cli
from rocketns.config import Configuration
from tests.admin.http import Http
from tests.check.source import ROOT

VERSION = "0.0.21"  # of the library; it has helm 3.21.0
GROUP = "com.marcnuri.helm-java"
PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}
SOURCE = Path(__file__).with_name("HelmProgram.java")
COMPILE_TIMEOUT_S = 120
TIMEOUT_S = 100
# Java's second compiler and a collector with threads of its own would cost more than they save.
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Said(NamedTuple):
    """How a command ended: its output if its status is 0, else what it complains about."""

    status: int
    text: str


def helm(*words: str) -> Said:
    """Run a command: by the program, or by the library."""
    beside = Path(sys.executable).parent / "helm"
    found = str(beside) if beside.is_file() else shutil.which("helm")
    if found:
        done = subprocess.run([found, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        return Said(done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr)
    return _ask_library(*words)


def _ask_library(*words: str) -> Said:
    process = _of_the_library()
    assert process.stdin
    assert process.stdout
    process.stdin.write("\t".join(words) + "\n")
    process.stdin.flush()
    status, _, text = process.stdout.readline().partition(" ")
    return Said(int(status), base64.b64decode(text).decode())


@functools.cache
def _of_the_library() -> subprocess.Popen[str]:
    """The Java program that runs the commands, until this process ends: its start costs more than all of them."""
    native = f"linux-{PROCESSORS[platform.machine()]}"
    libraries = jars("helm", VERSION, "helm-java", native, group=GROUP)
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / "helm" / f"program-{digest}"
    if not folder.exists():
        with alone():
            _compile(libraries, folder)
    command = ["java", *OPTIONS, "-cp", f"{folder}:{libraries}", SOURCE.stem]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _compile(libraries: str, folder: Path) -> None:
    if folder.exists():
        return  # by the process that was waited for
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    command = ["javac", "-d", str(fresh), "-cp", libraries, str(SOURCE)]
    subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
    os.rename(fresh, folder)  # noqa: PTH104  whole or not at all


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


pytestmark = [pytest.mark.slow, pytest.mark.needs("java", "javac", "mvn")]
# Their resource definitions belong to Prometheus' operator.
FOREIGN = {"ServiceMonitor", "PrometheusRule"}
SETTINGS: dict[str, tuple[str, ...]] = {
    "defaults": (),
    "one": ("replicas=1", "persistence.enabled=false", "networkPolicy.enabled=false", "serviceAccount.create=false"),
    "admin": (
        "admin.enabled=true", "serviceMonitor.enabled=true", "prometheusRule.enabled=true", "image.digest=sha256:"
        + "0" * 64, "networkPolicy.clients[0].namespaceSelector.matchLabels.team=a", "clusterDomain=cluster.local",
        "networkPolicy.monitoring[0].namespaceSelector.matchLabels.name=prometheus", "persistence.storageClass=fast",
    ),
    "tokens": ("admin.enabled=true", "admin.tokensSecret=rocketns-tokens", "serviceMonitor.enabled=true"),
    "all the rest": (
        "service.type=NodePort", "service.annotations.a=b", "persistence.annotations.a=b", "podLabels.a=b",
        "podAnnotations.a=b", "priorityClassName=high", "nodeSelector.disk=ssd", "tolerations[0].key=a",
        "tolerations[0].operator=Exists", "imagePullSecrets[0].name=a", "extraEnv[0].name=A", "extraEnv[0].value=b",
        "podDisruptionBudget.maxUnavailable=50%", "localhostProfile=rocketns.json",
        "topologySpreadConstraints[0].maxSkew=1", "topologySpreadConstraints[0].topologyKey=zone",
        "topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway", "fullnameOverride=rocketns",
    ),
}  # fmt: skip


def plain() -> list[Manifest]:
    return read(MANIFESTS.read_text("utf-8"))


def configuration(manifests: list[Manifest], folder: Path) -> Configuration:
    path = folder / "namesrv.properties"
    path.write_text(of_kind(manifests, "ConfigMap")["data"]["namesrv.properties"], "utf-8")
    return Configuration.build(str(path), home=folder)


@pytest.mark.parametrize("manifest", plain(), ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
def test_kubernetes_accepts_the_plain_manifests(manifest: Manifest) -> None:
    assert mistakes(manifest) == []


def test_the_properties_are_known_and_take_effect(tmp_path: Path) -> None:
    found = configuration(plain(), tmp_path)
    assert found.warnings() == []
    assert found.netty.listen_port == container(plain())["ports"][0]["containerPort"]


def test_the_journal_fits_into_the_volume(tmp_path: Path) -> None:
    """The volume's other content is included: an open journal file, and the KV configuration."""
    journal = configuration(plain(), tmp_path).journal
    [claim] = of_kind(plain(), "StatefulSet")["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert journal.journal_retention_bytes + 4 * journal.journal_rotation_bytes < 2 << 30
    [mount] = [one for one in container(plain())["volumeMounts"] if one["name"] == "state"]
    assert journal.journal_path.startswith(f"{mount['mountPath']}/")


def test_the_command_is_one_that_the_program_takes() -> None:
    shell, script, *arguments = container(plain())["command"]
    assert (shell, script) == ("sh", "mqnamesrv")
    config = of_kind(plain(), "ConfigMap")["data"]
    [mount] = [one for one in container(plain())["volumeMounts"] if one["name"] == "config"]
    assert cli.parse(arguments).config_file == f"{mount['mountPath']}/{next(iter(config))}"


def test_the_pods_may_do_little() -> None:
    pod = of_kind(plain(), "StatefulSet")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsNonRoot"]) == (3000, True)
    assert container(plain())["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_pods_take_the_seccomp_profile_of_their_nodes_where_one_is_named() -> None:
    def profile(*settings: str) -> object:
        pod = of_kind(rendered(*settings), "StatefulSet")["spec"]["template"]["spec"]
        return pod["securityContext"]["seccompProfile"]

    assert profile() == {"type": "RuntimeDefault"}
    named = profile("localhostProfile=profiles/rocketns.json")
    assert named == {"type": "Localhost", "localhostProfile": "profiles/rocketns.json"}


def test_the_version_of_the_chart_is_that_of_rocketns() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_the_plain_manifests_are_what_the_chart_makes() -> None:
    """Next step: python packaging/helm/manifests.py > packaging/kubernetes/rocketns.yaml"""
    spec = importlib.util.spec_from_file_location("manifests", CHART.parent / "manifests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert MANIFESTS.read_text("utf-8") == module.manifests(template().text)


def test_helm_finds_nothing_wrong_with_the_chart() -> None:
    status, text = helm("lint", "--strict", str(CHART), "--kube-version", OLDEST)
    assert status == 0, text


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["replica=3"], "replica"),
        # Before a pod would refuse it.
        (["admin.enabled=true", "admin.hosts[0]=names.example.com:443"], "hosts"),
        (["serviceMonitor.enabled=true"], "admin.enabled=true"),
    ],
    ids=["a misspelt value", "a name with a port", "metrics without the management port"],
)
def test_the_chart_refuses(settings: list[str], complaint: str) -> None:
    status, text = template(*settings)
    assert status != 0
    assert complaint in text


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_kubernetes_accepts_what_the_chart_makes(settings: tuple[str, ...]) -> None:
    found = rendered(*settings)
    assert [mistake for one in found if one["kind"] not in FOREIGN for mistake in mistakes(one)] == []


def test_the_probes_ask_the_management_port(tmp_path: Path) -> None:
    found = rendered(*SETTINGS["admin"])
    server = container(found)
    paths = {probe: server[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/readyz", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    [port] = [one["containerPort"] for one in server["ports"] if one["name"] == "admin"]
    admin = configuration(found, tmp_path).admin
    assert (admin.admin_port, admin.admin_address) == (port, "0.0.0.0")
    assert hook(server)[0] == "/opt/rocketns/bin/python3"
    assert f"127.0.0.1:{port}/drainz" in hook(server)[-1]
    assert of_kind(found, "ServiceMonitor")["spec"]["endpoints"][0]["port"] == "admin"


def hook(server: Manifest) -> list[str]:
    """The command of the preStop hook."""
    command: list[str] = server["lifecycle"]["preStop"]["exec"]["command"]
    return command


def drains(command: list[str], tmp_path: Path) -> bool:
    """Whether the script of a hook, run by this Python, drains a server with the management port of the chart."""
    port = free_port()
    with RocketnsServer(tmp_path / "server", {"rocketns.adminPort": port}):
        script = command[-1].replace("127.0.0.1:9877", f"127.0.0.1:{port}")
        subprocess.run([sys.executable, *command[1:-1], script], check=True, timeout=60)
        return Http(port).ask("/readyz").text == "not ready: it drains\n"


def test_the_hook_of_the_chart_drains(tmp_path: Path) -> None:
    assert drains(hook(container(rendered("admin.enabled=true", "admin.drain.seconds=0"))), tmp_path)


def test_tokens_of_a_secret_are_asked_for_and_the_hook_and_prometheus_have_theirs(tmp_path: Path) -> None:
    """The hook's script is run by this Python, with the Secret as a folder."""
    found = rendered(*SETTINGS["tokens"], "admin.drain.seconds=0")
    token, port = "token-of-drain-0123456789", free_port()
    named = configuration(found, tmp_path).admin.admin_tokens_file
    server = container(found)
    [mount] = [one["mountPath"] for one in server["volumeMounts"] if one["name"] == "tokens"]
    assert named == f"{mount}/tokens"
    credentials = of_kind(found, "ServiceMonitor")["spec"]["endpoints"][0]["authorization"]["credentials"]
    assert credentials == {"name": "rocketns-tokens", "key": "scrape"}
    (tmp_path / "tokens").write_text(f"drain {token}\nprobe anyone\n")
    (tmp_path / "drain").write_text(f"{token}\n")
    running = RocketnsServer(
        tmp_path / "server", {"rocketns.adminPort": port, "rocketns.adminTokensFile": tmp_path / "tokens"}
    )
    try:
        script = hook(server)[-1].replace("127.0.0.1:9877", f"127.0.0.1:{port}").replace(mount, str(tmp_path))
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
        assert Http(port).ask("/readyz").text == "not ready: it drains\n"
    finally:
        running.stop()


def test_the_hook_of_the_documentation_drains(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operating.md").read_text("utf-8")
    [example] = [part for part in page.split("```yaml\n") if "preStop" in part.partition("```")[0]]
    assert drains(hook(yaml.safe_load(example.partition("```")[0])), tmp_path)


def test_the_management_port_may_be_asked_by_the_names_of_an_ingress(tmp_path: Path) -> None:
    hosts = ("admin.hosts[0]=names.example.com", "admin.hosts[1]=.rocketns-headless")
    admin = configuration(rendered("admin.enabled=true", *hosts), tmp_path).admin
    assert admin.host_names == ["names.example.com", ".rocketns-headless"]
    assert configuration(rendered("admin.enabled=true"), tmp_path).admin.host_names == []


def test_each_pod_is_seeded_by_all(tmp_path: Path) -> None:
    seeds = configuration(rendered("replicas=3"), tmp_path).restore.seed_servers
    assert seeds == ";".join(f"rocketns-{pod}.rocketns-headless:9876" for pod in range(3))

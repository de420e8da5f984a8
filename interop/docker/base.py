"""A Debian image with Python, made from the packages of Debian's archive, so that no image registry is needed."""

from __future__ import annotations

import platform
import shutil
import ssl
import subprocess
from pathlib import Path

from interop.docker.engine import CommandFailed, Engine, NoEngine
from interop.harness.rocketmq.maven import alone, cache_folder

TAG = "rocketns-test/debian"
BOOTSTRAP_TIMEOUT_S = 400.0
PACKAGES = "ca-certificates,python3,python3-venv"
WITHOUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")
# Debian's next release: the lists of packages that a mirror has of it may be older than their few days of validity.
IN_DEVELOPMENT = "forky"
ANY_AGE = '--aptopt=Acquire::Check-Valid-Until "false"'
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def base(engine: Engine, suite: str = "") -> str:
    """The tag of the image of a Debian release, by its code name; without one, of this machine's. NoEngine if
    containers of it do not start here."""
    suite_here = suite or _suite()
    archive = cache_folder() / f"debian-{suite_here}.tar"
    if not archive.exists():
        with alone():
            _archive(suite_here, archive)
    tag = f"{TAG}:{suite}" if suite else TAG
    engine.docker("import", f"--change=ENV PIP_CERT={CERTIFICATES} PIP_DISABLE_PIP_VERSION_CHECK=1", str(archive), tag)
    try:
        engine.docker("run", "--rm", tag, "true")
    except CommandFailed as error:
        raise NoEngine(f"the Docker engine starts no container: {str(error).splitlines()[-1][-300:]}") from error
    return tag


def _archive(suite: str, archive: Path) -> None:
    """Keep the image's files as one tar file in the cache folder."""
    if archive.exists():
        return  # by the process that was waited for
    if shutil.which("mmdebstrap") is None:
        raise NoEngine("the base image is made by mmdebstrap, which is not on the PATH (apt-get install mmdebstrap)")
    fresh = archive.with_name(f"new-{archive.name}")
    command = [
        "mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}",
        *(f"--dpkgopt=path-exclude={path}" for path in WITHOUT),
        # This machine may reach the package index through a proxy with an authority of its own.
        f"--customize-hook=copy-in {_trusted()} /etc/ssl/certs",
        *([ANY_AGE] if suite == IN_DEVELOPMENT else []),
        suite, str(fresh),
    ]  # fmt: skip
    done = subprocess.run(command, text=True, capture_output=True, timeout=BOOTSTRAP_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise NoEngine(f"mmdebstrap could not make the base image: {done.stderr[-500:]}")
    fresh.rename(archive)


def _suite() -> str:
    """This machine's Debian release: what runs here (the Java runtime, compiled parts of rocketns) runs there too."""
    release = platform.freedesktop_os_release()
    return release["VERSION_CODENAME"] if release["ID"] == "debian" else "bookworm"


def _trusted() -> str:
    found = ssl.get_default_verify_paths().cafile or CERTIFICATES
    return found if Path(found).name == Path(CERTIFICATES).name else CERTIFICATES

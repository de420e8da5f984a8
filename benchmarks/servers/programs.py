"""Builds programs in the user's cache folder: the benchmarks' own in C, and rocketmq-rust's name server."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.failures import CellFailed
from interop.harness.rocketmq.maven import cache_folder

SOURCES = Path(__file__).parents[1]
COMPILE_TIMEOUT_S, CARGO_TIMEOUT_S = 60, 3600
CRATE, CRATE_VERSION, CRATE_PROGRAM = "rocketmq-namesrv", "1.0.0", "rocketmq-namesrv-rust"


@functools.cache
def compiled(name: str, *, tls: bool = False) -> Path:
    """One of the C programs, compiled if its source or a header has changed. CellFailed without a compiler, or for
    ``tls`` without the headers of OpenSSL."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise CellFailed("no C compiler: cc was not found on the PATH")
    source = SOURCES / f"{name}.c"
    read = b"".join(path.read_bytes() for path in (source, *sorted(SOURCES.glob("*.h"))))
    digest = hashlib.sha256(read).hexdigest()[:16]
    program = cache_folder() / "benchmarks" / f"{name}{'-tls' * tls}-{digest}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        fresh = program.with_suffix(f".{os.getpid()}")
        words = ["-O2", "-o", str(fresh), str(source), "-lm", *(["-DTLS", "-lssl", "-lcrypto"] if tls else [])]
        if subprocess.run([compiler, *words], check=False, timeout=COMPILE_TIMEOUT_S).returncode:
            raise CellFailed(f"{name} does not compile{': is libssl-dev installed?' if tls else ''}")
        fresh.replace(program)  # atomic, because another run may build the same program
    return program


@functools.cache
def rust_name_server() -> Path:
    """The name server of the crate, built on the first call (some minutes). CellFailed if it cannot be built."""
    folder = cache_folder() / f"{CRATE}-{CRATE_VERSION}"
    program = folder / "bin" / CRATE_PROGRAM
    if program.exists():
        return program
    if shutil.which("cargo") is None:
        raise CellFailed("cargo was not found on the PATH")
    print(f"building {CRATE} {CRATE_VERSION} with cargo, once; this takes some minutes", flush=True)
    command = ["cargo", "install", "-q", "--locked", "--root", str(folder), "--version", CRATE_VERSION, CRATE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=CARGO_TIMEOUT_S, check=False)
    if done.returncode:
        raise CellFailed(f"cargo install {CRATE} {CRATE_VERSION} failed: {done.stderr.strip()[-120:]}")
    return program

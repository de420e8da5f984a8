"""Compiled helpers of tests. A test builds the one that it needs, so neither the package nor its build contains them.

``python -m tests.support.compiling MODULE`` compiles a module where its source changed; `compiled` does that and
imports it.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "tests"


def compiled(name: str) -> ModuleType:
    """The module of ``tests/….pyx`` with this name, as the sources are now."""
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # A sanitizer's runtime, which this process may have, is not for the compiler.
        environment = {key: text for key, text in os.environ.items() if key != "LD_PRELOAD"}
        command = [sys.executable, "-m", "tests.support.compiling", name]
        built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    file = (BUILT / name.replace(".", "/")).with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(name: str) -> None:
    from Cython.Build import cythonize
    from setuptools import Extension, setup

    source = f"{name.replace('.', '/')}.pyx"
    modules = cythonize([Extension(name, [source])], build_dir=str(BUILT / "cython"), language_level=3, quiet=True)
    arguments = ["-q", "build_ext", f"--build-lib={BUILT}", f"--build-temp={BUILT / 'temp'}"]
    setup(ext_modules=modules, script_args=arguments)


if __name__ == "__main__":
    main(sys.argv[1])

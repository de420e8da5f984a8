"""Builds the extension modules, one for each rocketns/_fast/**/*.pyx. Everything else is in pyproject.toml."""

from __future__ import annotations

import os
import shlex
import shutil
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

HERE = Path(__file__).resolve().parent
SANITIZERS = ("address", "thread", "undefined")
SANITIZE = os.environ.get("ROCKETNS_SANITIZE", "")
# Asserts which thread calls what (rocketns/_fast/system/threads.pxd); the sanitizers' builds do too.
DEBUG = bool(SANITIZE or os.environ.get("ROCKETNS_DEBUG"))

NO_COMPILER = (
    "rocketns has compiled parts and the C compiler {compiler!r} was not found: install one "
    "(Debian, Ubuntu: apt-get install gcc libc6-dev python3-dev; Fedora: dnf install gcc python3-devel) "
    "or name yours with CC=..., then run this again."
)
NO_HEADERS = (
    "rocketns has compiled parts and Python.h was not found in {folders}: install the headers of this Python "
    "(Debian, Ubuntu: apt-get install python3-dev; Fedora: dnf install python3-devel), then run this again."
)


class BuildExtensions(build_ext):
    """build_ext that says in one sentence what is missing before it tries to compile."""

    def build_extensions(self) -> None:
        compiler = (os.environ.get("CC") and shlex.split(os.environ["CC"])[0]) or self.compiler.compiler_so[0]
        if shutil.which(compiler) is None:
            raise PlatformError(NO_COMPILER.format(compiler=compiler))
        folders = sorted({sysconfig.get_path(name) for name in ("include", "platinclude")})
        if not any((Path(folder) / "Python.h").is_file() for folder in folders):
            raise PlatformError(NO_HEADERS.format(folders=" or ".join(folders)))
        super().build_extensions()


def sanitizer_flags() -> list[str]:
    """Compiler and linker flags of ROCKETNS_SANITIZE, a list like address,undefined; none when it is not set.

    Signed overflow counts as undefined, which Python's own flags do not let it. What is built with them is for a folder
    of its own (build_ext --build-lib): `python -m tests.sanitize` does that.
    """
    names = SANITIZE.split(",") if SANITIZE else []
    for name in names:
        if name not in SANITIZERS:
            raise SystemExit(f"error: ROCKETNS_SANITIZE: {name!r} is not one of {', '.join(SANITIZERS)}.")
    strict = ["-fno-sanitize-recover=all", "-fno-wrapv", "-fno-omit-frame-pointer", "-g1"]
    return [f"-fsanitize={SANITIZE}", *strict] if names else []


def sources() -> list[Path]:
    """What the name server needs; and, to find its faults, the fuzzer of its parsers."""
    fast = sorted((HERE / "rocketns" / "_fast").rglob("*.pyx"))
    return [*fast, *sorted((HERE / "tests" / "sanitize").glob("*.pyx"))] if SANITIZE else fast


def extensions() -> list[Extension]:
    sanitize = sanitizer_flags()
    return [
        Extension(
            ".".join(path.with_suffix("").relative_to(HERE).parts),
            [str(path.relative_to(HERE))],
            define_macros=[("ROCKETNS_DEBUG", "1")] if DEBUG else [],
            extra_compile_args=["-O1" if sanitize else "-O2", *sanitize],
            extra_link_args=sanitize,
        )
        for path in sources()
    ]


# setuptools wants source paths relative to this folder, and so does cythonize's dependency check.
os.chdir(HERE)
setup(
    ext_modules=cythonize(
        extensions(),
        build_dir="build/sanitize/cython" if SANITIZE else "build/cython",
        compiler_directives={"language_level": 3},
        quiet=True,
    ),
    cmdclass={"build_ext": BuildExtensions},
)

"""Builds the extension modules, one for each rocketns/_fast/**/*.pyx, and what is made from the parsers.

Everything else is in pyproject.toml.
"""

from __future__ import annotations

import gzip
import io
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.errors import PlatformError

HERE = Path(__file__).resolve().parent
SANITIZERS = ("address", "thread", "undefined")
SANITIZE = os.environ.get("ROCKETNS_SANITIZE", "")
# Builds tests/compiled too. `make` sets it; what is installed elsewhere has no use for that module.
TESTS = bool(os.environ.get("ROCKETNS_TESTS"))
# The modules are in the checkout already: `make` sets it for an editable installation.
COMPILED = bool(os.environ.get("ROCKETNS_COMPILED"))
# Asserts which thread calls what (rocketns/_fast/system/threads.pxd); the sanitizers' builds do too.
DEBUG = bool(SANITIZE or os.environ.get("ROCKETNS_DEBUG"))
# One wheel for CPython 3.11 and everything later: docs/installing.md has its price. `make wheels` sets it.
STABLE_ABI = bool(os.environ.get("ROCKETNS_STABLE_ABI"))
STABLE_ABI_SINCE = "0x030B0000"  # with typed memory views, which rocketns/_fast uses
# Cython's own code for typed memory views, once for all modules: in each of the twenty that have one it would be two
# thirds of what the C compiler reads.
MEMORY_VIEWS = "rocketns._fast.system.memory_views"
# Run at a start, a stop or a change, or wait for OpenSSL: -O1 compiles them in two thirds of the time.
RARELY_RUN = {
    MEMORY_VIEWS,
    "rocketns._fast.reactor.reactors",
}
OLDEST_ZIP_DATE = 315_532_800  # 1980-01-01, in seconds

NO_COMPILER = (
    "rocketns has compiled parts and the C compiler {compiler!r} was not found: install one "
    "(Debian, Ubuntu: apt-get install gcc libc6-dev python3-dev; Fedora: dnf install gcc python3-devel) "
    "or name yours with CC=..., then run this again."
)
NO_HEADERS = (
    "rocketns has compiled parts and Python.h was not found in {folders}: install the headers of this Python "
    "(Debian, Ubuntu: apt-get install python3-dev; Fedora: dnf install python3-devel), then run this again."
)
FREE_THREADED = (
    "rocketns does not support free-threaded Python. Its tables belong to one thread, and the GIL keeps the threads of "
    "the journal, the files and the log from seeing half of a change. It would also win nothing: the threads that "
    "answer lookups run without the GIL on every Python. Install it with a Python that has the GIL, such as {version}."
)


class BuildExtensions(build_ext):
    """build_ext that compiles on all cores, and says in one sentence what is missing before it tries to compile.

    Each way into the checkout (--inplace, pip install -e) compiles in build/, so none repeats another's work.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        if self.editable_mode:
            build = self.get_finalized_command("build")
            self.build_lib = str(HERE / "build" / f"lib.{build.plat_name}-{sys.implementation.cache_tag}")
            self.build_temp = str(HERE / "build" / f"temp.{build.plat_name}-{sys.implementation.cache_tag}")

    def run(self) -> None:
        """Cython runs here and not before: metadata and sdists need no C code."""
        refuse_free_threaded()
        if COMPILED:
            return
        if self.inplace or self.editable_mode:
            remove_stale()
        made = {extension.name: extension.sources for extension in cython(self.extensions)}
        for extension in self.extensions:
            extension.sources = made[extension.name]
        # The largest first: none is left for one core alone at the end.
        self.extensions.sort(key=lambda extension: Path(extension.sources[0]).stat().st_size, reverse=True)
        super().run()

    def build_extension(self, extension: Extension) -> None:
        super().build_extension(extension)
        self.finished = getattr(self, "finished", 0) + 1
        if sys.stderr.isatty():
            end = "\n" if self.finished == len(self.extensions) else ""
            print(f"\rcompiled {self.finished} of {len(self.extensions)} modules", end=end, file=sys.stderr, flush=True)

    def build_extensions(self) -> None:
        compiler = (os.environ.get("CC") and shlex.split(os.environ["CC"])[0]) or self.compiler.compiler_so[0]
        if shutil.which(compiler) is None:
            raise PlatformError(NO_COMPILER.format(compiler=compiler))
        folders = sorted({sysconfig.get_path(name) for name in ("include", "platinclude")})
        if not any((Path(folder) / "Python.h").is_file() for folder in folders):
            raise PlatformError(NO_HEADERS.format(folders=" or ".join(folders)))
        super().build_extensions()


class BuildPackage(build_py):
    """build_py that also writes completion scripts and message catalogues, into the checkout where it is editable.

    For a wheel it writes the manual pages, too.
    """

    def run(self) -> None:
        super().run()
        place = HERE if self.editable_mode else Path(self.build_lib).resolve()
        written("programs.py", place / "rocketns" / "tools" / "completions", "completions")
        written("catalogues.py", place / "rocketns" / "languages" / "locale")
        if not self.editable_mode:
            man = Path(self.get_finalized_command("build").build_base) / "man" / "man1"
            pages = written("programs.py", man, "manual")
            # Not an argument of setup(): the pages would be part of the sdist, where an earlier build left some.
            self.distribution.data_files = [("share/man/man1", pages)]


class ReproducibleSdist(sdist):
    """sdist whose bytes depend on the files only: not on times, owners or the place of the build."""

    def make_archive(self, *args: object, **kwargs: object) -> str:
        made = Path(super().make_archive(*args, **kwargs))
        with tarfile.open(made) as archive:
            files = sorted((member for member in archive if member.isfile()), key=lambda member: member.name)
            contents = [(member, archive.extractfile(member).read()) for member in files]
        with (
            made.open("wb") as file,
            gzip.GzipFile("", "wb", compresslevel=9, fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
        ):
            for member, content in contents:
                archive.addfile(anonymous(member), io.BytesIO(content))
        return str(made)


def written(program: str, folder: Path, *words: str) -> list[str]:
    """What a program of packaging/ writes into a folder."""
    subprocess.run([sys.executable, HERE / "packaging" / program, folder, *words], check=True)
    return sorted(map(str, folder.iterdir()))


def description() -> str:
    """README.md without links that an index could not follow."""
    command = [sys.executable, HERE / "packaging" / "description.py", HERE / "README.md"]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.pax_headers = {}
    member.mode = 0o755 if member.mode & 0o100 else 0o644
    member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", OLDEST_ZIP_DATE))  # a wheel is a ZIP file
    return member


def remove_stale() -> None:
    """Modules in the checkout whose source is gone, which Python would go on importing, and a wheel's."""
    for folder in ("rocketns", "tests/compiled"):
        for module in (HERE / folder).rglob("*.so"):
            source = module.parent / module.name.partition(".")[0]
            gone = not source.with_suffix(".pyx").exists() and source.name != MEMORY_VIEWS.rpartition(".")[2]
            if gone or module.name.endswith(".abi3.so"):
                module.unlink()


def macros() -> list[tuple[str, str]]:
    found = [("ROCKETNS_DEBUG", "1")] if DEBUG else []
    return [*found, ("Py_LIMITED_API", STABLE_ABI_SINCE)] if STABLE_ABI else found


def refuse_free_threaded() -> None:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("error: " + FREE_THREADED.format(version="python{}.{}".format(*sys.version_info)))


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
    """The name server's; the module that only tests call; and, for the sanitizers, the fuzzer of the parsers."""
    folders = ["rocketns/_fast"]
    if TESTS or SANITIZE:
        folders.append("tests/compiled")
    if SANITIZE:
        folders.append("tests/sanitize")
    return [path for folder in folders for path in sorted((HERE / folder).rglob("*.pyx"))]


def cython(modules: list[Extension]) -> list[Extension]:
    """The same modules with C code as their source. With a sanitizer the C code is the same."""
    return cythonize(
        modules,
        build_dir="build/cython",
        compiler_directives={"language_level": 3},
        shared_utility_qualified_name=MEMORY_VIEWS,
        nthreads=os.cpu_count() or 1,
        quiet=True,
    )


def extensions() -> list[Extension]:
    named = {".".join(path.with_suffix("").relative_to(HERE).parts): path for path in sources()}
    written = [extension(name, str(path.relative_to(HERE))) for name, path in named.items()]
    return [*written, extension(MEMORY_VIEWS, MEMORY_VIEWS.replace(".", "/") + ".c")]


def extension(name: str, source: str) -> Extension:
    sanitize = sanitizer_flags()
    level = "-O1" if name in RARELY_RUN else "-O2"
    # Of Python's own flags -g takes a third of the compiler's time, and -Wall is about C that Cython wrote.
    # ROCKETNS_DEBUG=1 keeps both.
    flags = ["-O0", *sanitize] if sanitize else [level] if DEBUG else [level, "-g0", "-w"]
    return Extension(
        name,
        [source],
        define_macros=macros(),
        py_limited_api=STABLE_ABI,
        # Without optimising, compiling for a sanitizer takes half as long. Tests then take a tenth more CPU time,
        # and the fuzzer plays half to two thirds as many frames in a second.
        extra_compile_args=flags,
        extra_link_args=sanitize,
    )


# setuptools wants source paths relative to this folder, and so does cythonize's dependency check.
# Cython may start processes that read this file again.
if __name__ == "__main__":
    os.chdir(HERE)
    setup(
        long_description=description(),
        long_description_content_type="text/markdown",
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExtensions, "build_py": BuildPackage, "sdist": ReproducibleSdist},
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE_ABI else {},
    )

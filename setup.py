"""Compile each .pyx file to an extension module; pyproject.toml holds everything else about the package."""

import gc
import os
import sys
from itertools import count
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer, newer_group

# The collector takes half of the time of Cython, whose trees live to the end. Also in processes that import this file.
gc.disable()

THIS_FILE = Path(__file__).name
PACKAGES = Path("river_margins"), Path("connectors")
# Cython writes its memoryview code into this module, once. Without it every module that uses a memoryview has a copy.
SHARED = "river_margins._cython_shared"
DIRECTIVES = {
    "language_level": 3,
    "auto_pickle": False,  # a tenth of the code; whatever is pickled says how, and Python refuses the rest
    "binding": True,  # signatures and keyword arguments, which River's pipelines use
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}


def compile_args() -> list[str]:
    # Without contraction an expression gives the same bits wherever it is inlined, on every architecture.
    # Nobody reads errno; without it, the root of a number is an instruction, and several numbers can share it.
    args = ["-O3", "-ffp-contract=off", "-fno-math-errno"]
    # Most Pythons add -g and -Wall, which take a quarter of the time. They stay if CFLAGS ask for debug information.
    asked_for = any(flag.startswith("-g") for flag in os.environ.get("CFLAGS", "").split())
    return args if asked_for else [*args, "-g0", "-w"]


def extension(name: str, source: Path) -> Extension:
    return Extension(name, [str(source)], include_dirs=["."], extra_compile_args=compile_args())


def extensions() -> list[Extension]:
    sources = sorted(source for package in PACKAGES for source in package.rglob("*.pyx"))
    modules = [extension(".".join(source.with_suffix("").parts), source) for source in sources]
    return [*modules, extension(SHARED, Path(*SHARED.split(".")).with_suffix(".c"))]


def processors() -> int:
    """The number of processors that this process may use."""
    return getattr(os, "process_cpu_count", os.cpu_count)() or 1


def say(line: str) -> None:
    sys.stdout.write(line + "\n")  # one write, so that lines of several threads do not mix
    sys.stdout.flush()


class BuildExtensions(build_ext):
    """Translate with Cython, then compile, on all processors; print a line for each module."""

    def run(self) -> None:
        if self.editable_mode:
            self._reuse_modules()
        super().run()

    def _reuse_modules(self) -> None:
        """Copy the compiled modules of the source tree to the build folder, which an editable install leaves empty.

        Then only modules that are older than their sources are compiled again.
        """
        for module in self.extensions:
            compiled = self.get_ext_filename(self.get_ext_fullname(module.name))
            if os.path.exists(compiled):
                target = os.path.join(self.build_lib, compiled)
                self.mkpath(os.path.dirname(target))
                self.copy_file(compiled, target)

    def build_extensions(self) -> None:
        self.parallel = self.parallel or processors()
        say("translating changed modules to C")
        self._translate(self.parallel)
        # The largest first: a large one that starts last keeps one processor busy while the others wait.
        self.extensions.sort(key=lambda module: os.path.getsize(module.sources[0]), reverse=True)
        self._outdated = {module.name for module in self.extensions if self._is_outdated(module)}
        self._numbers = count(1)
        super().build_extensions()

    def _translate(self, processes: int) -> None:
        """Write the C file of each module whose Cython sources changed, and all C files if this file changed."""
        written = [Path(module.sources[0]).with_suffix(".c") for module in self.extensions]
        force = self.force or any(path.exists() and newer(THIS_FILE, path) for path in written)
        translated = cythonize(
            self.extensions,
            nthreads=processes,
            quiet=True,
            force=force,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
        )
        for module, result in zip(self.extensions, translated, strict=True):
            module.sources, module.include_dirs = result.sources, result.include_dirs
            module.depends = [*result.depends, THIS_FILE]

    def _is_outdated(self, module: Extension) -> bool:
        made_from = [*module.sources, *module.depends]
        return self.force or newer_group(made_from, self.get_ext_fullpath(module.name), "newer")

    def build_extension(self, module: Extension) -> None:
        if module.name in self._outdated:
            say(f"compiling {next(self._numbers)}/{len(self._outdated)} {module.name.replace('.', '/')}")
        super().build_extension(module)


if __name__ == "__main__":  # processes that Cython starts may import this file
    if sys.platform == "win32":
        sys.exit("river-margins needs Linux or macOS (its processors lock files as POSIX does): on Windows, use WSL")
    # The pip that comes with an older Python looks at the dependencies before that, and blames River.
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"river-margins needs Python 3.11 or later, and this is {sys.version.split()[0]}")
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtensions})

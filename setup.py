"""Every .pyx file of the library is an extension module; all else about the package is in pyproject.toml."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

HERE = Path(__file__).parent

extensions = [
    Extension(
        ".".join(source.relative_to(HERE).with_suffix("").parts),
        [str(source.relative_to(HERE))],
        include_dirs=["."],
        # Without contraction an expression gives the same bits wherever it is inlined, on every architecture.
        extra_compile_args=["-O3", "-ffp-contract=off"],
    )
    for source in sorted((HERE / "river_margins").rglob("*.pyx"))
]

setup(
    ext_modules=cythonize(
        extensions,
        compiler_directives={
            "language_level": 3,
            "binding": True,  # signatures and keyword arguments, which River's pipelines use
            "boundscheck": False,
            "wraparound": False,
            "initializedcheck": False,
            "cdivision": True,
        },
    )
)

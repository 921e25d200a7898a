"""The stubs of the compiled modules say what the modules have: names, parameters, defaults."""

import subprocess
import sys

from tests.helpers.paths import ROOT

MODULES = [
    ".".join(source.relative_to(ROOT).with_suffix("").parts) for source in (ROOT / "river_margins").rglob("*.pyx")
]

# What other packages are typed as is not what is asked here, and reading their types takes most of a minute. Without
# River's types the estimators cannot be checked: `make lint` does that.
SETTINGS = """
[mypy]
# A pipeline of River is anything here, so a signature for other steps comes too late.
disable_error_code = overload-cannot-match
[mypy-river.*,numpy.*,pandas.*,narwhals.*,scipy.*,safetensors.*]
follow_imports = skip
follow_imports_for_stubs = True
ignore_missing_imports = True
[mypy-river_margins.families.*,river_margins.adaptation.*,river_margins.concepts.*,river_margins.conversions.*]
ignore_errors = True
[mypy-river_margins.networks.*,river_margins.theory.*,river_margins.version_space.*]
ignore_errors = True
"""

ALLOWED = r"""
.*\.__reduce_cython__  # Cython adds these two to classes that can be pickled: nobody calls them by name
.*\.__setstate_cython__
.*\.__test__  # doctest looks for this one in a module
.*\.__pyx_capi__  # what other compiled modules take from this one
river_margins\.core\.estimator\.Undisturbed  # for compiled modules
river_margins\.preprocessing\.scaler\.StandardScaler  # the metaclass is that of River's Base, which is not read here
river_margins\.preprocessing\.hasher\.FeatureHasher
river_margins\.preprocessing\.interactions\.Interactions
river_margins\.preprocessing\.one_hot\.OneHotEncoder
river_margins\.preprocessing\.words\.(BagOfWords|TFIDF)
river_margins\.pipeline\.Pipeline
"""


def test_every_compiled_module_has_a_stub():
    assert all((ROOT / module.replace(".", "/")).with_suffix(".pyi").exists() for module in MODULES)


def test_the_stubs_are_true(tmp_path):
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    (tmp_path / "allowed").write_text(ALLOWED)
    done = subprocess.run(
        [
            *[sys.executable, "-m", "mypy.stubtest", "--concise"],
            *["--mypy-config-file", tmp_path / "mypy.ini", "--allowlist", tmp_path / "allowed", *MODULES],
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr

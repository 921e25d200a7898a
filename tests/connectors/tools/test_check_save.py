import pathlib

import pytest

from connectors.errors import StartError
from connectors.tools.check_save import check_save


def test_a_dash_is_no_file(tmp_path, monkeypatch):
    """It stands for standard output elsewhere."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StartError, match="`-` is no file: name one"):
        check_save(pathlib.Path("-"))
    check_save(pathlib.Path("./model.snapshot"))

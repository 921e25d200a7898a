"""Tables on a terminal."""

import sys

from connectors.cli import snapshots
from connectors.cli.tables import show_table


def test_in_a_narrow_window_nothing_is_cut_off(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    name = "00000000000000120000-118000-20261121T102500Z-0badcafe"
    show_table(snapshots.TITLES, [(0, 120000, "2026-11-21T10:25:00Z", 118000, 2048, "yes", name)])
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "".join(line.split("│")[-2].strip() for line in shown.splitlines() if line.count("│") == 8) == name


def test_what_a_snapshot_holds_does_not_command_the_terminal(capsys):
    show_table(["what", "value"], [("written by", "river \x1b[2J\x9b31m")])
    assert capsys.readouterr().out == "what\tvalue\nwritten by\triver \\x1b[2J\\x9b31m\n"

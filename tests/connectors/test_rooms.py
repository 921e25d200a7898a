"""The rooms of connectors: imports run one way, and nothing that works on files imports anything of Kafka."""

import ast
import itertools
import re
from collections import defaultdict

from tests.helpers.paths import ROOT

PACKAGE = ROOT / "connectors"
WITHOUT_KAFKA = ("drift", "files", "formats", "model", "runtime", "snapshots")


def imports(tree):
    """Yield the modules of connectors that a module imports, within functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def rooms():
    """Return for each folder of connectors the folders and modules beside it that it imports."""
    found = defaultdict(set)
    for path in itertools.chain(PACKAGE.rglob("*.py"), PACKAGE.rglob("*.pyx")):
        room, text = path.relative_to(PACKAGE).parts[0], path.read_text()
        if path.suffix == ".pyx":  # which is not Python, but for its imports
            text = "\n".join(re.findall(r"^(?:import|from \S+ import) .*", text, re.MULTILINE))
        for module in imports(ast.parse(text)):
            package, _, rest = module.partition(".")
            if package == "connectors" and rest:
                found[room].add(rest.partition(".")[0])
            elif package == "kafka":
                found[room].add("kafka")
    return {room: others - {room} for room, others in found.items()}


def test_imports_between_rooms_run_one_way():
    found = rooms()
    assert [(one, other) for one in found for other in found[one] if one in found.get(other, ())] == []


def test_what_works_on_files_imports_nothing_of_kafka():
    found = rooms()
    assert {room: found[room] & {"kafka", "topics"} for room in WITHOUT_KAFKA} == {
        room: set() for room in WITHOUT_KAFKA
    }

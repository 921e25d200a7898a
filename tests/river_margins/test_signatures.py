"""Every public class shows its parameters: `inspect.signature` and `help` agree with the stubs."""

import ast
import inspect
import math
import pydoc

import pytest

import river_margins as rm
from tests.helpers.paths import ROOT

CLASSES = [kind for name in rm.__all__ if isinstance(kind := getattr(rm, name), type)]


def stub_of(kind):
    """The constructor as the stub, or for Python the module, of the class or of its nearest base has it."""
    for base in kind.__mro__:
        source = ROOT / f"{base.__module__.replace('.', '/')}.pyi"
        source = source if source.exists() else source.with_suffix(".py")
        if base is object or not source.exists():
            continue
        tree = ast.parse(source.read_text())
        (definition,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == base.__name__)
        for node in definition.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                return node.args
    raise AssertionError(f"no stub has a constructor of {kind.__name__}")


def parameters_of(arguments):
    """Name, whether it is keyword-only, and default of each parameter but `self`."""
    _, *names = [argument.arg for argument in arguments.args]
    defaults = [inspect.Parameter.empty] * (len(names) - len(arguments.defaults)) + [*arguments.defaults]
    yield from ((name, False, value(node)) for name, node in zip(names, defaults, strict=True))
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((argument.arg, True, value(node)) for argument, node in keywords)


def value(node):
    return eval(ast.unparse(node), {"inf": math.inf}) if isinstance(node, ast.AST) else node


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_signature_is_that_of_the_stub(kind):
    shown = [
        (parameter.name, parameter.kind is parameter.KEYWORD_ONLY, parameter.default)
        for parameter in inspect.signature(kind).parameters.values()
    ]
    assert shown == list(parameters_of(stub_of(kind)))


@pytest.mark.parametrize("kind", [rm.PA1, rm.RBF, rm.Kernel, rm.CWRule, rm.Seen], ids=lambda kind: kind.__name__)
def test_help_shows_the_parameters(kind):
    page = pydoc.plain(pydoc.render_doc(kind)).replace("\n |  ", "\n")
    written = f"{kind.__name__}{inspect.signature(kind)}"
    # Python 3.13 and later write one parameter on each line of a long signature.
    assert "".join(written.split()) in "".join(page.split()).replace(",)", ")")


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_documentation_starts_with_a_sentence(kind):
    first, *_ = inspect.getdoc(kind).splitlines()
    assert "--" not in first and not first.startswith(f"{kind.__name__}(")


def test_a_subclass_in_python_has_its_own_signature():
    class Half(rm.PA1):
        def __init__(self, C=1.0, half=True):
            super().__init__(C)
            self.half = half

    assert str(inspect.signature(Half)) == "(C=1.0, half=True)"


def test_a_rule_without_parameters_takes_none():
    with pytest.raises(TypeError):
        rm.PA(C=0.1)

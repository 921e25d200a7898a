"""Check that a rule, a space and a task make a learner together."""

import difflib
import functools
import inspect
from collections.abc import Iterable
from typing import Any

from river_margins import spaces
from river_margins.spaces.base import Space
from river_margins.tasks.base import Task


def check_pair(rule: Any, space: Any, task: str, learner: str) -> None:
    """Raise ValueError if the rule suits the space or the task only in appearance.

    Many such pairs would run and silently be another learner. For example, a rule that shrinks a covariance is PA-II in
    a space that has none. A pair is legal if the space offers all that the rule needs, or if the rule names the space.

    >>> import river_margins as rm
    >>> check_pair(rm.PerceptronRule(), rm.Linear(), "regression", "MarginRegressor")
    Traceback (most recent call last):
    ValueError: `PerceptronRule(lr=1.0, tie_update=True)` is a rule for classification and structured, and \
`MarginRegressor` does regression: use `PA1()` in `Linear()`, which suits every task
    >>> check_pair(rm.AROWRule(), rm.Linear(), "regression", "MarginRegressor")
    Traceback (most recent call last):
    ValueError: `AROWRule(r=1.0)` does not suit the space `Linear()`, which offers no covariance: use `Diagonal()` \
or `Full()`
    """
    _check_parameters(space)
    if not suits(rule, type(space)):
        missing = " and no ".join(sorted(rule.needs - space.offers)) if rule.spaces is None else ""
        suiting = _suiting(rule)
        raise ValueError(
            f"`{rule!r}` does not suit the space `{space!r}`{', which offers no ' if missing else ''}{missing}: use "
            + " or ".join(f"`{name}()`" for name in suiting)
        )
    if task not in rule.tasks:
        _check_words(rule, "tasks", rule.tasks, (kind.kind for kind in _subclasses(Task)))
        raise ValueError(
            f"`{rule!r}` is a rule for {' and '.join(rule.tasks)}, and `{learner}` does {task}: "
            "use `PA1()` in `Linear()`, which suits every task"
        )


def suits(rule: Any, space: type[Space]) -> bool:
    """Return whether the rule names the space or, if it names none, the space offers all that the rule needs."""
    return rule.needs <= space.offers if rule.spaces is None else space.__name__ in rule.spaces


def check_rule(rule: Any) -> None:
    """Raise TypeError or ValueError, saying what to write, if the class of a rule declares itself wrongly."""
    _check_parameters(rule)
    if rule.spaces is not None:
        _check_words(rule, "spaces", rule.spaces, (space.__name__ for space in _subclasses(Space)))
    elif not isinstance(rule.needs, set | frozenset):
        words = {rule.needs} if isinstance(rule.needs, str) else set(rule.needs)
        raise TypeError(f"`{type(rule).__name__}.needs` must be a set of words: write needs = {words!r}")


def _check_parameters(part: Any) -> None:
    """Raise TypeError for a rule or a space of which a copy would have other parameters."""
    kind: Any = type(part)
    _check_names(kind)
    is_compiled = not inspect.isfunction(kind.__init__)
    if lost := [name for name in part._parameter_names if not hasattr(part, name)]:
        how = f"declare it as `cdef readonly`, and write self.{lost[0]}" if is_compiled else f"write self.{lost[0]}"
        raise TypeError(f"`{kind.__name__}` does not keep its parameter `{lost[0]}`: {how} = {lost[0]} in `__init__`")


@functools.cache  # of classes that pass: to look at a signature takes longer than to make a learner
def _check_names(kind: Any) -> None:
    names = kind._parameter_names
    if isinstance(names, str):
        raise TypeError(f"`{kind.__name__}._parameter_names` must be a tuple: write _parameter_names = ({names!r},)")
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError:  # a compiled class whose docstring does not name them
        return
    wanted = tuple(each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD))
    if unnamed := [name for name in wanted if name not in names]:
        raise TypeError(
            f"`{kind.__name__}` has the parameter `{unnamed[0]}`, which `_parameter_names` does not name: write "
            f"_parameter_names = {wanted!r} in the class, and keep each parameter as an attribute of its name"
        )
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    if unknown := [name for name in names if name not in wanted and not takes_any]:
        raise TypeError(
            f"`{kind.__name__}` has no parameter `{unknown[0]}`, which `_parameter_names` names: write "
            f"_parameter_names = {wanted!r} in the class"
        )


def _check_words(rule: Any, attribute: str, words: Any, known: Iterable[str]) -> None:
    name, known = f"{type(rule).__name__}.{attribute}", sorted(set(known))
    if isinstance(words, str):
        raise TypeError(f"`{name}` must be a tuple: write {attribute} = ({words!r},)")
    for word in words:
        if word not in known:
            raise ValueError(f"`{name}` has {word!r}, {_hint(word, known)}")


def _hint(word: str, known: Iterable[str]) -> str:
    of_lower = {name.lower(): name for name in known}
    if close := difflib.get_close_matches(str(word).lower(), of_lower, 1):
        return f"which is unknown: write {of_lower[close[0]]!r}"
    return f"which is unknown: choose from {', '.join(map(repr, of_lower.values()))}"


def _suiting(rule: Any) -> list[str]:
    """Return the names of the spaces that suit a rule; raise ValueError if none does."""
    if rule.spaces is not None:
        return list(rule.spaces)
    public = {name: getattr(spaces, name) for name in spaces.__all__}
    suiting = sorted(
        (name for name, space in public.items() if suits(rule, space)), key=lambda name: (name != "Linear", name)
    )
    if not suiting:
        known = {word for space in _subclasses(Space) for word in space.offers}
        _check_words(rule, "needs", rule.needs, known)
        raise ValueError(f"no space offers all that `{rule!r}` needs: {', '.join(sorted(rule.needs))}")
    return suiting


def _subclasses(kind: Any) -> Iterable[Any]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


_WITH_A_PRICE = {
    "regression": "PARegressor(mode=2) or AROWRegressor()",
    "multilabel": "PAMultiLabelClassifier(mode=1)",
    "one-class": "PAOneClass(mode=1)",
}


def no_price(what: str, task: str = "classification") -> str:
    """Return why a learner refuses weights of examples; the sentence begins with its rule or its name."""
    # A classifier in place of a regressor would take each number for a class.
    others = _WITH_A_PRICE.get(task, "PAClassifier(mode=1), AROWClassifier() or SCWClassifier()")
    return (
        f"takes no sample weights, because no cost of a loss limits its steps: leave out {what}, or use a learner with "
        f"such a cost, for example {others}"
    )

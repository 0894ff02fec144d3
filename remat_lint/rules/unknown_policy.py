"""Finds a policy that `jax.checkpoint_policies` does not have.

## What it does
Reports an attribute of the namespace that no supported release of JAX has, or only some have; also by a literal name
in `getattr`, and as a name imported from the namespace.

## Why it is a problem
It raises AttributeError, or, from `getattr` with a default, gives the default without a word: with None that means no
policy, so that everything is computed again.

## When to ignore it
Where the program puts a member of its own into the namespace in another file.

## Fix safety
The name is corrected if exactly one member lies within two characters of it and is of the same kind, a policy to pass
or a factory to call: the program raised before, or did without its policy. Other names are only suggested.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#list-of-policies>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.policies import ELSEWHERE, NAMESPACES, POLICIES, find_nearest, suggest
from remat_lint.project.analysis import Analysis
from remat_lint.project.choices import is_tested
from remat_lint.project.namespace import MemberUse, module_events
from remat_lint.project.scopes import Event
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, Moment
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, safe

_ASKING = frozenset({"hasattr", "setattr"})
_ERRORS = ("AttributeError", "ImportError", "ModuleNotFoundError", "Exception", "BaseException")


class UnknownPolicy(Rule):
    """`unknown-policy`: a name that the namespace does not have."""

    code = "RML404"
    name = "unknown-policy"
    category = "correctness"
    severity = Severity.ERROR
    subject = MemberUse
    examples = (
        Bad(
            "one letter less",
            """
import jax

def owner(x):
    return jax.checkpoint(lambda h: h * h, policy=jax.checkpoint_policies.dots_savable)(x)
#                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import jax

def owner(x):
    return jax.checkpoint(lambda h: h * h, policy=jax.checkpoint_policies.dots_saveable)(x)
""",
            message=(
                "`jax.checkpoint_policies` has no `dots_savable`, so that this raises AttributeError; did you mean "
                "`dots_saveable`?"
            ),
            runs=True,
        ),
        Bad(
            "a factory, through aliases in the partial of a decorated method",
            """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self):
        @partial(rm, policy=cp.save_only_this_names("clé"))
#                           ^^^^^^^^^^^^^^^^^^^^^^^
        def body(x):
            return x @ x
        return body
""",
            fixed="""
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self):
        @partial(rm, policy=cp.save_only_these_names("clé"))
        def body(x):
            return x @ x
        return body
""",
        ),
        Bad(
            "by `getattr` with a default, which nothing complains about",
            """
import jax

def wrap(f):
    return jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, 'everything_savable', None))
#                                                                    ^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import jax

def wrap(f):
    return jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, 'everything_saveable', None))
""",
            message=(
                "`jax.checkpoint_policies` has no `everything_savable`, so that this `getattr` gives its default without a "
                "word; did you mean `everything_saveable`?"
            ),
        ),
        Bad(
            "something that lives in another place",
            """
import jax

def body(x):
    return jax.checkpoint_policies.checkpoint_name(x * 2, "h404")
#          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            message=(
                "`jax.checkpoint_policies` has no `checkpoint_name`, so that this raises AttributeError; it is "
                "`jax.ad_checkpoint.checkpoint_name`"
            ),
        ),
        Bad(
            "a class that one release had",
            """
from jax import checkpoint_policies as cp
import jax

def build(f):
    return jax.checkpoint(f, policy=cp.SaveOnlyTheseNames(frozenset({"h404"})))
#                                   ^^^^^^^^^^^^^^^^^^^^^
""",
            message=(
                "`jax.checkpoint_policies` has `SaveOnlyTheseNames` in JAX 0.11 only, and elsewhere this raises "
                "AttributeError; use `save_only_these_names` (on JAX 0.4.30 to 0.10.2 and 0.12.0 and newer)"
            ),
            severity=Severity.WARNING,
        ),
        Good(
            "every way to reach the policies",
            """
import jax
from jax import ad_checkpoint as adc, checkpoint_policies
from jax.ad_checkpoint import checkpoint_policies as pol

policies = [jax.checkpoint_policies.checkpoint_dots, checkpoint_policies.dots_saveable, pol.nothing_saveable,
            adc.checkpoint_policies.save_any_names_but_these("h"), getattr(pol, "dots_saveable")]
layers = [jax.checkpoint(lambda x: x * 2, policy=policy) for policy in policies]
""",
        ),
        Good(
            "a word that means none is turned away first",
            """
import jax

def wrap(f, policy="none"):
    if policy == "none":
        return f
    return jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, policy))
""",
        ),
        Good(
            "a release without it is provided for",
            """
from jax import checkpoint_policies as cp

try:
    make = cp.SaveOnlyTheseNames
except AttributeError:
    make = cp.save_only_these_names

other = cp.SaveAnyNamesButThese if hasattr(cp, "SaveAnyNamesButThese") else cp.save_any_names_but_these
""",
        ),
        Good(
            "a namespace of one's own",
            """
class checkpoint_policies:
    light = None

policy = checkpoint_policies.light
""",
        ),
        Miss(
            "a name that comes from the configuration",
            """
import jax

def wrap(f, cfg):
    return jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, cfg.policy))
""",
        ),
    )

    def check(self, subject: MemberUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report a member that does not exist."""
        known = POLICIES.get(subject.name)
        if subject.name.startswith("__") or (known is not None and not known.absent):
            return
        event = _event(subject)
        if event is not None and (_is_caught(event) or expected(event, project, *_ERRORS)):
            yield Silent("the code says what happens without it")
        elif _is_provided(subject, project) or _is_asked(subject):
            yield Silent("the code provides for a namespace without it, or puts it there")
        elif not any(is_tested(node, scope) for node, scope in subject.names):
            where = "jax.checkpoint_policies"
            place = Place(subject.module, subject.at)
            if known is not None:
                message = (
                    f"`{where}` has `{known.name}` in JAX {known.since.rpartition('.')[0]} only, and elsewhere this "
                    f"{_result(subject)}; use `{_LOWER[known.name]}`"
                )
                yield Report(place, message, self.severity, versions=known.absent)
                return
            message = f"`{where}` has no `{subject.name}`, so that this {_result(subject)}{_suggestion(subject.name)}"
            yield Report(place, message, self.severity, facts=subject)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Correct the name, if there is only one that it can be."""
        del project
        use: MemberUse | None = report.facts
        nearest = None if use is None else find_nearest(use.name)
        if use is None or nearest is None or (nearest.kind == "factory") is not use.called:
            return None
        text = report.place.text
        if use.form == "attribute" and text.endswith(use.name):
            fixed = text.removesuffix(use.name) + nearest.name
        elif use.form == "getattr" and text[1:-1] == use.name:
            fixed = text[0] + nearest.name + text[-1]
        else:
            return None
        return safe(f"Write `{nearest.name}`", report.place.replace(fixed))


_LOWER = {
    "SaveOnlyTheseNames": "save_only_these_names",
    "SaveAnyNamesButThese": "save_any_names_but_these",
    "SaveAndOffloadOnlyTheseNames": "save_and_offload_only_these_names",
}


def _result(use: MemberUse) -> str:
    if use.form == "import":
        return "raises ModuleNotFoundError"
    return "`getattr` gives its default without a word" if use.default else "raises AttributeError"


def _suggestion(name: str) -> str:
    if name in ELSEWHERE:
        return f"; it is `{ELSEWHERE[name]}`"
    meant = suggest(name)
    return f"; did you mean `{meant}`?" if meant else "; see the list of policies for what there is"


def _event(use: MemberUse) -> Event | None:
    """Return what happens nearest around a use, for the blocks around it."""
    if use.moment.event is not None:
        return use.moment.event
    module = use.module
    for node in module.builder.parents.chain(use.at):
        event = module.happened(node.at)
        if event is not None:
            return event
        if isinstance(node, n.Bind | n.Return):
            return next((e for e in module_events(module) if e.node is node), None)
    return None


def _is_caught(event: Event) -> bool:
    """Whether a handler around takes the error."""
    for guard in event.guards:
        for handler in guard.handlers if isinstance(guard, n.Try) else ():
            names = {
                node.attr if isinstance(node, n.Attribute) else node.id
                for node in walk(handler.type)
                if isinstance(node, n.Attribute | n.Name)
            }
            if handler.type is None or names.intersection(_ERRORS):
                return True
    return False


def _is_asked(use: MemberUse) -> bool:
    """Whether the file asks for this very member first, or does different things by release."""
    for event in list(use.module.builder.happened.values()):
        call = event.node
        if isinstance(call, n.Call) and isinstance(call.func, n.Name) and call.func.id in _ASKING:
            name = call.args[1].value if len(call.args) > 1 else None
            if isinstance(name, n.Constant) and name.value == use.name:
                return True
    return any(_asks_version(node) for node in use.module.builder.parents.chain(use.at))


def _asks_version(node: n.Node) -> bool:
    """Whether a branch tests something that is called a version."""
    tests = [arm.test for arm in node.arms] if isinstance(node, n.Branch) else []
    if isinstance(node, n.Conditional):
        tests = [node.test]
    return any(
        "version" in getattr(inner, "attr", getattr(inner, "id", "")).lower()
        for test in tests
        if test is not None
        for inner in walk(test)
    )


def _is_provided(use: MemberUse, project: Analysis) -> bool:
    """Whether the file stores a member of this name in the namespace."""
    for event in module_events(use.module):
        target = event.target
        if event.kind == "store" and isinstance(target, n.Attribute) and target.attr == use.name:
            values = project.evaluate(target.value, Moment(event.scope, event))
            if any(isinstance(value, External) and value.dotted in NAMESPACES for value in values):
                return True
    return False

"""The annotated fields of a class, as dataclasses and modules of frameworks have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.members import Members
from remat_lint.project.scopes import Scope
from remat_lint.project.values import Moment


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """`name: annotation = default` in the body of the class `cls`."""

    cls: Scope
    name: str
    annotation: n.Expression
    default: n.Expression | None

    @property
    def moment(self) -> Moment:
        """Where its annotation and its default are evaluated."""
        return Moment(self.cls, None)


def fields(cls: Scope, project: Members) -> Iterator[Field]:
    """Yield the fields of a class and its bases in the project, those of bases first."""
    for step in reversed(list(project.lineage(cls))):
        assert isinstance(step.node, n.Class)
        for statement in step.node.body:
            if isinstance(statement, n.Bind) and statement.annotation is not None:
                for target in statement.targets:
                    if isinstance(target, n.Name):
                        yield Field(step, target.id, statement.annotation, statement.value)

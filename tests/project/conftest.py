import textwrap

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.project.values import ClassRef, External, FunctionRef, Given, Partial


def describe(body):
    """Return a short word for what runs inside a site."""
    match body:
        case FunctionRef():
            return body.scope.qualname
        case ClassRef():
            return f"class {body.scope.qualname}"
        case Partial():
            return f"partial {describe(body.target)}"
        case External():
            return body.dotted
        case Given():
            return f"parameter {body.parameter.name}"
        case _:
            return type(body).__name__.lower()


class Sites:
    """Writes files and lists their sites as (file:row, API, bodies)."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "pyproject.toml").write_text("", encoding="utf-8")

    def write(self, **files):
        for name, text in files.items():
            path = self.folder / (name.replace("__in__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")

    def engine(self, *, whole=False):
        return Engine(Settings(root=self.folder, select=("ALL",)), whole=whole)

    def all(self, *names):
        engine = self.engine()
        found = []
        for module, site in engine.sites([self.folder / f"{name}.py" for name in names] or [self.folder]):
            at = engine.analysis.place(site).at if site.via else site.at
            row = module.span(at).start.row
            found.append(
                (f"{module.path.stem}:{row}", site.wrapper.qualname, [describe(body) for body in site.bodies])
            )
        return found

    def calls(self):
        """Return, for each site, the rows where its result is called."""
        engine = self.engine()
        out = []
        for module, site in engine.sites([self.folder]):
            out.append([module.span(call.call.at).start.row for call in engine.analysis.site_calls(site)])
        return out


@pytest.fixture
def sites(tmp_path):
    return Sites(tmp_path)

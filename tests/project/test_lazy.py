"""Parsing less changes nothing: neither findings nor sites, on random programs and on real packages."""

import gc
import importlib.util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from remat_lint.config import Settings
from remat_lint.engine import Engine
from tests.project.programs import modules

PACKAGES = [
    "equinox",
    "flax/linen",
    "flax/core",
    "haiku/_src",
    "jax/ad_checkpoint.py",
    "optax",
]


def everything(root, paths, *, whole):
    """Return what is found and which sites there are, and how many characters were parsed for it."""
    engine = Engine(Settings(root=root, select=("ALL",), exclude=(), respect_gitignore=False), whole=whole)
    findings = engine.check_paths(paths).findings
    sites = []
    for module, site in engine.sites(paths):
        place = engine.analysis.place(site)
        span = module.span(place.at if site.via else site.at)
        bodies = sorted(type(body).__name__ for body in site.bodies)
        sites.append((str(module.path), span, site.wrapper.qualname, site.form, len(site.via), bodies))
    parsed = sum(size for _, _, size, again in engine.project.parsed if not again)
    return [*map(repr, findings)], sorted(map(repr, sites)), parsed


@given(text=modules())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_programs_are_the_same_to_both(tmp_path, text):
    (tmp_path / "main.py").write_text(text, encoding="utf-8")
    lazy, whole = (everything(tmp_path, [tmp_path], whole=whole) for whole in (False, True))
    assert lazy[0] == whole[0]
    assert lazy[1] == whole[1]
    assert lazy[2] <= whole[2]


@pytest.mark.parametrize("package", PACKAGES)
def test_real_packages_are_the_same_to_both(package, tmp_path):
    name = package.partition("/")[0]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(f"{name} is not installed")
    # Linted as a project of its own: what it imports from the packages around it is outside.
    root = Path(spec.origin).parent.parent
    linked = tmp_path / name
    linked.symlink_to(root / name)
    path = tmp_path / package
    gc.disable()
    try:
        lazy, whole = (everything(tmp_path, [path], whole=whole) for whole in (False, True))
    finally:
        gc.enable()
    assert lazy[0] == whole[0]
    assert lazy[1] == whole[1]
    # To know which imports of one file lead to a wrapper, a few statements of other files are parsed.
    assert path.is_file() or lazy[2] <= whole[2]

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus import counts, sites
from tests.corpus.clones import find_clones

TEXT = """\
import jax
from own import wrap

class Layer:
    def __call__(self, x):
        def block(y):
            return y * 2
        return jax.remat(block)(x)

def plain(x):
    return x + 1

def loss(x):
    return wrap(plain)(x)
"""
OWN = "import jax\ndef wrap(f):\n    return jax.checkpoint(f)\n"
KNOWN = """\
repo\tcommit\tpath\tline\tform\tclassification\timport_spelling\tscope
a/b\t0\tm.py\t3\tcall\tcall of jax.remat on local-def block -> called-now ; in Layer.__call__\tjax.remat\tapp
a/b\t0\tm.py\t14\tother\tcall of wrapper factory on module-def plain -> called-now ; in loss\twrap\tapp
a/b\t0\tm.py\t90\tcall\tcall of jax.remat on local-def gone -> called-now ; in elsewhere\tjax.remat\tapp
a/b\t0\tm.py\t91\tother\tbare reference as value -> assign:remat ; in module level\tjax.remat\tapp
"""


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "clones" / "a+b"
    folder.mkdir(parents=True)
    (folder / "m.py").write_text(TEXT)
    (folder / "own.py").write_text(OWN)
    (folder / "big.bin").write_bytes(b"\0")
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "first"], check=True)
    return find_clones(tmp_path / "clones")["a/b"]


def test_clone_is_extracted_with_its_sources_only(clone, tmp_path):
    tree = clone.extract(tmp_path)
    assert sorted(path.name for path in tree.iterdir()) == ["m.py", "own.py"]
    assert len(clone.commit) == 40


def test_known_sites_are_matched_by_definition_and_api_not_by_line(clone, tmp_path):
    table = tmp_path / "sites.tsv"
    table.write_text(KNOWN)
    score = sites.match(sites.read_known(table), sites.list_sites(clone.extract(tmp_path)))
    assert (score.direct, score.seen, score.bodies) == (2, 1, 1)
    assert (score.effective, score.effective_seen) == (3, 2)
    assert [line.partition(" [")[0] for line in score.unseen] == ["a/b m.py:90 jax.remat"]


def test_body_of_a_factory_is_what_its_callers_give(clone, tmp_path):
    row = "a/b\t0\town.py\t3\tcall\tcall of jax.checkpoint on local-param f -> return ; in wrap\tjax.checkpoint\tapp"
    table = tmp_path / "sites.tsv"
    table.write_text(KNOWN.partition("\n")[0] + f"\n{row}\n")
    listed = sites.list_sites(clone.extract(tmp_path))
    assert sites.match(sites.read_known(table), listed).bodies == 1
    unused = [site for site in listed if not site["through"]]
    assert sites.match(sites.read_known(table), unused).bodies == 0


def test_site_of_another_api_does_not_count(clone, tmp_path):
    table = tmp_path / "sites.tsv"
    table.write_text(KNOWN.replace("call of jax.remat", "call of hk.remat"))
    assert sites.match(sites.read_known(table), sites.list_sites(clone.extract(tmp_path))).seen == 0


def test_changed_counts_and_commits_are_told():
    before = {"a/b": {"commit": "1" * 40, "counts": {"RML101 error": 1, "RML702 warning": 2}}}
    now = {
        "a/b": {"commit": "2" * 40, "counts": {"RML101 error": 3}},
        "c/d": {"commit": "3" * 40, "counts": {}},
    }
    assert list(counts.differences(before, now)) == [
        "a/b: at 22222222, the counts are of 11111111",
        "a/b: RML101 error: 1 -> 3",
        "a/b: RML702 warning: 2 -> 0",
        "c/d: new, no findings",
    ]
    assert list(counts.differences(before, before)) == []


def test_counts_are_those_of_the_findings(tmp_path):
    (tmp_path / "m.py").write_text(
        "import jax\ng = jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)\n"
    )
    assert counts.count_findings(tmp_path)["RML201 error"] == 1


def test_committed_counts_hold_for_the_clones():
    folder = os.environ.get("REMAT_LINT_CLONES")
    if not folder:
        pytest.skip("real repositories were not checked: REMAT_LINT_CLONES names no folder of clones")
    done = subprocess.run(
        [sys.executable, "-m", "tests.corpus", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_committed_counts_name_sixteen_repositories_and_their_commits():
    committed = json.loads(Path(counts.COMMITTED).read_text())
    assert len(committed) >= 16
    assert all(len(entry["commit"]) == 40 for entry in committed.values())

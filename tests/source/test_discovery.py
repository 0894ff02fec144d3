"""Which files a run is about."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from remat_lint.config import DEFAULT_EXCLUDE
from remat_lint.errors import UsageError
from remat_lint.source.discovery import discover
from remat_lint.source.patterns import Patterns


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")


def names(found, root):
    return [str(path.relative_to(root)) for path in found.files]


def find(root, *paths, **options):
    return discover([root / path for path in paths] or [root], root=root, **options)


def test_python_files_are_found_in_order_and_nothing_else(tmp_path):
    make(tmp_path, "b.py", "a/z.pyi", "a/c.py", "a/c.pyc", "notes.md", "py", "a.pyx", ".hidden.py", "Ä/漢.py")
    found = find(tmp_path)
    assert names(found, tmp_path) == [".hidden.py", "a/c.py", "a/z.pyi", "b.py", "Ä/漢.py"]
    assert found.problems == found.excluded == ()
    assert all(path.is_absolute() for path in found.files)


def test_a_file_named_twice_is_found_once(tmp_path):
    make(tmp_path, "a/b.py")
    assert names(find(tmp_path, ".", "a", "a/b.py", "a/../a/b.py"), tmp_path) == ["a/b.py"]


def test_relative_paths_count_from_the_current_folder(tmp_path, monkeypatch):
    make(tmp_path, "a/b.py", "a/c.py")
    monkeypatch.chdir(tmp_path / "a")
    assert discover([Path("b.py")], root=tmp_path).files == (tmp_path / "a/b.py",)
    assert names(discover([Path()], root=tmp_path, exclude=["a/c.py"]), tmp_path) == ["a/b.py"]


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"'no\\nsuch\.py' does not exist"):
        discover([Path("no\nsuch.py")], root=tmp_path)
    make(tmp_path, "a.py")
    with pytest.raises(UsageError, match=r"a\.py/b"):
        find(tmp_path, "a.py/b")


@pytest.mark.parametrize(
    "name", ["a\nb.py", "100%.py", "a::b.py", "-r.py", "[x].py", "a b.py", "\udcff.py", "*.py"]
)
def test_a_hostile_name_is_just_a_name(tmp_path, name):
    make(tmp_path, name, ".gitignore")
    assert find(tmp_path).files == find(tmp_path, name).files == (tmp_path / name,)


def test_folders_of_generated_and_installed_code_are_left_out(tmp_path):
    make(tmp_path, "a.py", *(f"pkg/{name}/b.py" for name in DEFAULT_EXCLUDE))
    assert names(find(tmp_path), tmp_path) == ["a.py"]


def test_excludes_hold_for_files_that_are_named(tmp_path):
    make(tmp_path, "build/a.py", "gen/b_pb2.py", "c.py")
    found = find(tmp_path, "build/a.py", "gen/b_pb2.py", "build", "c.py", extend_exclude=["*_pb2.py"])
    assert names(found, tmp_path) == ["c.py"]
    assert found.excluded == (
        (tmp_path / "build/a.py", "build"),
        (tmp_path / "gen/b_pb2.py", "*_pb2.py"),
        (tmp_path / "build", "build"),
    )


def test_given_excludes_replace_the_default_ones_and_further_ones_are_added(tmp_path):
    make(tmp_path, "build/a.py", "old/b.py", "c.py")
    assert names(find(tmp_path, exclude=["old"]), tmp_path) == ["build/a.py", "c.py"]
    assert names(find(tmp_path, extend_exclude=["old"]), tmp_path) == ["c.py"]


def test_folders_above_the_root_exclude_nothing(tmp_path):
    root = tmp_path / "build" / "venv" / "project"
    make(root, "a.py", "venv/b.py")
    assert names(find(root), root) == ["a.py"]
    assert names(find(root, "a.py"), root) == ["a.py"]
    assert names(discover([root.parent], root=root), root) == ["a.py"]


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("build", ["build", "a/build", "build/x/y.py"], ["builds", "a.build"]),
        ("build/", ["build", "a/build/x.py"], ["builds"]),
        ("*_pb2.py", ["a_pb2.py", "x/y/_pb2.py"], ["a_pb2.pyi"]),
        ("docs/examples", ["docs/examples", "docs/examples/a.py"], ["x/docs/examples", "docs/examples2"]),
        ("./docs/*.py", ["docs/a.py"], ["docs/a/b.py", "docs"]),
        ("/docs", ["docs", "docs/x"], ["a/docs"]),
        ("**/gen/*.py", ["gen/a.py", "a/b/gen/a.py"], ["gen", "regen/a.py"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z/q.py"], ["az", "a/b"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "ab/c"]),
        ("t?st_[0-9!].py", ["test_1.py", "tost_!.py"], ["tst_1.py", "test_a.py"]),
        ("[!a]x", ["bx", "^x"], ["ax", "x"]),
        ("[]x].py", ["].py", "x.py"], ["a.py"]),
        ("a[b", ["a[b"], ["ab"]),
        ("[z-a]", ["[z-a]"], ["m"]),
        ("a.b", ["a.b"], ["axb"]),
        ("x[&&~||^-]", ["x&", "x~", "x-", "x^"], ["x", "x["]),
        ("[!!-0]", ["x", "1"], ["!", "-", "0"]),
    ],
)
def test_exclude_patterns(pattern, fits, fits_not):
    patterns = Patterns([pattern])
    assert [patterns.find_above(path.split("/")) for path in fits] == [
        pattern.rstrip("/") if pattern == "build/" else pattern for _ in fits
    ]
    assert [path for path in fits_not if patterns.find_above(path.split("/"))] == []


def test_gitignore_files_hold_from_their_folder_down(tmp_path):
    make(
        tmp_path,
        "a.py",
        "sub/a.py",
        "sub/gen.py",
        "sub/deep/gen.py",
        "gen.py",
        "sub/keep/x.py",
        "out/x.py",
        "sub/out/x.py",
    )
    (tmp_path / ".gitignore").write_text("# note\n/out/\n*en.py\n")
    (tmp_path / "sub/.gitignore").write_text("!/gen.py\nkeep/*\n")
    assert names(find(tmp_path), tmp_path) == ["a.py", "sub/a.py", "sub/gen.py", "sub/out/x.py"]
    assert "sub/keep/x.py" in names(find(tmp_path, respect_gitignore=False), tmp_path)


def test_gitignore_files_above_a_named_folder_hold_in_it(tmp_path):
    make(tmp_path, "sub/deep/a.py", "sub/deep/b.py", "sub/deep/c.py")
    (tmp_path / ".gitignore").write_text("a.py\n")
    (tmp_path / "sub/.gitignore").write_text("deep/b.py\n")
    assert names(find(tmp_path, "sub/deep"), tmp_path) == ["sub/deep/c.py"]


def test_gitignore_does_not_hold_for_what_is_named(tmp_path):
    make(tmp_path, "gen/a.py", "gen/b.py", "gen/c.py", "d.py")
    (tmp_path / ".gitignore").write_text("gen/\nd.py\n")
    (tmp_path / "gen/.gitignore").write_text("c.py\n")
    assert names(find(tmp_path, "d.py", "gen/c.py"), tmp_path) == ["d.py", "gen/c.py"]
    assert names(find(tmp_path, "gen"), tmp_path) == ["gen/a.py", "gen/b.py"]
    assert names(find(tmp_path), tmp_path) == []


def test_the_exclude_file_of_a_repository_holds_and_ends_with_it(tmp_path):
    make(tmp_path, "a.py", "local.py", "inner/local.py", "inner/b.py", "inner/secret.py")
    for place, text in (
        (".git/info/exclude", "local.py\nb.py\n"),
        ("inner/.git/info/exclude", "secret.py\n"),
    ):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(text)
    assert names(find(tmp_path), tmp_path) == ["a.py", "inner/b.py", "inner/local.py"]
    assert names(find(tmp_path, "inner"), tmp_path) == ["inner/b.py", "inner/local.py"]


def test_a_gitignore_above_the_repository_does_not_hold(tmp_path):
    make(tmp_path, "project/a.py")
    (tmp_path / ".gitignore").write_text("a.py\n")
    assert names(find(tmp_path / "project"), tmp_path) == ["project/a.py"]
    (tmp_path / ".git").mkdir()
    assert names(find(tmp_path / "project"), tmp_path) == []


def test_unusable_lines_of_a_gitignore_are_skipped(tmp_path):
    make(tmp_path, "a.py", "b.py", "\udcff.py")
    (tmp_path / ".gitignore").write_bytes(b"!\nx\\\n\xff.py\n[\n\nb.py\r\n")
    assert names(find(tmp_path), tmp_path) == ["a.py"]


def test_a_gitignore_that_is_no_plain_file_is_not_read(tmp_path):
    make(tmp_path, "a/a.py", "b/b.py", "c/c.py")
    os.mkfifo(tmp_path / "a/.gitignore")
    (tmp_path / "b/.gitignore").mkdir()
    (tmp_path / "patterns").write_text("*.py\n")
    (tmp_path / "c/.gitignore").symlink_to(tmp_path / "patterns")
    assert names(find(tmp_path), tmp_path) == ["a/a.py", "b/b.py", "c/c.py"]


PATTERNS = [
    "*.py",
    "!a.py",
    "/b/",
    "b/*",
    "!b/c/",
    "c",
    "**/d.py",
    "b/**/a.py",
    "!d.py",
    "/*",
    "!/c/",
    "a?.py",
    "[ab].py",
]


@pytest.mark.parametrize("seed", range(40))
def test_ignored_files_are_those_of_git(tmp_path, seed):
    import random

    draw = random.Random(seed)  # noqa: S311  # no secret
    folders = ["", "b/", "c/", "b/c/", "c/b/c/"]
    make(tmp_path, *(folder + name for folder in folders for name in ("a.py", "ab.py", "d.py")))
    for folder in draw.sample(folders, 3):
        (tmp_path / folder / ".gitignore").write_text("\n".join(draw.sample(PATTERNS, draw.randint(1, 4))))
    git = ["git", "-C", str(tmp_path), "-c", "core.excludesFile=/dev/null"]
    subprocess.run([*git, "init", "-q"], check=True)
    listed = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard", "*.py"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert names(find(tmp_path), tmp_path) == sorted(listed.stdout.split())


def test_loops_of_links_end(tmp_path):
    make(tmp_path, "a/b.py")
    (tmp_path / "a/up").symlink_to(tmp_path)
    (tmp_path / "a/self").symlink_to("self")
    (tmp_path / "loop.py").symlink_to("loop.py")
    found = find(tmp_path)
    assert names(found, tmp_path) == ["a/b.py"]
    assert [problem.path.name for problem in found.problems] == ["loop.py"]


def test_a_folder_behind_a_link_is_walked_if_it_is_named(tmp_path):
    make(tmp_path, "real/b.py")
    (tmp_path / "link").symlink_to("real")
    assert names(find(tmp_path), tmp_path) == ["real/b.py"]
    assert names(find(tmp_path, "link"), tmp_path) == ["link/b.py"]
    assert names(find(tmp_path, "link", "real"), tmp_path) == ["real/b.py"]


def test_links_to_one_file_are_one_file(tmp_path):
    make(tmp_path, "real.py", "elsewhere.txt")
    (tmp_path / "alias.py").symlink_to("real.py")
    (tmp_path / "two.py").symlink_to("elsewhere.txt")
    (tmp_path / "one.py").symlink_to("elsewhere.txt")
    assert names(find(tmp_path), tmp_path) == ["one.py", "real.py"]
    assert names(find(tmp_path, "alias.py"), tmp_path) == ["alias.py"]
    assert names(find(tmp_path, "alias.py", "."), tmp_path) == ["one.py", "real.py"]


def test_what_is_no_file_is_reported_and_never_opened():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        root = Path(folder).resolve()  # tmp_path can be too long for a socket
        make(root, "a.py", "folder.py/b.py")
        os.mkfifo(root / "pipe.py")
        server.bind(str(root / "socket.py"))
        (root / "gone.py").symlink_to("nowhere")
        (root / ".#edited.py").symlink_to("user@host.123")
        (root / "device.py").symlink_to("/dev/null")
        expected = [
            ("device.py", "is not a regular file"),
            ("gone.py", "is a link to nothing"),
            ("pipe.py", "is not a regular file"),
            ("socket.py", "is not a regular file"),
        ]
        found = find(root)
        assert names(found, root) == ["a.py", "folder.py/b.py"]
        assert [(problem.path.name, problem.reason) for problem in found.problems] == expected
        named = find(root, "pipe.py", "socket.py", "gone.py", "device.py", "a.py")
        assert names(named, root) == ["a.py"]
        assert named.problems == found.problems


def test_a_named_file_of_another_kind_is_reported_and_a_script_without_ending_is_read(tmp_path):
    make(tmp_path, "notes.md", "script")
    found = find(tmp_path, "notes.md", "script")
    assert names(found, tmp_path) == ["script"]
    assert [problem.reason for problem in found.problems] == ["is not a Python file (.py, .pyi)"]


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path, monkeypatch):
    make(tmp_path, "a.py", "closed/b.py", "open/c.py")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root may list everything, so the refusal is played
    found = find(tmp_path)
    assert names(found, tmp_path) == ["a.py", "open/c.py"]
    assert [(problem.path, problem.reason) for problem in found.problems] == [
        (tmp_path / "closed", "cannot be read: Permission denied")
    ]


def test_a_name_that_is_too_long_is_reported(tmp_path):
    found = find(tmp_path, "x" * 5000 + ".py")
    assert "File name too long" in found.problems[0].reason


def test_a_deep_tree_is_walked_without_recursion(tmp_path):
    depth = 400
    current = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=current)
        below = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    os.close(os.open("a.py", os.O_CREAT | os.O_WRONLY, dir_fd=current))
    os.close(current)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        found = find(tmp_path)
    finally:
        sys.setrecursionlimit(limit)
    assert len(found.files) == 1


def test_pathspec_is_imported_only_where_patterns_are_not_plain(tmp_path):
    make(tmp_path, "a.py")
    program = (
        "import sys; from pathlib import Path; from remat_lint.source.discovery import discover; root = Path(sys.argv[1])\n"
        "discover([root], root=root); print('pathspec' in sys.modules, 'libcst' in sys.modules)\n"
    )

    def run():
        command = [sys.executable, "-c", program, str(tmp_path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    assert run() == ["False", "False"]
    make(tmp_path, ".gitignore")
    (tmp_path / ".gitignore").write_text("# text\n\nb.py\n/*.pyc\n!c/d/\n")
    assert run() == ["False", "False"]
    (tmp_path / ".gitignore").write_text("**/b.py\n")
    assert run() == ["True", "False"]

"""What a newcomer gets wrong: one sentence on stderr, the right exit code, never a traceback."""

import os
import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing"], "'missing' does not exist"),
        (["chek", "stale.py"], "there is no command and no path 'chek'; did you mean 'check'?"),
        (["", "stale.py"], "a path is empty"),
        (["run", ""], "a path is empty"),
        (["--select", "RML101x"], "unknown selector 'RML101x' in --select; did you mean 'RML101'?"),
        (
            ["--ignore", "stale-captures"],
            "unknown selector 'stale-captures' in --ignore; did you mean 'stale-capture'?",
        ),
        (["--select", ","], "--select names no rule"),
        (
            ["--selec", "RML1"],
            "unknown argument '--selec'; did you mean '--select'?; see `remat-lint check --help`",
        ),
        (["--output-format", "xml"], "argument --output-format: invalid choice: 'xml'"),
        (["--config", "missing.toml"], "missing.toml: cannot be read: No such file or directory"),
        (["--stdin-filename", "a.py"], "--stdin-filename needs the path `-`"),
        (["-", "a.py"], "`-` (stdin) cannot be combined with other paths"),
        (["--statistics", "--output-format", "json"], "--statistics is text and cannot be combined with"),
        (["rule", "RML10"], "there is no rule 'RML10'; did you mean 'RML"),
        (["rule", "stale_capture"], "there is no rule 'stale_capture'; did you mean 'stale-capture'?"),
        (["rule", "RML101", "--all"], "name one rule or give --all, not both"),
        (["sites", "missing"], "'missing' does not exist"),
        (["generate", "stale.py"], "generate needs PATH::NAME, such as src/model.py::loss, not 'stale.py'"),
        (["generate", "missing.py::f"], "'missing.py' does not exist"),
        (["generate", "stale.py::f"], "stale.py defines no function 'f'"),
        (["run"], "the following arguments are required: PATH"),
        (["run", "missing"], "missing"),
        (["run", ".", "--timeout", "soon"], "argument --timeout: 'soon' is not a number of seconds above 0"),
        (["sites", "--why", "stale.py"], "--why needs PATH:LINE, not 'stale.py'"),
        (
            ["sites", "--why", "stale.py:1"],
            "there is no checkpoint site in line 1 of stale.py; a site stands in line 7",
        ),
        (["sites", "--why", "missing.py:1"], "'missing.py' does not exist"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(project, lint, arguments, sentence):
    done = lint(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("remat-lint: error: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            'selct = ["RML1"]',
            "pyproject.toml:2: unknown key 'selct' in [tool.remat-lint]; did you mean 'select'?",
        ),
        ('select = "RML1"', "pyproject.toml:2: 'select' must be a list of strings"),
        ("select = [", "pyproject.toml:3: is not valid TOML"),
        (
            'ignore = ["nothing-like-it"]',
            "pyproject.toml:2: unknown selector 'nothing-like-it' in \"ignore\"",
        ),
    ],
)
def test_a_broken_configuration_names_the_line(project, lint, text, sentence):
    (project / "pyproject.toml").write_text(f"[tool.remat-lint]\n{text}\n")
    done = lint()

    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_hostile_arguments_are_shown_harmless(project, lint):
    done = lint("\x1b[31mmissing\n::error::")

    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_without_python_files_is_said_and_is_no_error(tmp_path, lint):
    done = lint(tmp_path)

    assert done.returncode == 0
    assert "remat-lint: warning: no Python files found under the given paths\n" in done.stderr


def test_a_file_that_is_no_python_file_is_an_error_when_named(project, lint):
    (project / "notes.txt").write_text("jax.checkpoint\n")
    done = lint("notes.txt", "clean.py")

    assert done.returncode == 2
    assert "notes.txt: is not a Python file" in done.stderr
    assert "Traceback" not in done.stderr


def test_links_in_a_circle_end(project, lint):
    (project / "loop.py").symlink_to(project / "loop.py")
    (project / "circle").symlink_to(project)
    inside = lint("--select", "RML2")
    named = lint("loop.py")

    assert inside.returncode == 1
    assert named.returncode == 2
    assert "loop.py: " in named.stderr
    assert "Traceback" not in inside.stderr + named.stderr


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is unreadable here")
def test_an_unreadable_file_is_a_finding(project, lint):
    (project / "stale.py").chmod(0)
    done = lint("--output-format", "concise", "--select", "RML001")

    assert "stale.py:1:1: RML001 error cannot be read: Permission denied" in done.stdout
    assert done.returncode == 1


def test_a_long_line_is_linted_and_shown_in_part(project, lint):
    text = (
        (project / "stale.py").read_text().replace("x * w", f"[{'0, ' * 20_000} x * w, {'1, ' * 20_000}][0]")
    )
    (project / "stale.py").write_text(text)
    done = lint("stale.py")

    assert done.returncode == 1
    assert "RML101" in done.stdout
    assert len(done.stdout) < 5_000


def test_a_huge_line_is_left_out_and_verbose_says_so(project, lint):
    text = (project / "stale.py").read_text().replace("x * w", f"x * w  # {'x' * 5_000_000}")
    (project / "huge.py").write_text(text)
    assert "huge.py" not in lint("huge.py", "stale.py").stderr
    done = lint("huge.py", "stale.py", "--verbose")

    assert done.returncode == 1
    assert "stale.py:4:16" in done.stdout
    assert "huge.py: a statement of " in done.stderr
    assert len(done.stdout + done.stderr) < 5_000


def test_a_reader_that_goes_away_ends_nothing_with_a_traceback(project, lint, spawn):
    for number in range(200):
        (project / f"stale{number}.py").write_text((project / "stale.py").read_text())
    child = spawn("--select", "RML101", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.readline()
    child.stdout.close()

    assert child.wait(120) == 1
    assert child.stderr.read() == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")  # noqa: PTH110 (a device)
def test_a_full_disk_is_said(project, spawn):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 (a device)
        child = spawn("stale.py", stdout=full, stderr=subprocess.PIPE)
        assert child.wait(120) == 2

    assert (
        child.stderr.read() == b"remat-lint: error: the results cannot be written: No space left on device\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="there is no such shell there")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("stale.py --output-format json >&-", 2, "the results cannot be written: stdout is closed"),
        ("- --fix <argparse.py >&-", 2, "the results cannot be written: stdout is closed"),
        ("- <&-", 2, "stdin is closed, so `-` cannot be read"),
        ("stale.py >/dev/null 2>&-", 1, ""),
        ("missing 2>&-", 2, ""),
    ],
)
def test_closed_streams_are_no_crash(project, environ, command, code, said):
    line = f'"{sys.executable}" -m remat_lint {command}'
    done = subprocess.run(
        ["sh", "-c", line], cwd=project, env=environ, capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode().startswith(f"remat-lint: error: {said}\n" if said else "")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals are other ones there")
def test_an_interrupt_exits_with_130_and_no_traceback(project, spawn):
    # A shell that starts tests in the background has them, and what they start, ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        child = spawn("-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    time.sleep(3)  # it waits for the text by then
    child.send_signal(signal.SIGINT)

    assert child.wait(60) == 130
    assert b"Traceback" not in child.stderr.read()


def test_a_text_that_the_locale_lacks_is_printed_all_the_same(project, lint):
    text = (project / "stale.py").read_text().replace("x * w", "x * w  # 日本語")
    (project / "stale.py").write_text(text, encoding="utf-8")
    done = lint("stale.py", PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")

    assert done.returncode == 1
    assert "\\u65e5\\u672c\\u8a9e" in done.stdout

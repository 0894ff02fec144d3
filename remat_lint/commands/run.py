"""`remat-lint run`: equivalence tests in the user's interpreter. This is the one command that runs user code."""

from __future__ import annotations

import argparse
from pathlib import Path

from remat_lint.commands.console import Console
from remat_lint.equivalence.report import render_json, render_report
from remat_lint.equivalence.runner import run_paths
from remat_lint.equivalence.verdicts import find_exit_code


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the tests below the paths and print the report."""
    report = run_paths(
        [Path(path) for path in arguments.paths], python=arguments.python, timeout_s=arguments.timeout
    )
    render = render_json if arguments.output_format == "json" else render_report
    console.write([render(report)])
    return int(find_exit_code(report.cases))

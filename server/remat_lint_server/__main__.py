"""`remat-lint-server`: the language server on standard input and output."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import logging
import os
import platform
import sys
from collections.abc import Sequence

import remat_lint


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server until the client leaves.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="remat-lint-server", description="Language server of remat-lint, for editors to start."
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--stdio", action="store_true", help="speak on standard input and output (the default)"
    )
    group.add_argument("--version", action="version", version=f"remat-lint-server {remat_lint.__version__}")
    group.add_argument("--check", action="store_true", help="print versions as JSON and exit")
    options = parser.parse_args(arguments)
    if options.check:
        sys.stdout.write(json.dumps(versions()) + "\n")
        return 0
    _serve()
    return 0


def versions() -> dict[str, str]:
    """What an editor asks before it starts the server, and what belongs into a report of a problem."""
    names = ("libcst", "pygls", "lsprotocol")
    return {
        "remat-lint": remat_lint.__version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        **{name: importlib.metadata.version(name) for name in names},
    }


def _serve() -> None:
    # 1 s of imports that --version and --check do not pay.
    from remat_lint_server.app import create_server  # noqa: PLC0415 (see above)

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("remat_lint_server").setLevel(logging.INFO)
    # Messages own standard output; what anything else prints goes to the log.
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = create_server()
    try:
        server.start_io(sys.stdin.buffer, outgoing)
    finally:
        server.worker.kill()


if __name__ == "__main__":
    sys.exit(main())

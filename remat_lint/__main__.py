"""`python -m remat_lint`."""

import os
import sys

# `-m` puts the current folder first, so that a file of the linted project called `argparse.py` would be run in the
# place of the standard library's. Nothing of a project is ever executed by linting it.
if sys.path[0] in {"", os.getcwd()}:  # noqa: PTH109 (pathlib is one of the modules that could be shadowed)
    del sys.path[0]

from remat_lint.cli import main

sys.exit(main())

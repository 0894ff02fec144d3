"""`python -m remat_lint`."""

import sys

from remat_lint.cli import main

sys.exit(main())

"""`python -m treadle` is the command `treadle`."""

import sys

from .cli import main

sys.exit(main())

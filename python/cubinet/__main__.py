# SPDX-License-Identifier: Apache-2.0
"""`python -m cubinet` is the command `cubinet`."""

import sys

from cubinet.command import main

if __name__ == "__main__":
    sys.exit(main())

"""The program's door: ``hangview`` and ``python -m hangview``.

So small that an interrupt has nowhere to show a traceback: on a slow file system the imports behind it take their time.
"""

import gc
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        from hangview.cli import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    # Before it ends, Python would look through all that is left for what is in use: a twentieth of a second for nothing.
    gc.disable()
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()

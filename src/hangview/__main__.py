"""``python -m hangview``."""

from hangview.cli import main

if __name__ == "__main__":
    main()

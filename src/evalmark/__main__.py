"""`python -m evalmark`."""

from evalmark.cli import main

if __name__ == "__main__":
    main()

"""`python -m connectors.cli` is `river-margins`."""

from connectors.cli import main

if __name__ == "__main__":
    main()

"""`python -m connectors` is `river-margins`."""

from connectors.cli import main

if __name__ == "__main__":
    main()

"""`python -m saltus` is `saltus`."""

from saltus.cli.app import main

if __name__ == "__main__":
    main()

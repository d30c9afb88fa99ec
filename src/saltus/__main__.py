"""`python -m saltus` is `saltus`."""

from saltus.cli import interrupt


def main() -> None:
    """Listen for Ctrl-C before anything else is imported, then run the command line."""
    interrupt.install()
    from saltus.cli import app

    app.main_and_leave()


if __name__ == "__main__":
    main()

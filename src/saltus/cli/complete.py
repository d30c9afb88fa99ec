"""What the shell may complete; nothing slow is imported for it."""

from __future__ import annotations

from pathlib import Path


def scenarios(incomplete: str) -> list[str]:
    """Names of the catalogue, and TOML files of the working folder."""
    from saltus.scenarios.catalogue import entries

    files = [str(path) for path in sorted(Path().glob(f"{incomplete}*")) if path.suffix == ".toml" or path.is_dir()]
    return [name for name in entries() if name.startswith(incomplete)] + files


def kinds(incomplete: str) -> list[str]:
    """Kinds of scenarios."""
    from saltus.scenarios.kinds import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]

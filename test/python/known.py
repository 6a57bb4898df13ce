"""A file of two lists: findings that a later step mends, and findings that stay.

A `known` entry says where (`at`), what is seen (`says`), the `step` that mends it, and `why`. This list only gets shorter.
A `kept` entry is the same without a step: the difference stays, for the reason in `why`.
A finding that no entry names is a failure, and so is an entry that names no finding.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """A finding of a case: the place, which begins with the case's name, and what is seen there."""

    at: str
    says: str


@dataclass(frozen=True)
class Entry:
    at: str
    says: str
    why: str
    # None: it stays.
    step: int | None = None

    def names(self, finding: Finding) -> bool:
        return _matches(self.at, finding.at) and _matches(self.says, finding.says)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text, re.DOTALL) is not None


class Known:
    """The entries of a file, and which of them have named a finding."""

    def __init__(self, file: Path) -> None:
        lists = tomllib.loads(file.read_text())
        self.entries = [Entry(**entry) for name in ("known", "kept") for entry in lists.get(name, [])]
        self._seen: set[Entry] = set()

    def unknown(self, findings: list[Finding]) -> list[Finding]:
        """The findings that no entry names."""
        return [finding for finding in findings if not self._name(finding)]

    def gone(self) -> list[Entry]:
        """The entries that have named no finding."""
        return [entry for entry in self.entries if entry not in self._seen]

    def _name(self, finding: Finding) -> bool:
        named = [entry for entry in self.entries if entry.names(finding)]
        self._seen.update(named)
        return bool(named)

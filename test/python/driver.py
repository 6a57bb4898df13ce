"""Runs cases and prints one JSON object a case: its name, how long it took, and its error or null."""

import asyncio
import contextlib
import json
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

from known import Finding, Known

# Seconds that a case may take.
LIMIT = 90

# The last case of each driver.
LIST = "the_list_of_known_findings_has_only_those_that_occur"

Case = Callable[..., Awaitable[list[Finding]]]


def list_cases(cases: list[Callable]) -> list[str]:
    return [case.__name__ for case in cases] + [LIST]


async def run(cases: list[Callable], find: Case, file: Path, only: list[str]) -> None:
    """`find` runs a case and gives its findings. With `only`, other cases and the last one are left out."""
    known = Known(file)
    for case in cases:
        if only and case.__name__ not in only:
            continue
        began = time.monotonic()
        try:
            # Clients print, too. Only the driver prints to the real stdout.
            with contextlib.redirect_stdout(sys.stderr):
                findings = await asyncio.wait_for(find(case), LIMIT)
            error = "\n".join(f"{one.at}\n    {one.says}" for one in known.unknown(findings)) or None
        except asyncio.TimeoutError:
            error = f"It took longer than {LIMIT} s."
        except Exception:
            error = traceback.format_exc(limit=-6)
        _print(case.__name__, time.monotonic() - began, error)
    if only:
        return
    gone = [f"{one.at}\n    {one.says}\n    {one.why}" for one in known.gone()]
    error = "\n".join(
        [f"These entries name nothing that occurs. Remove them from {file.parent.name}/{file.name}:", *gone]
    )
    _print(LIST, 0, error if gone else None)


def _print(case: str, seconds: float, error: str | None) -> None:
    print(json.dumps({"case": case, "seconds": round(seconds, 1), "error": error}), flush=True)

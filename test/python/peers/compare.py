"""Compares what two servers answer."""

import json
from collections import defaultdict
from typing import Any

from known import Finding

# A finding shows this many characters of each side.
SHOWN = 160
ABSENT = object()


def compare(peer: Any, weir: Any, at: str) -> list[Finding]:
    """Where two normalised answers differ. `at` is the place of the answers."""
    if isinstance(peer, dict) and isinstance(weir, dict) and ("raises" in peer) == ("raises" in weir):
        keys = sorted({*peer, *weir})
        return [
            finding for key in keys for finding in compare(peer.get(key, ABSENT), weir.get(key, ABSENT), f"{at}.{key}")
        ]
    if isinstance(peer, list) and isinstance(weir, list):
        if _are_events(peer) and _are_events(weir):
            return _compare_events(peer, weir, at)
        return _compare_lists(peer, weir, at)
    if type(peer) is type(weir) and peer == weir:
        return []
    return [Finding(at, f"peer {_show(peer)}, weir {_show(weir)}")]


def _compare_lists(peer: list, weir: list, at: str) -> list[Finding]:
    findings = [
        finding for n, (one, other) in enumerate(zip(peer, weir)) for finding in compare(one, other, f"{at}[{n}]")
    ]
    if len(peer) != len(weir):
        findings.append(Finding(f"{at}.length", f"peer {len(peer)}, weir {len(weir)}"))
    return findings


def _are_events(items: list) -> bool:
    return bool(items) and all(isinstance(item, dict) and "event" in item for item in items)


def _compare_events(peer: list[dict], weir: list[dict], at: str) -> list[Finding]:
    """First the order of all events, then the nth event of each name."""
    findings = compare(_names(peer), _names(weir), f"{at}.order")
    sides = [_by_name(peer), _by_name(weir)]
    for name in sorted({*sides[0]} & {*sides[1]}):
        for n, (one, other) in enumerate(zip(sides[0][name], sides[1][name])):
            findings += compare(one, other, f"{at}.{name}[{n}]")
    return findings


def _names(events: list[dict]) -> str:
    return " ".join(event["event"] for event in events)


def _by_name(events: list[dict]) -> dict[str, list[Any]]:
    found = defaultdict(list)
    for event in events:
        found[event["event"]].append(event["data"])
    return found


def _show(value: Any) -> str:
    if value is ABSENT:
        return "absent"
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

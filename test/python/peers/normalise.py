"""Replaces what differs from call to call: ids, times and versions."""

import re
from typing import Any

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
ID = re.compile(rf"(lc_)?run-+{UUID}|{UUID}|\b[0-9a-f]{{32}}\b")

# Members that hold an id of a kind: each id is known by its kind, and by the order in which it comes first.
KINDS = {
    "assistant_id": "assistant",
    "checkpoint_id": "checkpoint",
    "cron_id": "cron",
    "run_id": "run",
    "thread_id": "thread",
}

# Members that name the program that serves, its version or its host, and those that it keeps for itself.
PROGRAM = re.compile(
    r"langgraph_(version|api_\w+|auth_\w+|host|plan|request_id)|lc_versions|versions|ls_(integration|provider)"
    r"|__\w+_(seconds|time_ms)__|__pregel_\w+|graph_fingerprint|run_attempt|user_id|\$schema|x-\w.*|user-agent"
)

# Members of a message and of an interrupt that one library leaves out where they are empty.
EMPTY = {"chunk_position", "name", "response_schema", "tool_call_chunks", "usage_metadata"}


def normalise(answer: Any) -> Any:
    names: dict[str, str] = {}
    _collect(answer, names)
    return _replace(answer, names)


def _collect(value: Any, names: dict[str, str]) -> None:
    if isinstance(value, list):
        for item in value:
            _collect(item, names)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        kind = KINDS.get(key)
        if kind and isinstance(item, str) and re.fullmatch(UUID, item) and item not in names:
            count = sum(name.startswith(f"<{kind} ") for name in names.values())
            names[item] = f"<{kind} {count + 1}>"
        _collect(item, names)


def _replace(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_replace(item, names) for item in value]
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if not _is_left_out(key, item)}
        return {_replace(key, names): _replace(item, names) for key, item in kept.items()}
    if isinstance(value, str):
        return ID.sub(lambda match: names.get(match[0], "<id>"), TIME.sub("<time>", value))
    return value


def _is_left_out(key: str, value: Any) -> bool:
    return PROGRAM.fullmatch(key) is not None or (key in EMPTY and not value)

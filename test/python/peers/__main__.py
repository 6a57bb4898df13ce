"""Runs each case against Weir and against `langgraph dev`, and compares: `python -m peers --weir <address> --peer <address>`."""

import argparse
import asyncio
import json
from pathlib import Path

from langgraph_sdk import get_client

import driver
from known import Finding
from peers.cases import interrupts, resources, runs, threads
from peers.compare import compare
from peers.normalise import normalise

CASES = [
    runs.stream_values_updates_and_custom,
    runs.stream_tasks_checkpoints_and_debug,
    runs.stream_messages,
    runs.stream_subgraphs,
    runs.stream_of_a_run_that_fails,
    runs.wait_for_runs,
    runs.join_runs,
    runs.reject_and_cancel_runs,
    runs.configuration_reaches_the_graph,
    threads.state_and_history,
    threads.update_state,
    threads.two_graphs_use_one_thread,
    threads.copy_search_and_delete_threads,
    interrupts.interrupt_and_resume,
    interrupts.resume_with_none,
    interrupts.one_resume_for_two_interrupts,
    interrupts.interrupt_before_a_node,
    interrupts.interrupt_in_the_streaming_protocol,
    resources.store_items,
    resources.assistants,
    resources.crons,
    resources.unknown_ids,
]


async def main(peer: str, weir: str, only: list[str]) -> None:
    async def find(case) -> list[Finding]:
        # One after the other: on few processors the two servers would slow each other down.
        answers = [normalise(await case(get_client(url=url, api_key=None))) for url in (peer, weir)]
        return compare(*answers, at=case.__name__)

    await driver.run(CASES, find, Path(__file__).parent / "known.toml", only)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--weir")
    parser.add_argument("--peer")
    parser.add_argument("case", nargs="*", help="only these cases")
    given = parser.parse_args()
    if given.list:
        print(json.dumps(driver.list_cases(CASES)))
    else:
        asyncio.run(main(given.peer, given.weir, given.case))

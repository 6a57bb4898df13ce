"""Sends a workload by real clients and demands that everything is there: `python -m load --url <address> --key <key>`."""

import argparse
import asyncio
import json
from pathlib import Path

import driver
from known import Finding
from load.cases import agents, langsmith_runs, langsmith_scores, otlp
from load.target import Demands, Target

CASES = [
    langsmith_runs.functions_in_many_threads,
    langsmith_runs.patches_without_a_project,
    langsmith_runs.patches_before_posts,
    langsmith_runs.a_large_batch,
    langsmith_runs.steps_that_share_a_tool_result,
    langsmith_runs.integers_past_2_53,
    langsmith_runs.costs_of_nested_functions,
    langsmith_scores.feedback_of_many_runs,
    langsmith_scores.evaluate_at_once,
    otlp.spans_of_many_threads,
    otlp.texts_and_integers_of_spans,
    agents.a2a_messages_at_once,
    agents.mcp_calls_at_once,
]


async def main(target: Target, only: list[str]) -> None:
    async def find(case) -> list[Finding]:
        demands = Demands(case.__name__)
        await case(target, demands)
        return demands.findings

    await driver.run(CASES, find, Path(__file__).parent / "known.toml", only)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--url")
    parser.add_argument("--key")
    parser.add_argument("case", nargs="*", help="only these cases")
    given = parser.parse_args()
    if given.list:
        print(json.dumps(driver.list_cases(CASES)))
    else:
        asyncio.run(main(Target(given.url, given.key), given.case))

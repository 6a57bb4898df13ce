/**
 * Suites whose sources are in no package: they were run by hand, unmodified, at the commit that is named. `npm run scoreboard`
 * writes them below the table of its own runs.
 */
interface Measured {
  suite: string;
  /** The repository's commit, and what ran. */
  source: string;
  passed: number;
  /** A line for each case that fails, with its reason. */
  failed: string[];
  remarks?: string;
}

const SUITES: Measured[] = [
  {
    suite: "langgraph-api: `api.test.mts`, with `RemoteGraph` (JavaScript)",
    source: "langgraphjs f8bdf16, its graphs in `weir dev`",
    passed: 63,
    failed: [
      "schemas: a message list is `langgraph_type`, and no `$ref` to a class of LangChain",
      "update state while run in flight: a run that waits for `after_seconds` does not stop a state update (docs/semantics.md)",
      "subgraphs, human in the loop: ids of events are places in the thread's log, and not 0 to 3",
    ],
    remarks: "The suite skips one case itself.",
  },
  {
    suite: "langgraph-api: `auth.test.mts`",
    source: "langgraphjs f8bdf16, its graphs and its `auth` in `weir dev`",
    passed: 46,
    failed: [],
  },
  {
    suite: "LangGraph SDK (Python): `tests/integration`",
    source: "langgraph f09cfe8, SDK 0.4.5, its four graphs written in TypeScript",
    passed: 55,
    failed: [],
    remarks: "Ten times in a row.",
  },
  {
    suite: "A2A TCK 0.3, mandatory",
    source: "a2a-tck 0.3.x, JSON-RPC, a graph that asks",
    passed: 32,
    failed: [],
    remarks: "One case needs two transports, and does not apply.",
  },
  {
    suite: "A2A TCK 1.0",
    source: "a2a-tck 1.0-dev, JSON-RPC, a graph of its scenarios",
    passed: 97,
    failed: [],
    remarks: "Not run: gRPC and HTTP+JSON, which do not apply, and the delivery of push notifications to http.",
  },
  {
    suite: "MCP conformance suite 0.2.0-alpha.12, all scenarios",
    source: "npm",
    passed: 23,
    failed: [],
    remarks:
      "23 of 65 scenarios pass as a whole. The others are not examined one by one. Many call tools, prompts and resources of the suite's own, or need sampling, roots, tasks, skills or a session.",
  },
  {
    suite: "LangSmith SDK (Python): `tests/integration_tests` that need no model",
    source: "langsmith-sdk bc8dd67, SDK 0.14.0",
    passed: 101,
    failed: [
      "test_evaluators_generated_client_crud: online evaluators are not served (501)",
      "test_create_chat_example, test_fallback_json_serialization, test_slow_run_read_multipart: the tests are newer than the SDK, and fail in it",
      "test_otel_trace_attributes, test_tracing_fake_server: they compare texts with bytes of OpenTelemetry, and use a member of uvicorn that the installed version lacks",
    ],
    remarks: "Left out: prompts and the hub, which are not served, and the wrappers of models.",
  },
  {
    suite: "LangSmith SDK (JavaScript): `*.int.test.ts` that need no model",
    source: "langsmith-sdk bc8dd67, in Vitest",
    passed: 61,
    failed: [
      "`context.int`, 11 cases, and prompts, 3 cases: prompts, agents and skills are not served (501)",
      "evaluators, 1 case: not served (501)",
      "list shared examples, clonePublicDataset: a dataset of LangSmith's own site, which cannot be read there",
      "Test share and unshare run: the SDK expects the page of a server on this machine on port 3000",
    ],
  },
];

const cell = (text: string) => text.replaceAll("|", "\\|");

/** The section of the page. */
export function measuredSection(): string {
  const rows = SUITES.map(({ suite, source, passed, failed, remarks = "" }) => {
    const reasons = [...failed.map((one) => `${one}.`), remarks].filter(Boolean).join(" ");
    return `| ${[suite, source, passed, cell(reasons)].join(" | ")} |`;
  });
  return `## Suites run by hand

Their sources are in no package that is installed here. They were run on 25 November 2026.

| Suite | Source | Passed | What fails or is left out, and why |
|---|---|---|---|
${rows.join("\n")}
`;
}

/**
 * Suites whose sources are in no package: they run by hand, unmodified, at the commit that is named. `npm run scoreboard`
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
    suite: "agent-chat-ui and deep-agents-ui, with the versions of the SDK that they pin",
    source:
      "agent-chat-ui fdc87e6 (SDK 1.8.10), deep-agents-ui f6a4f34 (SDK 1.0.3); `test/conformance/chat-uis.slow.test.ts`",
    passed: 14,
    failed: [],
  },
  {
    suite: "`LangSmithDeploymentTransport` of `@ai-sdk/langchain`, in the chat of `useChat`",
    source: "@ai-sdk/langchain 3.0.99, ai 7.0.173",
    passed: 4,
    failed: [],
    remarks: "A turn with a tool, a second turn, regeneration, and stopping.",
  },
  {
    suite: "openid-client",
    source: "openid-client 6.9.0",
    passed: 10,
    failed: [],
    remarks:
      "Registration and discovery by the addresses of OAuth and of OpenID Connect, authorization with PKCE, tokens, a call, introspection, refreshing, revoking, and a refused refresh.",
  },
  {
    suite: "ag-ui dojo: its LangGraph journeys (TypeScript), by `HttpAgent`",
    source: "ag-ui 821b8c2, its example graphs in `weir dev`, a scripted model",
    passed: 11,
    failed: [
      "a2ui_dynamic_schema, a2ui_recovery: `@ag-ui/langgraph` 0.0.43 imports what the `@ag-ui/client` installed beside it does not export",
      "agentic_chat, second turn: the scripted model gives each answer the same id, so that the second replaces the first",
    ],
    remarks:
      "With @copilotkit/sdk-js 1.69.0, because 1.57.1 is not published. Left out: agentic_chat_reasoning, which needs models of three providers. The client refuses a resume in `forwardedProps` itself.",
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
    passed: 41,
    failed: [
      "tools-call-sampling, tools-call-elicitation, elicitation-sep1034-defaults, elicitation-sep1330-enums: before 2026-07-28 a server asks its client in a session, and Weir has none",
      "resources-read-text, resources-read-binary, resources-templates-read: resources are threads, runs, traces and assistants, and none of the suite's own",
      "resources-subscribe, resources-unsubscribe: resources announce no changes",
      "prompts-get, 4 scenarios: the name of a prompt ends in the id of its assistant, and the suite names prompts of its own",
      "input-required-result-non-tool-request: a prompt takes no requests for input",
      "http-custom-header-server-validation: no tool takes arguments from headers",
      "tasks, 9 scenarios: the extension io.modelcontextprotocol/tasks is not offered; its scenario of notifications checks nothing then",
    ],
    remarks: "Of 65 scenarios; the 24 others do not apply.",
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
export function renderSection(): string {
  const rows = SUITES.map(({ suite, source, passed, failed, remarks = "" }) => {
    const reasons = [...failed.map((one) => `${one}.`), remarks].filter(Boolean).join(" ");
    return `| ${[suite, source, passed, cell(reasons)].join(" | ")} |`;
  });
  return `## Suites run by hand

Their sources are in no package that is installed here. Each runs unmodified, at the commit that is named.

| Suite | Source | Passed | What fails or is left out, and why |
|---|---|---|---|
${rows.join("\n")}
`;
}

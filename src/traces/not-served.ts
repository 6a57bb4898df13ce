/** Calls of the LangSmith SDKs that this server does not serve. docs/experiments.md lists all of their calls. */

const ROOT = "^(?:/api)?(?:/v1)?(?:/platform)?";
const V2 = "^(?:/api)?/v2";
const UUID = "[0-9a-f-]{36}";

const TABLE: [method: string | undefined, path: RegExp, what: string][] = [
  [undefined, new RegExp(`${ROOT}/annotation-queues(?:/|$)`), "annotation queues"],
  [
    undefined,
    new RegExp(`${ROOT}/(?:repos|commits|likes|settings|prompt-webhooks|hub)(?:/|$)`),
    "prompts, agents and skills",
  ],
  [undefined, /^\/api\/v1\/agents(?:\/|$)/, "prompts, agents and skills"],
  [undefined, new RegExp(`${ROOT}/(?:evaluators|runs/rules)(?:/|$)`), "online evaluators"],
  [undefined, new RegExp(`${ROOT}/(?:issues|product-feedbacks|fleet)(?:/|$)`), "issues and fleets"],
  ["POST", new RegExp(`${ROOT}/datasets/upload$`), "datasets from CSV files"],
  ["GET", new RegExp(`${ROOT}/datasets/${UUID}/(?:openai_ft|openai|csv|jsonl)$`, "i"), "datasets as files"],
  [
    "POST",
    new RegExp(`${ROOT}/datasets/${UUID}/(?:runs|index|search|generate)$`, "i"),
    "rows of experiments and searches in datasets",
  ],
  [undefined, new RegExp(`${ROOT}/sessions/(?:resolutions|${UUID}/dashboard)$`, "i"), "dashboards"],
  [undefined, new RegExp(`${ROOT}/sessions/${UUID}/insights(?:/|$)`, "i"), "reports of insights"],
  [undefined, new RegExp(`${ROOT}/public/${UUID}/datasets/`, "i"), "the experiments of a shared dataset"],
  [undefined, new RegExp(`${V2}/(?:datasets|sessions)(?:/|$)`), "the second generation of datasets and sessions"],
  [undefined, new RegExp(`${V2}/runs/${UUID}/url$`, "i"), "addresses of runs"],
  [undefined, new RegExp(`${V2}/threads/(?:stats|${UUID}/stats|[^/]+/share)$`, "i"), "statistics and links of threads"],
  [undefined, new RegExp(`${V2}/(?:sandboxes|sql)(?:/|$)`), "sandboxes and SQL"],
];

/** Why a call is not served. Undefined for a call that no SDK makes. */
export function notServed(method: string, path: string): string | undefined {
  const row = TABLE.find(([only, pattern]) => (only === undefined || only === method) && pattern.test(path));
  return row && `Weir does not serve ${row[2]}. docs/experiments.md lists the calls that it serves.`;
}

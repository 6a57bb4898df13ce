/** What a deployment holds when another version of Weir takes it over, and how it reads. */
import { newKey } from "../../scripts/local-server.ts";
import { sha256 } from "../../src/lib/crypto.ts";
import { isoFromMicros, segment } from "../../src/traces/time.ts";
import { Api, human, waitUntil } from "../support/api.ts";
import { SECRETS } from "../support/server.ts";

export interface Deployment {
  headers: Record<string, string>;
  finished: string;
  /** A thread that waits for a person. */
  waiting: string;
  project: string;
  traced: string;
  exported: string;
  assistant: string;
}

const PLACE = { namespace: ["upgrade"], key: "gauge" };
const ONCE = { "idempotency-key": "upgrade" };

const START = Date.parse("2026-11-20T00:00:00Z");

/** A trace of one run that began so many seconds after `START`. */
function traceRun(seconds: number) {
  const [id, start] = [crypto.randomUUID(), (START + seconds * 1000) * 1000];
  const place = { id, trace_id: id, dotted_order: segment(start, id), session_name: "upgrade" };
  return { ...place, name: "step", run_type: "chain", start_time: isoFromMicros(start), inputs: { question: "why" } };
}

/** Runs a graph on a thread, and waits for the end. */
export const runTurn = (api: Api, thread: string, graph: string, turn: object): Promise<object> =>
  api.post(`/threads/${thread}/runs/wait`, { assistant_id: graph, if_not_exists: "create", ...turn });

/** Fills an empty deployment. */
export async function fillDeployment(url: string): Promise<Deployment> {
  const { key, workspaceId } = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
  const headers = { "x-api-key": key, "x-tenant-id": workspaceId };
  const api = new Api(url, headers);
  const [finished, waiting] = [crypto.randomUUID(), crypto.randomUUID()];
  // The limiter and the ledger of the workspace.
  await api.call("PUT", "/api/v1/flow/rules/one", { concurrency: 50 });
  await api.call("PUT", "/api/v1/budgets/day", { per: "day", tokens: 1_000_000, at_limit: "ask" });
  // By one graph: the previous release reads all states of a thread through the graph that ran last.
  await runTurn(api, finished, "agent", { input: human("What is 17 * 24?") });
  await runTurn(api, finished, "agent", { input: human("x".repeat(600_000)) });
  await runTurn(api, waiting, "approval", { input: human("send it") });

  const [run, other] = [traceRun(0), traceRun(1)];
  await api.post("/runs/batch", { post: [run, other], patch: [] });
  await api.post("/api/v1/feedback", { run_id: run.id, key: "correct", score: 0.75 });
  const [project] = await api.get<[{ id: string }]>("/api/v1/sessions?name=upgrade");
  const { id: destination } = await api.post<{ id: string }>("/api/v1/bulk-exports/destinations", {
    destination_type: "r2",
    display_name: "upgrade",
    config: { prefix: "upgrade" },
  });
  const { id: exported } = await api.post<{ id: string }>("/api/v1/bulk-exports", {
    bulk_export_destination_id: destination,
    session_id: project.id,
    start_time: new Date(START).toISOString(),
    end_time: new Date(START + 86_400_000).toISOString(),
  });
  await waitUntil("the export ends", 60, async () => {
    const { status } = await api.get<{ status: string }>(`/api/v1/bulk-exports/${exported}`);
    return status.toUpperCase() === "COMPLETED" || undefined;
  });

  const { assistant_id: assistant } = await api.post<{ assistant_id: string }>("/assistants", { graph_id: "agent" });
  await api.call("PATCH", `/assistants/${assistant}`, { metadata: { team: "upgrade" } });
  await api.post("/runs/crons", { assistant_id: "echo", schedule: "0 0 1 1 *", input: human("new year") });
  await api.call("PUT", "/store/items", { ...PLACE, value: { text: "The gauge shows 3 m." } });
  await api.call("POST", "/threads", { metadata: { made: "once" } }, ONCE);
  return { headers, finished, waiting, project: project.id, traced: run.id, exported, assistant };
}

/** Starts a run, and returns its path when it has streamed some tokens and has seconds to go. */
export async function startRun(api: Api): Promise<string> {
  const thread = crypto.randomUUID();
  const body = {
    assistant_id: "agent",
    if_not_exists: "create",
    input: human("count to 300"),
    stream_mode: "messages-tuple",
  };
  let [path, tokens] = ["", 0];
  for await (const { event, data } of api.events("POST", `/threads/${thread}/runs/stream`, body)) {
    if (event === "metadata") path = `/threads/${thread}/runs/${(data as { run_id: string }).run_id}`;
    else if ((tokens += 1) === 10) break;
  }
  return path;
}

/** A newer version wrote what the call reads. */
export const REFUSED = "refused";

/** A long text as its hash, so that a difference is readable. */
const hashLong = (_: string, value: unknown) =>
  typeof value === "string" && value.length > 1_000 ? sha256(value) : value;

/** What the deployment says, and the kind of object that says it. */
export async function readDeployment(
  api: Api,
  made: Deployment,
): Promise<Record<string, { of: string; says: unknown }>> {
  const { finished, waiting, project, traced, exported, assistant } = made;
  const read = async (of: string, method: string, path: string, body?: object, headers?: Record<string, string>) => {
    const response = await api.send(method, path, body, headers);
    const says = JSON.parse(await response.text(), hashLong) as { detail?: string };
    if (response.ok) return { of, says };
    if (response.status === 503 && says.detail?.includes("newer version of Weir")) return { of, says: REFUSED };
    throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(says)}`);
  };
  return {
    state: await read("thread", "GET", `/threads/${finished}/state`),
    history: await read("thread", "GET", `/threads/${finished}/history?limit=100`),
    runs: await read("thread", "GET", `/threads/${finished}/runs`),
    interrupt: await read("thread", "GET", `/threads/${waiting}/state`),
    list: await read("index", "POST", "/threads/search", { ids: [waiting] }),
    traces: await read("partition", "POST", "/runs/query", { session: [project] }),
    feedback: await read("partition", "GET", `/api/v1/feedback?run=${traced}`),
    rules: await read("limiter", "GET", "/api/v1/flow/rules"),
    budgets: await read("ledger", "GET", "/api/v1/budgets"),
    export: await read("D1", "GET", `/api/v1/bulk-exports/${exported}`),
    slices: await read("D1", "GET", `/api/v1/bulk-exports/${exported}/runs`),
    assistant: await read("D1", "GET", `/assistants/${assistant}`),
    crons: await read("D1", "POST", "/runs/crons/search", {}),
    item: await read("D1", "GET", `/store/items?namespace=${PLACE.namespace.join(".")}&key=${PLACE.key}`),
    once: await read("D1", "POST", "/threads", { metadata: { made: "once" } }, ONCE),
  };
}

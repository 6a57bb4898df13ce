/**
 * `threads.search` and `threads.count` over 10,000 and over 100,000 threads of one workspace. Their rows go into the thread
 * index by its own RPC, so the time of filling is that of the index too; SEARCH_THREADS (100,000) is how many there are in
 * the end.
 */
import { withBenchRoutes } from "../../test/support/server.ts";
import { load, table, timeCalls, formatTypical } from "./figures.ts";
import { startPlain } from "./servers/plain.ts";
import type { Weir } from "./servers/server.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";

const MOST = Number(process.env.SEARCH_THREADS ?? chooseAmount(100_000, 200));
const CALLS = chooseAmount(30, 1);
const FEW = chooseAmount(10_000, 100);
/** Threads that one request lists. */
const CHUNK = 5_000;

type Search = Parameters<Weir["client"]["threads"]["search"]>[0];

const SELECT: NonNullable<Search>["select"] = ["thread_id", "status", "metadata", "updated_at"];

const searches = (count: number): [string, Search][] => [
  ["the newest 10", {}],
  ["the newest 100, without their states", { limit: 100, select: SELECT }],
  ["of one user (1 in 1,000)", { metadata: { owner: "user-77" } }],
  ["of one graph (1 in 3)", { metadata: { graph_id: "agent" } }],
  ["metadata that none has", { metadata: { owner: "absent" } }],
  ["that wait for an answer (1 in 20)", { status: "interrupted" }],
  ["that are busy (none)", { status: "busy" }],
  ["updated last", { sortBy: "updated_at", limit: 20 }],
  ["of one user, updated last", { metadata: { owner: "user-77" }, sortBy: "updated_at" }],
  ["by status", { sortBy: "status" }],
  [`from the middle (offset ${count / 2})`, { offset: count / 2 }],
  ["with this in their state (1)", { values: { messages: [{ id: "a77" }] } }],
];

async function timeCall(call: () => Promise<unknown>): Promise<[string, string]> {
  await call();
  return formatTypical(await timeCalls(CALLS, call));
}

/** Lists threads `from` to `to`, the last of which is the newest. Gives milliseconds. */
async function list({ url, workspaceId }: Weir, from: number, to: number, since: number): Promise<number> {
  const start = performance.now();
  for (let first = from; first < to; first += CHUNK) {
    const body = JSON.stringify({ workspaceId, from: first, to: Math.min(first + CHUNK, to), since });
    const filled = await fetch(`${url}/bench/threads`, { method: "POST", body });
    if (!filled.ok) throw new Error(`${filled.status} ${await filled.text()}`);
  }
  return performance.now() - start;
}

export const bench: Bench = {
  title: "search and count over many threads",
  async start() {
    await using server = await startPlain({ config: withBenchRoutes() });
    const { client } = server;
    const since = Date.now() - MOST * 60_000;
    let made = 0;
    for (const count of new Set([FEW, MOST])) {
      const took = await list(server, made, count, since);
      console.log(`Listing ${count - made} threads: ${Math.round((count - made) / (took / 1000))} a second.\n`);
      made = count;
      const rows: string[][] = [];
      for (const [name, search] of searches(count)) {
        rows.push([name, ...(await timeCall(async () => client.threads.search(search)))]);
      }
      const counts = [
        ["count of all", {}],
        ["count of one user's", { metadata: { owner: "user-77" } }],
      ] as const;
      for (const [name, query] of counts)
        rows.push([name, ...(await timeCall(async () => client.threads.count(query)))]);
      table([`of ${count} threads`, "p50", "p90"], rows);
      console.log(`\nLoad: ${load()}.\n`);
    }
  },
};

/**
 * `threads.search` and `threads.count` over 10,000 and over 100,000 threads of one workspace. The rows of the index are
 * written straight into the database; SEARCH_THREADS (100,000) is how many there are in the end.
 */
import { table, timesOf, typical } from "./figures.ts";
import type { Bench, Target } from "./target.ts";

const MOST = Number(process.env.SEARCH_THREADS ?? 100_000);
const CALLS = 30;
/** Rows that one statement makes. */
const CHUNK = 5_000;

/**
 * Threads `?2` to `?3` of workspace `?1`, one a minute up to now: a thousand users, three graphs, a conversation of four
 * messages (about 1.6 KB); of a hundred threads five wait for an answer and two have failed, and none is busy.
 */
const ROWS = `
  INSERT INTO threads (workspace_id, id, status, metadata, config, "values", has_values, interrupts, error,
                       created_at, updated_at, state_updated_at, revision)
  WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?3)
  SELECT ?1,
    substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-8' || substr(h, 18, 3) || '-' || substr(h, 21, 12),
    CASE WHEN i % 20 = 3 THEN 'interrupted' WHEN i % 50 = 7 THEN 'error' ELSE 'idle' END,
    json_object('graph_id', CASE i % 3 WHEN 0 THEN 'agent' WHEN 1 THEN 'approval' ELSE 'research' END,
                'assistant_id', 'fe096781-5601-53d2-b2f6-0d3403f7e9ca', 'owner', 'user-' || (i % 1000),
                'tags', json_array('web', 'v' || (i % 7)), 'n', i),
    '{}',
    json_object('messages', json_array(
      json_object('type', 'human', 'id', 'a' || i, 'content', 'Question ' || i || ': ' || hex(zeroblob(150))),
      json_object('type', 'ai', 'id', 'b' || i, 'content', hex(zeroblob(250))),
      json_object('type', 'human', 'id', 'c' || i, 'content', 'And then?'),
      json_object('type', 'ai', 'id', 'd' || i, 'content', hex(zeroblob(250))))),
    1, '{}', NULL, ?4 + i * 60000, ?4 + i * 60000 + (i * 7919 % 5000) * 60000, ?4 + i * 60000, 1
  FROM (SELECT i, hex(randomblob(16)) AS h FROM n)`;

type Search = Parameters<Target["client"]["threads"]["search"]>[0];

const SELECT: NonNullable<Search>["select"] = ["thread_id", "status", "metadata", "updated_at"];

const searches = (count: number): [string, Search][] => [
  ["the newest 10", {}],
  ["the newest 100, without their states", { limit: 100, select: SELECT }],
  ["of one user (1 in 1,000)", { metadata: { owner: "user-77" } }],
  ["of one graph (1 in 3)", { metadata: { graph_id: "agent" } }],
  ["metadata that none has", { metadata: { owner: "nobody" } }],
  ["that wait for an answer (1 in 20)", { status: "interrupted" }],
  ["that are busy (none)", { status: "busy" }],
  ["updated last", { sortBy: "updated_at", limit: 20 }],
  ["of one user, updated last", { metadata: { owner: "user-77" }, sortBy: "updated_at" }],
  ["by status", { sortBy: "status" }],
  [`from the middle (offset ${count / 2})`, { offset: count / 2 }],
  ["with this in their state (1)", { values: { messages: [{ id: "a77" }] } }],
];

async function timed(call: () => Promise<unknown>): Promise<[string, string]> {
  await call();
  return typical(await timesOf(CALLS, call));
}

export const bench: Bench = {
  title: "search and count over many threads",
  weirOnly: true,
  async run({ weir, client }) {
    if (!weir) return;
    const from = Date.now() - MOST * 60_000;
    let made = 0;
    for (const count of [10_000, MOST]) {
      for (; made < count; made += CHUNK) {
        const end = Math.min(made + CHUNK, count);
        await weir.db.prepare(ROWS).bind(weir.workspaceId, made, end, from).run();
      }
      const rows: string[][] = [];
      for (const [name, search] of searches(count)) {
        rows.push([name, ...(await timed(async () => client.threads.search(search)))]);
      }
      const counts = [
        ["count of all", {}],
        ["count of one user's", { metadata: { owner: "user-77" } }],
      ] as const;
      for (const [name, query] of counts) rows.push([name, ...(await timed(async () => client.threads.count(query)))]);
      table([`of ${count} threads`, "p50", "p90"], rows);
      console.log("");
    }
  },
};

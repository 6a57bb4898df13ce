/** Threads for the bench of searches, in a workspace's thread index: far more than there is time to make by runs. */
import { type IndexRow, indexShard } from "../../../src/threads/search/rpc.ts";

/** Writes that are under way at the same time. The index commits those that come together in one transaction. */
const AT_ONCE = 500;
const GRAPHS = ["agent", "approval", "research"];

export interface Filling {
  workspaceId: string;
  /** The first thread, and the one after the last. */
  from: number;
  to: number;
  /** When thread 0 was made, milliseconds. */
  since: number;
}

/** Writes the rows of threads through the RPC that threads themselves use. */
export async function fillIndex(env: Env, { workspaceId, from, to, since }: Filling): Promise<void> {
  const index = indexShard(env, workspaceId, 0);
  for (let first = from; first < to; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, to - first);
    await Promise.all(Array.from({ length: count }, async (_, n) => index.put(generateRow(first + n, since))));
  }
}

/**
 * One thread a minute: a thousand users, three graphs, a conversation of four messages (about 1.6 KB). Of a hundred threads
 * five wait for an answer and two have failed, and none is busy.
 */
function generateRow(n: number, since: number): IndexRow {
  const createdAt = since + n * 60_000;
  const message = (type: string, id: string, content: string) => ({ type, id: `${id}${n}`, content });
  return {
    id: crypto.randomUUID(),
    status: n % 20 === 3 ? "interrupted" : n % 50 === 7 ? "error" : "idle",
    metadata: {
      graph_id: GRAPHS[n % 3],
      assistant_id: "fe096781-5601-53d2-b2f6-0d3403f7e9ca",
      owner: `user-${n % 1000}`,
      tags: ["web", `v${n % 7}`],
      n,
    },
    config: {},
    values: {
      messages: [
        message("human", "a", `Question ${n}: ${"0".repeat(300)}`),
        message("ai", "b", "0".repeat(500)),
        message("human", "c", "And then?"),
        message("ai", "d", "0".repeat(500)),
      ],
    },
    hasValues: true,
    open: false,
    interrupts: {},
    error: null,
    createdAt,
    updatedAt: createdAt + ((n * 7919) % 5000) * 60_000,
    stateUpdatedAt: createdAt,
    revision: 1,
  };
}

/**
 * Statistics of a day whose runs arrived in a random order of their time, as a backfill or a migration sends them:
 * BACKFILL_ROWS runs (300,000 if left out) through `/runs/multipart`.
 */
import { withBenchRoutes } from "../../test/support/server.ts";
import { load, table, formatTypical } from "./figures.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";
import type { Weir } from "./servers/server.ts";
import { repeat, send, stats } from "./traces.ts";

/** Runs of one call of `send`, whose bodies are in memory. */
const AT_ONCE = chooseAmount(20_000, 100);

export const bench: Bench = {
  title: "statistics of a backfill",
  byName: true,
  async start() {
    await using server = await startPlain({ config: withBenchRoutes() });
    const rows = Number(process.env["BACKFILL_ROWS"] ?? chooseAmount(300_000, 100));
    const day = Date.parse(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`) - 86_400_000;
    for (let sent = 0; sent < rows; sent += AT_ONCE) await send(server, "backfill", AT_ONCE, [day], sent, true);
    await measure(server, day);
  },
};

async function measure(server: Weir, day: number): Promise<void> {
  const sessions = await fetch(`${server.url}/sessions?name=backfill`, { headers: server.headers });
  const [project] = await sessions.json<{ id: string }[]>();
  if (!project) throw new Error("The project is not there.");
  await seal(server, project.id, day);
  const at = (hours: number) => new Date(day + hours * 3_600_000).toISOString();
  const selections = [
    {},
    { is_root: true },
    { filter: 'eq(run_type, "llm")' },
    { start_time: at(0), end_time: at(24) },
    { start_time: at(6), end_time: at(12) },
    { start_time: at(9), end_time: at(10) },
    { filter: 'gt(latency, "4s")' },
  ];
  const rows: (string | number)[][] = [];
  for (const wanted of selections) {
    const { found, times } = await repeat(async () => stats(server, { session: [project.id], ...wanted }));
    rows.push([`\`${JSON.stringify(wanted)}\``, found, ...formatTypical(times)]);
  }
  table(["selection", "runs", "p50", "p90"], rows);
  console.log(`\nLoad: ${load()}.`);
}

/** Seals the blocks of the day now, as its alarm would. */
async function seal(server: Weir, project: string, day: number): Promise<void> {
  const date = new Date(day).toISOString().slice(0, 10);
  const query = new URLSearchParams({ workspace: server.workspaceId, project, day: date });
  for (;;) {
    const response = await fetch(`${server.url}/bench/multiply?${query.toString()}`, {
      method: "POST",
      headers: server.headers,
    });
    if ((await response.text()) === "done") return;
  }
}

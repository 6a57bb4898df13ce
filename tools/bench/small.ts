/** How long small exports take: 31 runs of one day, and 31 runs on as many days of a year, into the bucket of the server. */
import { call, timeExport } from "./exports/server.ts";
import { load, ms, percentile, table } from "./figures.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";

const YEAR = Date.parse("2025-01-01T00:00:00Z");
const DAY_MS = 86_400_000;
const RUNS = 31;
const TIMES = chooseAmount(10, 1);
/** Milliseconds between two reads of the status. */
const LOOK = 20;

export const bench: Bench = {
  title: "small exports",
  async start() {
    await using server = await startPlain();
    const days = { "one day": 0, "a year": 11 };
    const results: (string | number)[][] = [];
    const { id: bulk_export_destination_id } = await call<{ id: string }>(server, "/api/v1/bulk-exports/destinations", {
      destination_type: "r2",
      display_name: "bench",
      config: {},
    });
    for (const [name, apart] of Object.entries(days)) {
      const post = Array.from({ length: RUNS }, (_, n) => ({
        id: crypto.randomUUID(),
        name: "small",
        run_type: "chain",
        session_name: name,
        start_time: new Date(YEAR + n * apart * DAY_MS + n).toISOString(),
        inputs: { n },
      }));
      await call(server, "/api/v1/runs/batch", { post, patch: [] });
      const [project] = await call<{ id: string }[]>(server, `/api/v1/sessions?name=${encodeURIComponent(name)}`);
      const end = YEAR + (apart === 0 ? 1 : 365) * DAY_MS;
      const job = {
        bulk_export_destination_id,
        session_id: project?.id,
        start_time: new Date(YEAR),
        end_time: new Date(end),
      };
      const timed = [];
      for (let n = 0; n < TIMES; n++) timed.push(await timeExport(server, RUNS, job, LOOK));
      const times = timed.map(({ seconds }) => seconds * 1000);
      const cpu = timed.map((one) => one.cpu * 1000);
      results.push([name, RUNS, ...[0, 50, 100].map((p) => ms(percentile(times, p))), ms(percentile(cpu, 50))]);
    }
    table(["export of", "runs", "least", "p50", "most", "CPU of workerd"], results);
    console.log(`\nLoad: ${load()}.`);
  },
};

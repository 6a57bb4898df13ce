/** What a run takes: processor time by process, times and throughput by load, and what it commits, writes and calls. */
import type { Bench } from "./bench.ts";
import { showCounts } from "./runs/counts.ts";
import { compare } from "./runs/rounds.ts";
import { startPlain } from "./servers/plain.ts";
import { connectServer } from "./servers/server.ts";
import { startWrangler } from "./servers/wrangler.ts";

export const bench: Bench = {
  title: "runs of `echo` and `agent`, each on a new thread",
  anyServer: true,
  async start({ url, ...options }) {
    if (url) return compare([connectServer({ url, ...options })], options);
    await showCounts(options.graphs);
    console.log("");
    await using plain = await startPlain();
    await using wrangler = await startWrangler();
    await compare([plain, wrangler], options);
  },
};

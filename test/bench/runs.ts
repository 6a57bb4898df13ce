/** What a run takes: processor time by process, times and throughput by load, and what it commits, writes and calls. */
import { showCounts } from "./runs/counts.ts";
import { compare } from "./runs/rounds.ts";
import { startPlain } from "./servers/plain.ts";
import { running, type Server } from "./servers/server.ts";
import { startWrangler } from "./servers/wrangler.ts";
import type { Bench } from "./target.ts";

export const bench: Bench = {
  title: "runs of `echo` and `agent`, each on a new thread",
  async start({ url, ...options }) {
    if (url) return compare([running({ url, ...options })], options);
    await showCounts(options.graphs);
    console.log("");
    const servers: Server[] = [];
    try {
      servers.push(await startPlain(), await startWrangler());
      await compare(servers, options);
    } finally {
      for (const server of servers) await server.stop();
    }
  },
};

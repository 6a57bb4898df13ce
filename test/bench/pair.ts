/** This checkout beside another: the same loads in turn on both, each on plain Miniflare. Only the ratios count. */
import { compare } from "./runs/rounds.ts";
import { startPlain } from "./servers/plain.ts";
import type { Server } from "./servers/server.ts";
import type { Bench } from "./target.ts";

export const bench: Bench = {
  title: "this checkout and another, in turn",
  weirOnly: true,
  byName: true,
  async start({ against, ...options }) {
    if (!against) throw new Error("Name the other checkout, installed: --against <folder>.");
    const servers: Server[] = [];
    try {
      servers.push(await startPlain({ name: "here" }), await startPlain({ root: against, name: "there" }));
      await compare(servers, options);
    } finally {
      for (const server of servers) await server.stop();
    }
  },
};

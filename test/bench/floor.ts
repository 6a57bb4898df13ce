/** Weir beside the least that a run of `echo` can cost on this platform (test/support/floor-worker.ts), in turn. */
import { minified } from "../support/server.ts";
import { compare } from "./runs/rounds.ts";
import { startPlain } from "./servers/plain.ts";
import type { Server } from "./servers/server.ts";
import type { Bench } from "./target.ts";

export const bench: Bench = {
  title: "runs of `echo` on Weir and on LangGraph in a bare Durable Object, in turn",
  weirOnly: true,
  byName: true,
  async start(options) {
    const servers: Server[] = [];
    try {
      const config = minified("test/support/floor-worker.ts", "floor");
      servers.push(await startPlain({ name: "Weir" }), await startPlain({ config, name: "floor" }));
      await compare(servers, { ...options, graphs: ["echo"] });
    } finally {
      for (const server of servers) await server.stop();
    }
  },
};

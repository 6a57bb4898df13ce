/** Weir beside the JavaScript Agent Server (`langgraphjs dev`, in memory, untraced), in turn, with the same graphs. */
import { compare } from "./runs/rounds.ts";
import { setUpPeer, startPeer } from "./servers/peer.ts";
import { startPlain } from "./servers/plain.ts";
import type { Server } from "./servers/server.ts";
import { startWrangler } from "./servers/wrangler.ts";
import type { Bench } from "./target.ts";

export const bench: Bench = {
  title: "Weir and the JavaScript Agent Server, in turn",
  weirOnly: true,
  byName: true,
  async start(options) {
    // First, since without the registry nothing else needs to start.
    const peer = setUpPeer();
    const servers: Server[] = [];
    try {
      servers.push(await startPlain(), await startPeer(peer), await startWrangler());
      await compare(servers, options);
    } finally {
      for (const server of servers) await server.stop();
    }
  },
};

/** Weir beside the JavaScript Agent Server (`langgraphjs dev`, in memory, untraced), in turn, with the same graphs. */
import type { Bench } from "./bench.ts";
import { compare } from "./runs/rounds.ts";
import { setUpPeer, startPeer } from "./servers/peer.ts";
import { startPlain } from "./servers/plain.ts";
import { startWrangler } from "./servers/wrangler.ts";

export const bench: Bench = {
  title: "Weir and the JavaScript Agent Server, in turn",
  byName: true,
  async start(options) {
    // First, since without the registry nothing else needs to start.
    const project = setUpPeer();
    await using plain = await startPlain();
    await using peer = await startPeer(project);
    await using wrangler = await startWrangler();
    await compare([plain, peer, wrangler], options);
  },
};

/** Weir beside the least that a run of `echo` can cost on this platform (tools/bench/workers/floor-worker.ts), in turn. */
import { writeMinifiedConfig } from "../../test/support/server.ts";
import type { Bench } from "./bench.ts";
import { compare } from "./runs/rounds.ts";
import { startPlain } from "./servers/plain.ts";

export const bench: Bench = {
  title: "runs of `echo` on Weir and on LangGraph in a bare Durable Object, in turn",
  byName: true,
  async start(options) {
    await using weir = await startPlain({ name: "Weir" });
    await using floor = await startPlain({
      config: writeMinifiedConfig("tools/bench/workers/floor-worker.ts", "floor"),
      name: "floor",
    });
    await compare([weir, floor], { ...options, graphs: ["echo"] });
  },
};

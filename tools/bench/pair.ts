/** This checkout beside another: the same loads in turn on both, each on plain Miniflare. Only the ratios count. */
import type { Bench } from "./bench.ts";
import { compare } from "./runs/rounds.ts";
import { startPlain } from "./servers/plain.ts";

export const bench: Bench = {
  title: "this checkout and another, in turn",
  byName: true,
  async start({ against, ...options }) {
    if (!against) throw new Error("Name the other checkout, installed: --against <folder>.");
    await using here = await startPlain({ name: "here" });
    await using there = await startPlain({ root: against, name: "there" });
    await compare([here, there], options);
  },
};

/** Miniflare in a process that ends itself. */
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as miniflare from "miniflare";
import { PACKAGE } from "../package.ts";

// Node reads a CommonJS file of 6 MB twice more where it is imported.
const loaded = createRequire(join(PACKAGE, "package.json"))("miniflare") as typeof miniflare;

export const { convertV4MiniflareOptions: convert, Log, LogLevel, Response } = loaded;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A Miniflare. Its first one would end the process at a signal; the command does that, once it has stopped everything. */
export function newMiniflare(options: miniflare.MiniflareOptions): miniflare.Miniflare {
  const before = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)));
  const made = new loaded.Miniflare(options);
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal)) if (!before.has(listener)) process.off(signal, listener);
  return made;
}

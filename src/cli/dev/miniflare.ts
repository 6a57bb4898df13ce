/** Miniflare in a process that ends itself. */
import { Miniflare, type MiniflareOptions } from "miniflare";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A Miniflare. Its first one would end the process at a signal; the command does that, once it has stopped everything. */
export function newMiniflare(options: MiniflareOptions): Miniflare {
  const before = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)));
  const made = new Miniflare(options);
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal)) if (!before.has(listener)) process.off(signal, listener);
  return made;
}

/** Wrangler's program, for its work on this machine. */
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PACKAGE } from "../package.ts";

/** Its program. The one in `bin` starts it in a process more. */
export const WRANGLER = join(
  dirname(createRequire(join(PACKAGE, "package.json")).resolve("wrangler/package.json")),
  "wrangler-dist",
  "cli.js",
);

/**
 * No telemetry, no lookup of where this machine is, and no recording of every call, event and statement,
 * which takes a third of the server's time and a disk of its own.
 */
export const QUIET = {
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  X_LOCAL_OBSERVABILITY: "false",
  WRANGLER_WRITE_LOGS: "false",
};

/** Where Node keeps compiled code by default. Wrangler is a file of 15 MB. */
const COMPILE_CACHE = join(tmpdir(), "node-compile-cache");

export const wranglerEnv = () => ({ NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, ...QUIET, CI: "true" });

/** Runs Wrangler's own commands as child processes. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join, dirname } from "node:path";
import { CliFault } from "./console.ts";
import { tmpdir } from "node:os";
import { PACKAGE } from "./project/package.ts";

const { resolve } = createRequire(import.meta.url);
export const WRANGLER = join(resolve("wrangler/package.json"), "..", "bin", "wrangler.js");

export interface WranglerRun {
  cwd: string;
  /** Added to this process's environment. */
  env?: Record<string, string>;
  /** Called with each piece of the output, of both streams. */
  onOutput?: (text: string) => void;
}

/**
 * Runs a command of Wrangler to its end, without questions, and returns what it wrote to standard output.
 *
 * @throws Fault with the end of its output, when the command fails.
 */
export async function wrangler(args: string[], { cwd, env, onOutput }: WranglerRun): Promise<string> {
  const child = spawn(process.execPath, [WRANGLER, ...args], {
    cwd,
    env: { ...process.env, CI: "true", WRANGLER_SEND_METRICS: "false", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let all = "";
  const collect = (text: string) => {
    all += text;
    onOutput?.(text);
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    collect(text);
  });
  child.stderr.setEncoding("utf8").on("data", collect);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code !== 0) throw new CliFault(`wrangler ${args.slice(0, 2).join(" ")} failed.\n${all.trim().slice(-4_000)}`);
  return out;
}

// Wrangler's program, for its work on this machine.

/** Its program. The one in `bin` starts it in a process more. */
export const WRANGLER_CLI = join(
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

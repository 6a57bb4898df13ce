/** `wrangler` as a child process. */
import { type ChildProcess, spawn } from "node:child_process";
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

/** The environment of wrangler's process. */
export const wranglerEnv = () => ({ NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, ...QUIET, CI: "true" });

/**
 * Loaded before wrangler. The pipe to this process closes however this process ends, by SIGKILL too. Wrangler then kills its
 * process group, which it leads.
 */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent(`
  import { Socket } from "node:net";
  const end = () => (process.platform === "win32" ? process.exit() : process.kill(-process.pid, "SIGKILL"));
  new Socket({ fd: 3 }).once("close", end).resume().unref();
`)}`;

/** Starts `wrangler <args>` in `cwd`, in a process group of its own. Its output is piped. */
export function wrangler(args: string[], cwd: string): ChildProcess {
  const child = spawn(process.execPath, ["--no-warnings", "--import", END_WITH_PARENT, WRANGLER, ...args], {
    cwd,
    env: wranglerEnv(),
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: process.platform !== "win32",
  });
  const end = () => killGroup(child);
  process.once("exit", end);
  child.once("exit", () => {
    process.off("exit", end);
    // A workerd that is left behind keeps the pipes open, and the address.
    end();
  });
  return child;
}

/** Kills the process and all that it started. A wrangler that is killed alone leaves its workerd running. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has ended.
  }
}

/** Runs `wrangler <args>` to its end. Gives its exit code and what it printed. */
export async function wranglerOnce(args: string[], cwd: string): Promise<{ code: number | null; output: string }> {
  const child = wrangler(args, cwd);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

/** Runs Wrangler's own commands as child processes. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Fault } from "./fault.ts";

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
  if (code !== 0) throw new Fault(`wrangler ${args.slice(0, 2).join(" ")} failed.\n${all.trim().slice(-4_000)}`);
  return out;
}

/** Wrangler's translation of a configuration into Miniflare's options. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as Wrangler from "wrangler";
import { Fault } from "../fault.ts";
import { PACKAGE, VERSION } from "../package.ts";
import type { Project } from "../project.ts";
import { writeWhole } from "../write-whole.ts";
import { WRANGLER, wranglerEnv } from "./wrangler.ts";

export type Translated = Pick<Wrangler.Unstable_MiniflareWorkerOptions, "workerOptions" | "externalWorkers">;

interface Note {
  digest: string;
  options: Translated;
}

/** Run as a module of its own, since Wrangler takes 160 MB. What it prints goes elsewhere. */
const SCRIPT = `
const { writeFileSync } = require("node:fs");
const [wrangler, config, out] = process.argv.slice(1);
const { workerOptions, externalWorkers } = require(wrangler).unstable_getMiniflareWorkerOptions(config);
writeFileSync(out, JSON.stringify({ workerOptions, externalWorkers }));
`;

/**
 * The options for the configuration in the file `config`. It has no variables, so the note of the last translation, which
 * saves a second at each start, has no secret.
 *
 * @throws Fault with Wrangler's own words when it refuses the configuration.
 */
export async function translateConfig({ weirDir }: Project, config: string): Promise<Translated> {
  const text = readFileSync(config, "utf8");
  if (hasRemote(JSON.parse(text))) return translateRemote(config);
  const file = join(weirDir, "miniflare.json");
  const digest = createHash("sha256").update(`${VERSION}\0${WRANGLER}\0${text}`).digest("hex");
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Note) : undefined;
  if (known?.digest === digest) return known.options;
  const options = await translate(config);
  writeWhole(file, JSON.stringify({ digest, options } satisfies Note));
  return options;
}

async function translate(config: string): Promise<Translated> {
  const folder = mkdtempSync(join(tmpdir(), "weir-"));
  const out = join(folder, "options.json");
  const args = ["--no-warnings", "--eval", SCRIPT, WRANGLER, config, out];
  try {
    await new Promise<void>((resolve, reject) => {
      execFile(process.execPath, args, { cwd: folder, env: wranglerEnv() }, (error, _stdout, stderr) =>
        error ? reject(new Fault(`Wrangler does not accept the configuration.\n${readReason(stderr)}`)) : resolve(),
      );
    });
    return JSON.parse(readFileSync(out, "utf8")) as Translated;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The message of an uncaught error, without the source and the stack around it. */
function readReason(stderr: string): string {
  const lines = stderr.split("\n");
  const from = lines.findIndex((line) => /^\w*Error\b.*: /.test(line));
  const to = lines.findIndex((line, at) => at > from && /^ {4}at /.test(line));
  return (from < 0 ? stderr : lines.slice(from, to < 0 ? undefined : to).join("\n")).trim();
}

/** Whether a binding is used in the account, as `"remote": true` says. */
const hasRemote = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  ((value as { remote?: unknown }).remote === true || Object.values(value).some(hasRemote));

/** Such bindings are reached through a connection that Wrangler keeps open in this process. */
async function translateRemote(config: string): Promise<Translated> {
  Object.assign(process.env, wranglerEnv(), { CI: process.env.CI });
  const require = createRequire(join(PACKAGE, "package.json"));
  const wrangler = require("wrangler") as typeof Wrangler;
  connection = await wrangler.maybeStartOrUpdateRemoteProxySession({ path: config }, connection);
  return wrangler.unstable_getMiniflareWorkerOptions(config, undefined, {
    remoteProxyConnectionString: connection?.session.remoteProxyConnectionString,
  });
}

let connection: Awaited<ReturnType<typeof Wrangler.maybeStartOrUpdateRemoteProxySession>> = null;

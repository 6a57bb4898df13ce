/** A local Weir: `wrangler dev` on a folder of state, in a process group of its own. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockState } from "../src/cli/dev/state-lock.ts";
import { WRANGLER_CLI as WRANGLER, wranglerEnv } from "../src/cli/wrangler.ts";

const ROOT = join(import.meta.dirname, "..");

/** The S3 endpoint of the bucket for exports, the last one in wrangler.toml, at `/cdn-cgi/local/r2/s3/weir-exports`, and the keys it takes. */
const LOCAL_S3 = `
[r2_buckets.local_dev.experimental_s3_credentials]
accessKeyId = "local"
secretAccessKey = "local-secret"
`;

/**
 * Writes the configuration for this machine: that of a deployment, with the bucket served over S3, and without the list
 * of required secrets, since with it wrangler hides every other line of `.dev.vars` from the Worker. The Worker is not
 * minified, which takes esbuild three seconds at each start.
 */
export function localConfig(): string {
  const file = join(ROOT, "wrangler.local.toml");
  const deployed = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const without = deployed.replace(/^\[secrets\]\n[^[]+\[[^\]]*\]\n/m, "").replace("minify = true", "minify = false");
  const local = `# Made from wrangler.toml by scripts/local-server.ts.\n${without}${LOCAL_S3}`;
  if (!existsSync(file) || readFileSync(file, "utf8") !== local) writeFileSync(file, local);
  // Wrangler refuses to start without the folder of the page, also where no page was built.
  mkdirSync(join(ROOT, "dist", "web"), { recursive: true });
  return file;
}

export interface ServeOptions {
  port: number;
  /** Where D1, R2, and the Durable Objects live. Survives the process. */
  persistTo: string;
  /** A file of secrets to use instead of `.dev.vars`. */
  envFile?: string;
  /** Another configuration than that of `localConfig`. */
  config?: string;
  /** Where V8's inspector listens; anywhere if left out. */
  inspectorPort?: number;
  /** Flags for V8, separated by spaces. */
  v8Flags?: string;
  /** Receives the output of the server in chunks, if the group is its own. */
  onOutput?: (text: string) => void;
  /**
   * "own": a process group of its own, silent, for tests that kill it whole. "shared": the caller's group and terminal, so
   * that Ctrl-C or a kill of the group reaches the server too.
   */
  group: "own" | "shared";
}

export interface LocalServer {
  url: string;
  /** The process of wrangler, above all others of this server. */
  pid: number;
  /** Settles when the process has ended, however. */
  ended: Promise<void>;
  /** Ends the server, with its own group if it has one: SIGTERM asks, SIGKILL does not. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** Starts the Worker on the state in `persistTo`, which is this process's until the server ends, and waits until it answers. */
export async function serve({
  port,
  persistTo,
  envFile,
  config = localConfig(),
  inspectorPort = 0,
  v8Flags = "",
  onOutput = () => {},
  group,
}: ServeOptions): Promise<LocalServer> {
  const own = group === "own";
  const args = [
    "dev",
    "--config",
    config,
    "--ip",
    "127.0.0.1",
    "--port",
    String(port),
    "--inspector-port",
    String(inspectorPort),
    "--persist-to",
    persistTo,
  ];
  args.push("--show-interactive-dev-session", "false", "--log-level", own ? "error" : "log");
  if (envFile) args.push("--env-file", envFile);
  const url = `http://127.0.0.1:${port}`;
  const lock = lockState(persistTo, url);
  const child = spawn(process.execPath, ["--no-warnings", WRANGLER, ...args], {
    cwd: ROOT,
    env: { ...wranglerEnv(), MINIFLARE_WORKERD_V8_FLAGS: v8Flags },
    detached: own,
    stdio: own ? ["ignore", "pipe", "pipe"] : ["ignore", "inherit", "inherit"],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("wrangler could not be started.");
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4_000);
      onOutput(text);
    });
  }
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve())).then(() => lock.release());
  const stop = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM") => {
    try {
      process.kill(own ? -pid : pid, signal);
    } catch {
      // The process has already exited.
    }
    await ended;
  };
  const up = await answers(url, ended);
  if (!up) {
    await stop(own ? "SIGKILL" : "SIGTERM");
    throw new Error(`The server did not start.\n${said}`);
  }
  return { url, pid, ended, stop };
}

async function answers(url: string, ended: Promise<void>): Promise<boolean> {
  const over = ended.then(() => "over" as const);
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const ok = fetch(`${url}/ok`).then(
      (response) => response.ok,
      () => false,
    );
    if ((await Promise.race([over, ok])) === true) return true;
    const pause = new Promise((resolve) => setTimeout(resolve, 100));
    if ((await Promise.race([over, pause])) === "over") return false;
  }
  return false;
}

/** A key of the workspace with this id, or of a new one. Makes the workspace if there is none. */
export async function newKey(
  url: string,
  adminKey: string,
  workspaceId?: string,
): Promise<{ workspaceId: string; key: string }> {
  const post = async (path: string, body: unknown, tenant?: string) => {
    const headers = {
      "x-api-key": adminKey,
      "content-type": "application/json",
      ...(tenant && { "x-tenant-id": tenant }),
    };
    return fetch(`${url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const made = await post("/workspaces", { id: workspaceId, name: workspaceId ? "local" : "workspace" });
  const exists = made.status === 409 && workspaceId !== undefined;
  if (!made.ok && !exists) throw new Error(`No workspace could be made: ${await made.text()}`);
  const id = exists ? workspaceId : (await made.json<{ id: string }>()).id;
  const answer = await post("/api-keys", { name: "local" }, id);
  if (!answer.ok) throw new Error(`No key could be made: ${await answer.text()}`);
  const { key } = await answer.json<{ key: string }>();
  return { workspaceId: id, key };
}

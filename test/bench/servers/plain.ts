/** Weir on Miniflare alone: the bundle that `wrangler deploy` makes of a checkout, without wrangler's proxy before it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { newKey, quietPort } from "../../../scripts/local-server.ts";
import { QUIET } from "../../../src/cli/dev/wrangler.ts";
import { SECRETS } from "../../support/server.ts";
import { running, type Server, spawned } from "./server.ts";

const HERE = join(import.meta.dirname, "..", "..", "..");

interface PlainOptions {
  /** The checkout, installed; this one if left out. */
  root?: string;
  /** Its configuration; wrangler.toml if left out. */
  config?: string;
  /** Variables of the Worker, beside the secrets. */
  vars?: Record<string, string>;
  name?: string;
}

/** Builds a checkout and starts it on a new, empty state, which goes with the server. */
export async function startPlain({ root = HERE, config, vars, name }: PlainOptions = {}): Promise<Server> {
  const checkout = resolve(root);
  const file = config ?? join(checkout, "wrangler.toml");
  const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
  const [bundle, persistTo] = [join(folder, "bundle"), join(folder, "state")];
  const env = { ...process.env, ...QUIET, CI: "true" };
  const wrangler = (...args: string[]) => {
    const script = join(checkout, "node_modules", "wrangler", "bin", "wrangler.js");
    execFileSync(process.execPath, [script, ...args, "--config", file], { cwd: checkout, env, stdio: "pipe" });
  };
  // Wrangler refuses to build without the folder of the page.
  mkdirSync(join(checkout, "dist", "web"), { recursive: true });
  wrangler("deploy", "--dry-run", "--outdir", bundle);
  wrangler("d1", "migrations", "apply", "DB", "--local", "--persist-to", persistTo);

  const port = await quietPort();
  const url = `http://127.0.0.1:${port}`;
  const entry = join(bundle, readdirSync(bundle).find((name) => name.endsWith(".js")) ?? "");
  const variables = JSON.stringify({ ...SECRETS, OFFLINE_MODEL_DELAY_MS: "0", ...vars });
  const script = join(import.meta.dirname, "miniflare.ts");
  const child = spawned(
    process.execPath,
    [script, checkout, file, entry, persistTo, String(port), variables],
    checkout,
    env,
  );
  await child.up(`${url}/ok`);
  const { key, workspaceId } = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
  return {
    ...running({ url, key, pid: child.pid }),
    name: name ?? "Weir, plain",
    persistTo,
    workspaceId,
    end: () => child.stop(),
    async stop() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

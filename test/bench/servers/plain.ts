/** Weir on Miniflare alone: the bundle that `wrangler deploy` makes of a checkout, without wrangler's proxy before it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { newKey, quietPort } from "../../../scripts/local-server.ts";
import { QUIET } from "../../../src/cli/dev/wrangler.ts";
import { SECRETS } from "../../support/server.ts";
import { bundleOf, copyEmptyState } from "./checkout.ts";
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
  const persistTo = join(folder, "state");
  const entry = bundleOf(checkout, file);
  copyEmptyState(checkout, file, persistTo);

  const port = await quietPort();
  const url = `http://127.0.0.1:${port}`;
  const variables = JSON.stringify({ ...SECRETS, OFFLINE_MODEL_DELAY_MS: "0", ...vars });
  const script = join(import.meta.dirname, "miniflare.ts");
  const child = spawned(
    process.execPath,
    [script, checkout, file, entry, persistTo, String(port), variables],
    checkout,
    { ...process.env, ...QUIET },
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

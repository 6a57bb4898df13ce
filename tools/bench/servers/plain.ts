/** Weir on Miniflare alone: the bundle that `wrangler deploy` makes of a checkout, without wrangler's proxy before it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { newKey } from "../../../scripts/local-server.ts";
import { quietPort } from "../../../test/support/ports.ts";
import { QUIET } from "../../../src/cli/wrangler.ts";
import { SECRETS } from "../../../test/support/server.ts";
import { isLeast } from "../least.ts";
import { bundleCheckout, copyEmptyState } from "./checkout.ts";
import { connectServer, spawnServer, type Weir } from "./server.ts";

const HERE = join(import.meta.dirname, "..", "..", "..");

interface PlainOptions {
  /** The checkout, installed; this one if left out. */
  root?: string;
  /** Its configuration; wrangler.toml if left out. */
  config?: string;
  /** Variables of the Worker, beside the secrets. */
  vars?: Record<string, string>;
  /** With V8's inspector. */
  inspected?: boolean;
  /** Flags for V8, separated by spaces. */
  v8Flags?: string;
  /** With the files of the page. */
  page?: boolean;
  name?: string;
}

/** The servers that benches share in the least load, by their settings. */
const shared = new Map<string, Promise<Weir>>();

/**
 * A server on a new, empty state. With the least load it is one that others have too, with a workspace of its own. An inspector
 * has one client, so a server that has one is not shared.
 */
export async function startPlain({ name = "Weir, plain", ...settings }: PlainOptions = {}): Promise<Weir> {
  if (!isLeast() || settings.inspected) return { ...(await startAlone(settings)), name };
  const key = JSON.stringify({ ...settings, root: resolve(settings.root ?? HERE) });
  const server = shared.get(key) ?? startAlone(settings);
  shared.set(key, server);
  const { url, pid, ...rest } = await server;
  const access = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
  return { ...rest, ...connectServer({ url, key: access.key, pid }), ...access, pid, name };
}

/** Ends the servers that benches share. */
export async function stopShared(): Promise<void> {
  const all = await Promise.allSettled(shared.values());
  shared.clear();
  for (const one of all) if (one.status === "fulfilled") await one.value[Symbol.asyncDispose]();
}

/** Builds a checkout and starts it on a new, empty state, which goes with the server. */
export async function startAlone(options: Omit<PlainOptions, "name"> = {}): Promise<Weir> {
  const checkout = resolve(options.root ?? HERE);
  const config = options.config ?? join(checkout, "wrangler.toml");
  const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
  const persistTo = join(folder, "state");
  const bundle = await bundleCheckout(checkout, config);
  await copyEmptyState(checkout, config, persistTo);

  const port = await quietPort();
  const inspectorPort = options.inspected ? await quietPort() : undefined;
  const url = `http://127.0.0.1:${port}`;
  const vars = { ...SECRETS, OFFLINE_MODEL_DELAY_MS: "0", ...options.vars };
  const settings = { checkout, config, bundle, persistTo, port, inspectorPort, vars, page: options.page };
  const script = join(import.meta.dirname, "miniflare.ts");
  const env = { ...process.env, ...QUIET, MINIFLARE_WORKERD_V8_FLAGS: options.v8Flags };
  const child = spawnServer(process.execPath, [script, JSON.stringify(settings)], checkout, env);
  await child.up(`${url}/ok`);
  const access = await newKey(url, SECRETS.WEIR_ADMIN_KEY);
  return {
    ...connectServer({ url, key: access.key, pid: child.pid }),
    ...access,
    name: "Weir, plain",
    pid: child.pid,
    persistTo,
    inspectorPort,
    end: () => child.stop(),
    async [Symbol.asyncDispose]() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

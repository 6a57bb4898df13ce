/** Runs a bundle on Miniflare alone, without wrangler's proxy, in this process: started by plain.ts with the settings as JSON. */
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import type * as miniflare from "miniflare";
import { lockState } from "../../../src/cli/dev/state-lock.ts";

interface Settings {
  /** The folders of the checkout and of the state, the configuration, and the entry of the bundle. */
  checkout: string;
  persistTo: string;
  config: string;
  bundle: string;
  port: number;
  inspectorPort?: number;
  vars: object;
  page?: boolean;
}
const settings = JSON.parse(process.argv[2] ?? "") as Settings;
const { bundle, persistTo, port, inspectorPort } = settings;
lockState(persistTo, `http://127.0.0.1:${port}`);
// The bench compares checkouts, so each brings its own versions.
const checkout = createRequire(join(settings.checkout, "package.json"));
const { Miniflare, convertV4MiniflareOptions: convert } = checkout("miniflare") as typeof miniflare;
const { unstable_getMiniflareWorkerOptions: getOptions } = checkout("wrangler") as {
  unstable_getMiniflareWorkerOptions: (config: string) => {
    workerOptions: { bindings?: object; modulesRules?: unknown; assets?: miniflare.V4WorkerOptions["assets"] };
  };
};

/** The kinds of module that a bundle has. The entry comes first. */
const KINDS: Record<string, "ESModule" | "CompiledWasm"> = { ".js": "ESModule", ".wasm": "CompiledWasm" };
const folder = dirname(bundle);
const beside = readdirSync(folder).map((name) => join(folder, name));
const modules = [bundle, ...beside.filter((path) => path !== bundle)].flatMap((path) => {
  const type = KINDS[extname(path)];
  return type ? [{ type, path }] : [];
});

// The modules are listed, so the rules that find them have no use.
const { modulesRules: _rules, ...workerOptions } = getOptions(settings.config).workerOptions;
// With the files of the page, Miniflare sends each request through Workers of its own. Deployed, the platform does their work
// outside of the Worker.
if (!settings.page) delete workerOptions.assets;
const worker = {
  ...workerOptions,
  name: "weir",
  bindings: { ...workerOptions.bindings, ...settings.vars },
  modules,
  modulesRoot: folder,
};
await new Miniflare({
  ...convert({ workers: [worker] }),
  host: "127.0.0.1",
  port,
  inspectorPort,
  cf: false,
  resourcePersistencePath: join(persistTo, "v3"),
}).ready;

/**
 * Runs a bundle on Miniflare alone, without wrangler's proxy, in this process: started by plain.ts with the folder of the
 * checkout, the configuration, the bundle, the folder of the state, the port and the variables as JSON.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type * as miniflare from "miniflare";

const [root = "", config = "", bundle = "", persistTo = "", port = "0", vars = "{}"] = process.argv.slice(2);
// The bench compares checkouts, so each brings its own versions.
const checkout = createRequire(join(root, "package.json"));
const { Miniflare, convertV4MiniflareOptions: convert } = checkout("miniflare") as typeof miniflare;
const { unstable_getMiniflareWorkerOptions: optionsOf } = checkout("wrangler") as {
  unstable_getMiniflareWorkerOptions: (config: string) => {
    workerOptions: { bindings?: object; modulesRules?: unknown; assets?: unknown };
  };
};

// The bundle is one module, so the rules for other kinds have no use. With the files of the page, Miniflare would send each
// request through Workers of its own. Deployed, the platform does their work outside of the Worker.
const { modulesRules: _rules, assets: _page, ...workerOptions } = optionsOf(config).workerOptions;
const bindings = { ...workerOptions.bindings, ...(JSON.parse(vars) as object) };
const worker = {
  ...workerOptions,
  name: "weir",
  bindings,
  modules: [{ type: "ESModule" as const, path: bundle }],
  modulesRoot: dirname(bundle),
};
await new Miniflare({
  ...convert({ workers: [worker] }),
  host: "127.0.0.1",
  port: Number(port),
  cf: false,
  resourcePersistencePath: join(persistTo, "v3"),
}).ready;

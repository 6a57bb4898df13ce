/**
 * Runs a bundle on Miniflare alone, without wrangler's proxy, in this process: started by plain.ts with the folder of the
 * checkout, the configuration, the bundle, the folder of the state, the port and the variables as JSON.
 */
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
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

/** The kinds of module that a bundle has. The entry comes first. */
const KINDS: Record<string, "ESModule" | "CompiledWasm"> = { ".js": "ESModule", ".wasm": "CompiledWasm" };
const folder = dirname(bundle);
const beside = readdirSync(folder).map((name) => join(folder, name));
const modules = [bundle, ...beside.filter((path) => path !== bundle)].flatMap((path) => {
  const type = KINDS[extname(path)];
  return type ? [{ type, path }] : [];
});

// The modules are listed, so the rules that find them have no use. With the files of the page, Miniflare would send each
// request through Workers of its own. Deployed, the platform does their work outside of the Worker.
const { modulesRules: _rules, assets: _page, ...workerOptions } = optionsOf(config).workerOptions;
const bindings = { ...workerOptions.bindings, ...(JSON.parse(vars) as object) };
const worker = {
  ...workerOptions,
  name: "weir",
  bindings,
  modules,
  modulesRoot: folder,
};
await new Miniflare({
  ...convert({ workers: [worker] }),
  host: "127.0.0.1",
  port: Number(port),
  cf: false,
  resourcePersistencePath: join(persistTo, "v3"),
}).ready;

/** A project as `weir build` leaves it, with a Worker of a few lines in the place of a bundle. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DeployConfig } from "../../../src/cli/deploy/plan.ts";
import { nameResources } from "../../../src/cli/project/generate.ts";

const WORKER = `
export class Thread { fetch() { return new Response(); } }
export default { fetch: () => new Response("ok"), queue() {}, scheduled() {} };
`;
export const MIGRATIONS = join(import.meta.dirname, "../../../migrations");

export interface BuiltProject {
  root: string;
  weirDir: string;
  configPath: string;
  config: DeployConfig;
  remove(): void;
}

/** A built project with the resources of the deployment `name` and `env`. */
export function createBuiltProject(name: string, env?: string): BuiltProject {
  const root = mkdtempSync(join(tmpdir(), "weir-project-"));
  const weirDir = join(root, ".weir");
  mkdirSync(weirDir);
  writeFileSync(join(weirDir, "worker.js"), WORKER);
  const { worker, databases, buckets, queues, rateLimits, vars } = nameResources(name, env);
  const config = {
    name: worker,
    main: "worker.js",
    compatibility_date: "2026-11-02",
    secrets: { required: ["ENCRYPTION_KEY", "WEIR_ADMIN_KEY"] },
    vars,
    d1_databases: [{ binding: "DB", database_name: databases.DB, migrations_dir: MIGRATIONS }],
    r2_buckets: Object.entries(buckets).map(([binding, bucket_name]) => ({ binding, bucket_name })),
    queues: {
      producers: Object.entries(queues).map(([binding, queue]) => ({ binding, queue })),
      consumers: Object.values(queues).map((queue) => ({ queue })),
    },
    ratelimits: Object.entries(rateLimits).map(([name, namespace_id]) => ({
      name,
      namespace_id,
      simple: { limit: 60, period: 60 },
    })),
    durable_objects: { bindings: [{ name: "THREAD", class_name: "Thread" }] },
    exports: { Thread: { type: "durable-object", storage: "sqlite" } },
    triggers: { crons: ["* * * * *"] },
  };
  const configPath = join(weirDir, "wrangler.json");
  writeFileSync(configPath, JSON.stringify(config));
  return { root, weirDir, configPath, config, remove: () => rmSync(root, { recursive: true, force: true }) };
}

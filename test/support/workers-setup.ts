/** Before each file of workerd tests: in workerd for sure, within Cloudflare's limits, and with the tables in place. */
import "./edge-limits/install.ts";
import { applyD1Migrations, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach } from "vitest";
import { graphs, projectExports } from "../../src/deployment.ts";
import { failOnFaults } from "./answers/watch.ts";
import { failOnCrossings } from "./edge-limits/record.ts";

if (navigator.userAgent !== "Cloudflare-Workers") throw new Error("These tests must run in workerd.");

await applyD1Migrations(env.DB, (env as Env & { TEST_MIGRATIONS: D1Migration[] }).TEST_MIGRATIONS);

// drizzle-kit knows no virtual tables and triggers: a migration that is generated anew loses the part that is written by hand.
const index = await env.DB.prepare("SELECT 1 FROM sqlite_master WHERE name = 'store_text'").first();
if (!index) throw new Error("The migration makes no store_text: carry its table and triggers over.");

// Also when the code under test caught the error. Errors after a test's end count for the next test.
afterEach(failOnCrossings);
afterAll(failOnCrossings);
failOnFaults();

// Files share an isolate: an Auth, an application or a graph in the place of a demo graph is gone after the file's tests.
// So are exports: the minute of a later file would send the messages of those that have not ended.
const demo = { ...graphs };
afterAll(async () => {
  for (const name of Object.keys(projectExports)) Reflect.deleteProperty(projectExports, name);
  Object.assign(graphs, demo);
  await env.DB.batch([env.DB.prepare("DELETE FROM export_runs"), env.DB.prepare("DELETE FROM bulk_exports")]);
});

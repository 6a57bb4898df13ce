/**
 * `npm run smoke -- --url URL --key KEY [--no-exports]`: checks a deployment from outside, with a key of one of its
 * workspaces (scopes `read`, `write` and `exports`). It exits with 1 when a check fails, or when something that a check
 * made could not be removed.
 */
import { parseArgs } from "node:util";
import { agents } from "./checks/agents.ts";
import { assistants } from "./checks/assistants.ts";
import { exports } from "./checks/exports.ts";
import { oauth } from "./checks/oauth.ts";
import { rest } from "./checks/rest.ts";
import { runs } from "./checks/runs.ts";
import { streaming } from "./checks/streaming.ts";
import { errors, key, system } from "./checks/system.ts";
import { threads } from "./checks/threads.ts";
import { deleteProjectLater, traces } from "./checks/traces.ts";
import { type Check, NotRun, runChecks, Smoke } from "./suite.ts";

const { values } = parseArgs({
  options: { url: { type: "string" }, key: { type: "string" }, "no-exports": { type: "boolean" } },
});
if (!values.url || !URL.canParse(values.url) || !values.key) {
  console.error("Usage: npm run smoke -- --url https://weir.example --key <API key> [--no-exports]");
  process.exit(2);
}
const say = (line: string) => console.log(line);
const instead = (checks: Check[], reason: string): Check[] =>
  checks.map((check) => ({ name: check.name, run: () => Promise.reject(new NotRun(reason)) }));

const began = Date.now();
const smoke = new Smoke(values.url, values.key);
const inner = [
  ...errors,
  ...assistants,
  ...threads,
  ...runs,
  ...streaming,
  ...agents,
  ...rest,
  ...traces,
  ...(values["no-exports"] ? instead(exports, "switched off by --no-exports") : exports),
  ...oauth,
];
say(`${smoke.url}\n`);
const outer = await runChecks(smoke, [...system, key], say);
deleteProjectLater(smoke);
const totals = await runChecks(smoke, smoke.graphs.length > 0 ? inner : instead(inner, "the key was not taken"), say);
const { removed, failed } = smoke.graphs.length > 0 ? await smoke.cleanUp() : { removed: 0, failed: [] };
say(`\n${removed} things that the checks made were removed.`);
for (const what of failed) say(`FAILED   clean up: ${what}`);
if (smoke.left.length > 0) say("These stay, because no call removes them:");
for (const what of smoke.left) say(`  ${what}`);
const bad = outer.failed + totals.failed + failed.length;
const seconds = ((Date.now() - began) / 1000).toFixed(1);
say(`\n${outer.ok + totals.ok} ok, ${bad} failed, ${outer.notRun + totals.notRun} not run, in ${seconds} s`);
// Sockets of the clients may still be open.
process.exit(bad > 0 ? 1 : 0);

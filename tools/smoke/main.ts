/**
 * `npm run smoke -- --url URL --key KEY [--no-exports]`: tests a deployment from outside with an API key (scopes
 * `read`, `write` and `exports`). Exit codes: 0 when no check fails, 1 when a check or the cleanup fails, 2 for wrong
 * arguments.
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
const replaceChecks = (checks: Check[], reason: string): Check[] =>
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
  ...(values["no-exports"] ? replaceChecks(exports, "switched off by --no-exports") : exports),
  ...oauth,
];
say(`${smoke.url}\n`);
const outer = await runChecks(smoke, [...system, key], say);
deleteProjectLater(smoke);
const totals = await runChecks(
  smoke,
  smoke.graphs.length > 0 ? inner : replaceChecks(inner, "the key was refused"),
  say,
);
const { removed, failed } = smoke.graphs.length > 0 ? await smoke.cleanUp() : { removed: 0, failed: [] };
say(`\n${removed} resources of the checks removed.`);
for (const what of failed) say(`FAILED   cleanup: ${what}`);
if (smoke.left.length > 0) say("Not removed, because no API call deletes them:");
for (const what of smoke.left) say(`  ${what}`);
const bad = outer.failed + totals.failed + failed.length;
const seconds = ((Date.now() - began) / 1000).toFixed(1);
say(`\n${outer.ok + totals.ok} ok, ${bad} failed, ${outer.notRun + totals.notRun} not run, in ${seconds} s`);
// Open sockets of the clients would keep the process running.
process.exit(bad > 0 ? 1 : 0);

/**
 * `npm run fuzz -- --seed N --requests 100000`: requests made from /openapi.json and the protocols' grammars, against a server
 * started here, or the one at --url with the admin key --key. --first sends the requests from that number on.
 */
import { parseArgs } from "node:util";
import { fuzz, leaks } from "./run.ts";
import { startFuzzed } from "./server.ts";
import { makeWorld } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    requests: { type: "string", default: "5000" },
    first: { type: "string", default: "0" },
    url: { type: "string" },
    key: { type: "string" },
  },
});
const [seed, requests, first] = [values.seed, values.requests, values.first].map(Number) as [number, number, number];
if (values.url && !values.key) throw new Error("With --url, give the deployment's admin key with --key.");

console.log(`seed ${seed}, ${requests} requests`);
const server = values.url ? undefined : await startFuzzed();
try {
  const url = values.url ?? server?.url ?? "";
  const world = await makeWorld(url, values.key ?? server?.adminKey ?? "", seed, server?.users);
  const report = await fuzz(url, world, { seed, requests, first, pid: server?.pid, progress: console.log });
  const { faults, statuses, ...figures } = report;
  const crossings = (await server?.crossings()) ?? [];
  console.table(statuses);
  console.log(JSON.stringify(figures));
  console.log(
    `${faults.length} faults, ${crossings.length} limits crossed, ${server?.errors.length ?? 0} errors logged`,
  );
  for (const crossing of crossings) console.log(`${crossing.limit}: ${crossing.message}`);
  for (const line of server?.errors.slice(0, 20) ?? []) console.log(line);
  if (faults.length > 0 || crossings.length > 0 || leaks(report)) process.exitCode = 1;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await server?.stop();
  // Connections to the server may be open still.
  process.exit();
}

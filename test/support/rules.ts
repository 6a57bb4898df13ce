/** Rules on runs, for tests in workerd. */
import { countCalls, database } from "../../src/db/client.ts";
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { takeBackfillParts, takeParts } from "../../src/automation/rules/store.ts";
import { workPart } from "../../src/automation/rules/work.ts";
import type { Caller } from "./caller.ts";
import { ask } from "./examples.ts";
import { DAY, projectId, runParts, type Sent, sendMultipart, sentRun } from "./traces.ts";

export interface Rule {
  id: string;
  display_name: string;
  stats: { taken: number; waiting: number; done: number; failed: number; cost: number };
  backfill_status: string | null;
  webhooks: { headers: object | null }[] | null;
  evaluators: { structured: { model: object } }[] | null;
}

/** Sends runs of the project "tests", a millisecond apart. */
export async function sendRuns(caller: Caller, start: number, runs: Record<string, unknown>[]): Promise<Sent[]> {
  const sent = runs.map((run, at) =>
    sentRun(start + at * 1000, { end_time: "2026-11-20T17:49:55Z", inputs: { q: at }, outputs: { a: at }, ...run }),
  );
  const parts = sent.flatMap((run) => runParts("post", run));
  const answer = await sendMultipart(caller, parts);
  if (!answer.ok) throw new Error(await answer.text());
  return sent;
}

export async function newRule(caller: Caller, more: object): Promise<Rule> {
  const session_id = await projectId(caller);
  const body = { display_name: "rule", sampling_rate: 1, session_id, ...more };
  return ask<Rule>(caller, "/runs/rules", { body });
}

export const readRule = (caller: Caller, { id }: Rule) => ask<Rule>(caller, `/runs/rules/${id}`);

/** Works as the minute's sweep and the queue do, until the rule has done `count` runs. */
export async function workUntil(
  caller: Caller,
  rule: Rule,
  count: number,
  what: "done" | "failed" = "done",
): Promise<Rule> {
  return vi.waitFor(
    async () => {
      await workOnce(caller, rule);
      const read = await readRule(caller, rule);
      if (read.stats[what] < count) throw new Error(`${what}: ${JSON.stringify(read.stats)}`);
      return read;
    },
    { timeout: 15_000, interval: 200 },
  );
}

export async function workOnce(caller: Caller, { id }: Rule): Promise<void> {
  // By its alarm, within seconds, the partition tells D1 that it has changed.
  const name = `${caller.workspaceId}/${await projectId(caller)}/${DAY}`;
  await runDurableObjectAlarm(env.TRACE_PARTITION.getByName(name));
  const db = database(env.DB);
  const later = Date.now() + 60_000;
  const parts = [...(await takeParts(db, later, 1_000)), ...(await takeBackfillParts(db, later, 1_000))];
  for (const part of parts) if (part.ruleId === id) while (await workPart(countCalls(env), part));
}

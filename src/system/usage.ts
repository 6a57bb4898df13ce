/** What a workspace holds: trace runs and their bytes by day and project, threads, assistants, items of the Store. */
import * as v from "valibot";
import { countAssistants } from "../agents/assistants/store.ts";
import { database } from "../db/client.ts";
import { Count } from "../http/shapes.ts";
import { countItems } from "../agents/memory/store.ts";
import { countByStatus } from "../threads/search/store.ts";
import { projectNames, usageByDay } from "../traces/projects/store.ts";

const Day = v.pipe(v.string(), v.isoDate("expected a day such as 2026-11-20"));

export const UsageQuery = v.object({ start_date: v.optional(Day), end_date: v.optional(Day) });

const DAY = 86_400_000;

const day = (millis: number) => new Date(millis).toISOString().slice(0, 10);

export const Usage = v.object({
  start_date: v.string(),
  end_date: v.string(),
  traces: v.object({
    runs: Count,
    bytes: Count,
    days: v.array(
      v.object({
        day: v.string(),
        project_id: v.string(),
        project_name: v.nullable(v.string()),
        runs: Count,
        bytes: Count,
      }),
    ),
  }),
  threads: v.pipe(v.record(v.string(), Count), v.description("How many have each status now.")),
  assistants: Count,
  store_items: Count,
});

/** Days are UTC days; both are included. The last 30 days when none are named. */
export async function usage(
  env: Env,
  workspaceId: string,
  wanted: v.InferOutput<typeof UsageQuery>,
  now: number,
): Promise<v.InferOutput<typeof Usage>> {
  const db = database(env.DB);
  const { end_date = day(now) } = wanted;
  const { start_date = day(Date.parse(end_date) - 29 * DAY) } = wanted;
  const [days, threads, assistants, items] = await Promise.all([
    usageByDay(db, workspaceId, start_date, end_date),
    countByStatus(env, workspaceId),
    countAssistants(db, workspaceId, {}),
    countItems(db, workspaceId),
  ]);
  const names = await projectNames(db, workspaceId, [...new Set(days.map(({ project_id }) => project_id))]);
  const sum = (pick: (row: (typeof days)[number]) => number) => days.reduce((total, row) => total + pick(row), 0);
  return {
    start_date,
    end_date,
    traces: {
      runs: sum(({ runs }) => runs),
      bytes: sum(({ bytes }) => bytes),
      days: days.map((row) => ({ ...row, project_name: names.get(row.project_id) ?? null })),
    },
    threads,
    assistants,
    store_items: items,
  };
}

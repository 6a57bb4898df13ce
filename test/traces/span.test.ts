/** A filter over more runs than the index of start times is read for: the table's order gives the same answer. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { filled } from "../support/random-trace-runs.ts";
import { DAY } from "../support/traces.ts";

const COPIES = 22_000;

it("finds the same runs, in either order and page by page, whether few or many pass", async () => {
  const day = await filled(10);
  const { workspaceId, projectId } = day.identity;
  const stub = env.TRACE_PARTITION.get(env.TRACE_PARTITION.idFromName(`${workspaceId}/${projectId}/${DAY}`));
  const rows = await runInDurableObject(stub, (_, { storage: { sql } }) => {
    const columns = [...sql.exec("SELECT name FROM pragma_table_info('runs')").raw()].map(([name]) => name as string);
    // Stored in another order than that of their starts; one of 1,000 is rare, some start together.
    const changed: Record<string, string> = {
      n: "100 + k.value",
      id: "printf('00000000-0000-4000-8000-%012d', (k.value * 7919) % 22000)",
      start_time: "start_time + ((k.value * 7919) % 22000) / 3 * 1000000",
      name: "CASE WHEN k.value % 1000 = 1 THEN 'rare' WHEN k.value % 2 = 0 THEN 'even' ELSE 'odd' END",
    };
    sql.exec(
      `WITH RECURSIVE k(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM k WHERE value < ${COPIES - 1})
       INSERT INTO runs (${columns.join()}) SELECT ${columns.map((name) => changed[name] ?? name).join()}
       FROM k CROSS JOIN (SELECT * FROM runs ORDER BY n LIMIT 1) r`,
    );
    return sql
      .exec<{ id: string; name: string; start_time: number }>("SELECT id, name, start_time FROM runs")
      .toArray();
  });
  const span = Math.max(...rows.map(({ start_time }) => start_time)) - Math.min(...rows.map((row) => row.start_time));
  const middle = Math.min(...rows.map((row) => row.start_time)) + span / 2;
  for (const name of ["rare", "even", "absent"]) {
    for (const order of ["asc", "desc"] as const) {
      for (const window of [{}, { startTime: middle }, { endTime: middle }]) {
        const { startTime = 0, endTime = Infinity }: { startTime?: number; endTime?: number } = window;
        const sign = order === "asc" ? 1 : -1;
        const expected = rows
          .filter((row) => row.name === name && row.start_time >= startTime && row.start_time < endTime)
          .sort((a, b) => sign * (a.start_time - b.start_time || (a.id < b.id ? -1 : 1)))
          .map(({ id }) => id)
          .slice(0, 300);
        const found: string[] = [];
        let after = null;
        for (let done = false; !done && found.length < 300;) {
          const filter = `eq(name, "${name}")`;
          const page = { order, after, limit: 100, maxBytes: 1e9, payloads: [], filter, ...window };
          if (name === "even") page.limit = 7 + found.length;
          const answer: Awaited<ReturnType<typeof stub.query>> = await stub.query(page);
          found.push(...answer.runs.map(({ id }) => id));
          const last = answer.runs.at(-1);
          if (last) after = { start_time: last.start_time, id: last.id };
          done = answer.done;
        }
        expect(found.slice(0, 300), `${name} ${order} ${JSON.stringify(window)}`).toEqual(expected);
      }
    }
  }
});

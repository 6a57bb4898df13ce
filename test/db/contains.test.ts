import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import * as v from "valibot";
import { expect, it } from "vitest";
import { database } from "../../src/db/client.ts";
import { contains } from "../../src/db/conditions.ts";
import { crons } from "../../src/automation/crons/table.ts";
import { JsonFilter } from "../../src/lib/json.ts";

/** A filter of objects and lists in turn, `levels` deep, with a second member beside each object. */
function nestValue(levels: number): Record<string, unknown> {
  let value: unknown = 1;
  for (let level = 1; level < levels; level += 1) value = level % 2 === 0 ? [value, null] : { a: value, b: level };
  return { deep: value };
}

/** As many values as a filter may have, spread over the levels; the next level is the first or the last member. */
function nestWideValue(levels: number, first: boolean): Record<string, unknown> {
  let value: unknown = 1;
  for (let level = 1; level < levels; level += 1) {
    const others = Object.fromEntries(Array.from({ length: Math.floor(29 / levels) }, (_, i) => [`m${i}`, i]));
    value = first ? { a: value, ...others } : { ...others, a: value };
  }
  return { wide: value };
}

const rows = async (filter: Record<string, unknown>) =>
  database(env.DB)
    .select()
    .from(crons)
    .where(
      and(
        eq(crons.workspaceId, "w"),
        eq(crons.assistantId, "a"),
        contains(crons.metadata, filter),
        contains(crons.metadata, { owner: { id: "alice" } }),
      ),
    )
    .all();

it("the deepest filter that is accepted is a statement that D1 takes, also beside a user's own filter", async () => {
  const deepest = Array.from({ length: 12 }, (_, i) => nestValue(i + 1)).filter(
    (one) => v.safeParse(JsonFilter, one).success,
  );
  expect(deepest.length).toBeGreaterThan(2);
  const widest = [1, 2, 3, 4, 5, 6].flatMap((levels) => [nestWideValue(levels, true), nestWideValue(levels, false)]);
  expect(widest.filter((one) => v.safeParse(JsonFilter, one).success).length).toBeGreaterThan(5);
  const accepted = [...deepest, ...widest].filter((one) => v.safeParse(JsonFilter, one).success);
  for (const filter of accepted) expect(await rows(filter)).toEqual([]);
});

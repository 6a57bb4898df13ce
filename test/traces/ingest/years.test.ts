/** Runs whose times are not those of any day that is kept. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { NOON, runParts, sendMultipart, sentRun, readStoredRuns } from "../../support/traces.ts";

interface Answer {
  taken: number;
  rejected: number;
  errors: { id: string | null; message: string }[];
}

const root = (more = {}) =>
  sentRun(NOON, { end_time: NOON / 1000 + 1500, inputs: { q: "hi" }, outputs: { a: "ho" }, ...more });

describe("runs outside the years 1970 to 2254", () => {
  const outside = [
    ["an ISO start_time of 1969", { start_time: "1969-12-31T23:59:59Z" }],
    ["a start_time of the year 1", { start_time: "0001-01-01T00:00:00Z" }],
    ["a negative start_time", { start_time: -86_400_000 }],
    ["an ISO start_time of 2300", { start_time: "2300-01-01T00:00:00Z" }],
    ["a start_time in nanoseconds of 2300", { start_time: 10_413_792_000_000_000_000 }],
  ] as const;

  it.each(outside)("are refused with the reason: %s", async (_, fields) => {
    const caller = await newCaller();
    const { dotted_order: _dotted, ...run } = root(fields);
    const good = root();
    const response = await sendMultipart(caller, [...runParts("post", run), ...runParts("post", good)]);
    expect(response.status).toBe(202);
    const answer = await response.json<Answer>();
    expect(answer).toMatchObject({ taken: 1, rejected: 1 });
    expect(answer.errors).toEqual([{ id: run.id, message: "start_time: outside the years 1970 to 2254" }]);
    expect((await readStoredRuns(caller)).map(({ id }) => id)).toEqual([good.id]);
  });

  it("are refused by their dotted_order, and alone with 422", async () => {
    const caller = await newCaller();
    const id = crypto.randomUUID();
    for (const year of ["1969", "2300"]) {
      const run = {
        ...root(),
        id,
        trace_id: id,
        dotted_order: `${year}0101T000000000000Z${id}`,
        start_time: undefined,
      };
      const response = await caller.fetch("/runs", { body: run });
      expect(response.status).toBe(422);
      expect(await response.text()).toContain("dotted_order: outside the years 1970 to 2254");
    }
    const partitions = await env.DB.prepare("SELECT count(*) AS n FROM trace_partitions WHERE workspace_id = ?")
      .bind(caller.workspaceId)
      .first<{ n: number }>();
    expect(partitions?.n).toBe(0);
  });

  it("a dotted_order with a day that no calendar has is left out and named", async () => {
    const caller = await newCaller();
    const run = root();
    const sent = { ...run, dotted_order: run.dotted_order.replace("20261120", "20260230") };
    const answer = await (await sendMultipart(caller, runParts("post", sent))).json<Answer>();
    expect(answer.errors[0]?.message).toContain("dotted_order: not of the form");
    expect(await readStoredRuns(caller)).toMatchObject([{ id: run.id, start_time: NOON }]);
  });
});

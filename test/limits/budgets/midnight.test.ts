/** A run that continues on the next day. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { anyStorage } from "../../chaos/faults.ts";
import { newCaller } from "../../support/caller.ts";
import { installClock, jump } from "../../support/clock.ts";
import { newThread, stream } from "../../threads/client.ts";
import { between, put, TOKENS } from "./spending.ts";

let resetClock: () => void;
beforeAll(async () => {
  resetClock = await anyStorage((storage) => installClock(storage));
});
afterAll(() => {
  between.work = undefined;
  resetClock();
});

it("at 80 % of each day's budget the run emits an event", async () => {
  const caller = await newCaller();
  await put(caller, "each-day", { per: "day", tokens: 1.2 * TOKENS });
  between.work = async () => jump(86_400_000);
  const body = { assistant_id: "crashing", input: { name: crypto.randomUUID() }, stream_mode: ["custom"] };
  const frames = await stream(caller, await newThread(caller), body);
  const days = frames.flatMap(({ event, data }) =>
    event === "custom" ? [(data as { payload: { day: string } }).payload.day] : [],
  );
  expect(days).toHaveLength(2);
  expect(new Set(days).size).toBe(2);
});

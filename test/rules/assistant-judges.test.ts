/** An assistant as judge: which failures of its run are tried again, and with which run. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { ask } from "../support/examples.ts";
import { newRule, readRule, sendRuns, workOnce } from "../support/rules.ts";
import { NOON } from "../support/traces.ts";

const LOOPBACK = Symbol.for("langgraph_api:fetch");

let caller: Caller;
let clock = NOON + 7_200_000_000;

beforeEach(async () => {
  caller = await newCaller();
  await sendRuns(caller, (clock += 1_000_000), [{ name: "first" }]);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const evaluators = (prompt: string, assistant_id = "echo") => [
  {
    structured: {
      prompt: [["human", prompt]],
      schema: { type: "object", properties: { good: { type: "boolean" } }, required: ["good"] },
      model: { provider: "assistant", assistant_id },
    },
  },
];

it.each([
  [400, false],
  [404, false],
  [408, true],
  [409, true],
  [422, false],
  [429, true],
  [500, true],
  [503, true],
])("a run that is answered with %i is tried again: %s", async (status, isRetried) => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.stubGlobal(LOOPBACK, async () =>
    Response.json({ detail: "later" }, { status, headers: { "retry-after": "1" } }),
  );
  const rule = await newRule(caller, { evaluators: evaluators("{input}") });
  await sendRuns(caller, (clock += 1_000_000), [{}]);
  await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 1, failed: isRetried ? 0 : 1 });
  expect(await ask(caller, `/runs/rules/${rule.id}/logs`)).toMatchObject([
    { will_retry: isRetried, error: expect.stringContaining(String(status)) },
  ]);
});

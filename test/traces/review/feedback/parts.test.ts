/** Feedback that comes with traces, as evaluators of the LangSmith SDKs send it. */
import { expect, it } from "vitest";
import { newCaller } from "../../../support/caller.ts";
import { type MultipartPart, NOON, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

interface Feedback {
  id: string;
  run_id: string;
  key: string;
  score: number;
}

const part = (id: string, body: object): MultipartPart => ({ name: `feedback.${id}`, data: JSON.stringify(body) });

it("belongs to the run that its body names, and has the id of its part", async () => {
  const caller = await newCaller();
  const run = sentRun(NOON);
  const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
  const answer = await sendMultipart(caller, [
    ...runParts("post", run),
    part(first, { run_id: run.id, key: "correct", score: 1 }),
    // Some senders name the part by the run.
    part(run.id, { key: "short", score: 0 }),
    part(run.id, { run_id: run.id, key: "polite", score: 0.5 }),
    part(second, { run_id: run.id, id: second, key: "useful", score: 0.25 }),
  ]);
  expect(await answer.json()).toMatchObject({ rejected: 0, errors: [] });
  const found = await (await caller.fetch(`/feedback?run=${run.id}`)).json<Feedback[]>();
  expect(found.map(({ key }) => key).toSorted()).toEqual(["correct", "polite", "short", "useful"]);
  expect(found.every(({ run_id }) => run_id === run.id)).toBe(true);
  expect(found.find(({ key }) => key === "correct")?.id).toBe(first);
  expect(found.find(({ key }) => key === "useful")?.id).toBe(second);
});

it("names the fault of a body whose run is no id", async () => {
  const caller = await newCaller();
  const id = crypto.randomUUID();
  const answer = await sendMultipart(caller, [part(id, { run_id: "no id", key: "correct" })]);
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({ errors: [{ message: expect.stringContaining("run_id") }] });
});

import { expect, it } from "vitest";
import { suggestName } from "../../src/http/validate.ts";
import { newCaller } from "../support/caller.ts";
import { newThread, say } from "../threads/client.ts";

const KNOWN = ["input", "stream_mode", "interrupt_before", "interrupt_after", "webhook", "metadata", "checkpoint"];

it.each([
  ["streamMode", "stream_mode"],
  ["stream-mode", "stream_mode"],
  ["stream_modes", "stream_mode"],
  ["interupt_before", "interrupt_before"],
  ["metdata", "metadata"],
  ["webhok", "webhook"],
])("%s means %s", (given, meant) => expect(suggestName(given, KNOWN)).toBe(meant));

it.each([...KNOWN, "output", "imput", "checkpoint_map", "checkpoint_ns", "interrupt_beforehand_of_all", ""])(
  "%s means itself",
  (given) => expect(suggestName(given, KNOWN)).toBeUndefined(),
);

it("a run with a misspelt member is refused, one with an unknown member starts", async () => {
  const caller = await newCaller();
  const run = { assistant_id: "echo", input: say("hi") };
  for (const path of [`/threads/${await newThread(caller)}/runs`, "/runs/wait", "/runs/stream"]) {
    const refused = await caller.fetch(path, { body: { ...run, streamMode: "values" } });
    expect(await refused.json()).toMatchObject({
      status: 422,
      detail: "Invalid body.streamMode: is not known; use stream_mode",
    });
    const started = await caller.fetch(path, { body: { ...run, of_a_later_version: true } });
    expect(started.status).toBe(200);
    await started.text();
  }
  const batch = await caller.fetch("/runs/batch", { body: [{ ...run, assistantId: "echo", streamMode: "values" }] });
  expect(batch.status).toBe(200);
});

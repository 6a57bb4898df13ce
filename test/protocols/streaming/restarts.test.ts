/** Readers of the streaming protocol over SSE while the thread's object restarts at random moments. */
import { expect, it } from "vitest";
import { abortsDuring } from "../../support/aborts.ts";
import { expectKept, numberEvents } from "../../support/live-tokens.ts";
import { newCaller } from "../../support/caller.ts";
import { seeded } from "../../support/random.ts";
import { command, human, ofRoot, read } from "./client.ts";

const ROUNDS = 4;
const random = seeded("restarts under the streaming protocol");

it("one connection brings every event once, from the beginning of the run to its end", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const reading = read(caller, thread);
    const start = { assistant_id: "agent", input: human("count to 40") };
    const work = Promise.all([command(caller, thread, "run.start", start), reading]);
    const [answer, events] = await abortsDuring(random, work);
    expect(answer.type).toBe("success");
    expect(ofRoot(events)).toEqual(["running", "completed"]);
    expectKept(numberEvents(events), numberEvents(await read(caller, thread)));
  }
});

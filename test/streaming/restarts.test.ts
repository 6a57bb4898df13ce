/** Readers of the streaming protocol over SSE while the thread's object restarts at random moments. */
import { expect, it } from "vitest";
import { abortsDuring } from "../support/aborts.ts";
import { expectKept } from "../support/live-tokens.ts";
import { newCaller } from "../support/caller.ts";
import { seeded } from "../support/random.ts";
import { command, type Event, human, ofRoot, read } from "./client.ts";

const ROUNDS = 4;
const random = seeded("restarts under the streaming protocol");

/** A graph that begins is shown with its first token. */
const isToken = ({ method, params }: Event) =>
  method === "messages" || (method === "lifecycle" && params.namespace.length > 0);

const numbered = (events: Event[]) =>
  events.map((event) => ({ id: event.event_id, isToken: isToken(event), shown: event }));

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
    expectKept(numbered(events), numbered(await read(caller, thread)));
  }
});

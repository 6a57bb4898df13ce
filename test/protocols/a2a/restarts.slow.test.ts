/** A2A callers of a thread whose object restarts at random moments: one answer, one stream, the task that is there afterwards. */
import "../../support/graphs.ts";
import { beforeAll, expect, it, vi } from "vitest";
import { RemoteThread } from "../../../src/threads/remote.ts";
import { abortsDuring } from "../../support/aborts.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { seeded } from "../../support/random.ts";
import { type Any, events, type Json, message03, message1, result, rpc } from "./rpc.ts";

const ROUNDS = 3;
const COUNT = 40;
const COUNTED = Array.from({ length: COUNT }, (_, i) => i + 1).join(" ");
const random = seeded("restarts under A2A callers");
const agent = "agent";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const joinText = (parts: Json[]) => parts.map(({ text }) => text ?? "").join("");
const read = (id: string) => result(caller, "GetTask", { id }, { agent });

/** The artifacts that a reader of a stream has received, by their ids. */
function artifactsIn(stream: Any[]): Record<string, string> {
  const known: Record<string, string> = {};
  for (const { task, artifactUpdate } of stream) {
    for (const { artifactId, parts } of task?.artifacts ?? []) known[artifactId] = joinText(parts);
    if (!artifactUpdate) continue;
    const { artifact, append } = artifactUpdate;
    known[artifact.artifactId] = (append ? known[artifact.artifactId] : "") + joinText(artifact.parts);
  }
  return known;
}

/** The stream has sent the task's current state, and one end. */
async function expectWhole(stream: Any[]) {
  const task = await read(stream[0].task.id);
  expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  expect(artifactsIn(stream)).toEqual(artifactsIn([{ task }]));
  expect(Object.values(artifactsIn(stream)).join("")).toBe(COUNTED);
  const ends = stream.filter(({ statusUpdate }) => statusUpdate?.status.state === "TASK_STATE_COMPLETED");
  expect(ends).toEqual([stream.at(-1)]);
}

it("a message is answered with its finished task, in both generations", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const sending = result(caller, "SendMessage", { message: message1(`count to ${COUNT}`) }, { agent });
    const { task } = await abortsDuring(random, sending);
    expect(artifactsIn([{ task }])).toEqual({ [task.artifacts[0].artifactId]: COUNTED });
    expect(await read(task.id)).toEqual(task);
    const old = result(caller, "message/send", { message: message03(`count to ${COUNT}`) }, { agent });
    expect((await abortsDuring(random, old)).status.state).toBe("completed");
  }
});

it("a stream of a message continues to the task's end", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const streaming = events(caller, "SendStreamingMessage", { message: message1(`count to ${COUNT}`) }, { agent });
    await expectWhole(await abortsDuring(random, streaming));
  }
});

it("a resubscribed stream continues to the task's end", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const configuration = { returnImmediately: true };
    const message = message1(`count to ${COUNT}`);
    const { task } = await result(caller, "SendMessage", { message, configuration }, { agent });
    const streaming = events(caller, "SubscribeToTask", { id: task.id }, { agent });
    await expectWhole(await abortsDuring(random, streaming));
  }
});

it("a task that says nothing gives its values", async () => {
  const sending = result(caller, "SendMessage", { message: message1("values") }, { agent: "actor" });
  const { task } = await abortsDuring(random, sending, 2, 40);
  expect(task.artifacts).toMatchObject([{ name: "Result", parts: [{ data: { done: "yes" } }] }]);
});

it("a call to an overloaded thread says so", async () => {
  const start = vi.spyOn(RemoteThread.prototype, "startAndFollow");
  start.mockRejectedValue(Object.assign(new Error("any"), { overloaded: true }));
  const { error } = await rpc(caller, "SendMessage", { message: message1("hi") }, { agent });
  start.mockRestore();
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("Too many requests") });
});

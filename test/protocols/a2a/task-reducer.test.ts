/** A task whose run starts again after crashes: what is said again takes the place of what was cut off. */
import { expect, it } from "vitest";
import { TaskReducer } from "../../../src/protocols/a2a/task-reducer.ts";
import type { EventMethod, LogEvent } from "../../../src/threads/log/events.ts";

/** A fold, and what goes into it. */
function beginTask() {
  const fold = new TaskReducer({ taskId: "t", contextId: "c" });
  let seq = 0;
  const take = (method: EventMethod, ns: string[], data: object) => {
    const event: LogEvent = { seq: (seq += 1), ts: seq, run: "r", method, ns, node: ns[0] && "agent", data };
    return fold.apply(event);
  };
  const say = (event: object) => take("messages", ["agent:1"], { run_id: "m", ...event });
  const start = (attempt: number) => {
    take("lifecycle", [], { event: "running" });
    take("metadata", [], { run_id: "r", attempt });
  };
  const words = (...texts: string[]) =>
    texts.flatMap((text) => say({ event: "content-block-delta", delta: { type: "text-delta", text } }));
  const message = { messageId: "q", role: "user", parts: [{ text: "count" }] };
  fold.begin({ run_id: "r", created_at: new Date(0).toISOString(), configurable: { a2a: { message } } });
  return { fold, take, say, start, words };
}

it("a message that several attempts begin is one artifact, also when an attempt stops before its first text", () => {
  const { fold, take, say, start, words } = beginTask();
  start(1);
  say({ event: "message-start", role: "ai", id: "first" });
  words("1 ", "2 ", "3 ");
  start(2);
  say({ event: "message-start", role: "ai", id: "second" });
  start(3);
  start(4);
  say({ event: "message-start", role: "ai", id: "fourth" });
  words("1 ", "2 ", "3 ", "4");
  say({ event: "message-finish" });
  take("lifecycle", [], { event: "completed" });

  const artifacts = fold.task().artifacts.map(({ artifactId, parts }) => [artifactId, parts]);
  expect(artifacts).toEqual([["first", [{ text: "1 2 3 4" }]]]);
});

it("only the last message is an artifact; earlier ones are in the status and the history", () => {
  const { fold, take, say, start, words } = beginTask();
  start(1);
  const speakMessage = (id: string, ...texts: string[]) => [
    ...say({ event: "message-start", role: "ai", id }),
    ...words(...texts),
    ...say({ event: "message-finish" }),
  ];
  speakMessage("first", "Let me ", "look.");
  // A message that only calls tools says nothing.
  speakMessage("second");
  const updates = speakMessage("third", "It is ", "42.");
  expect(updates).toMatchObject([
    { kind: "status", status: { state: "working", message: { role: "agent", parts: [{ text: "Let me look." }] } } },
    {
      kind: "artifact",
      append: false,
      lastChunk: false,
      artifact: { artifactId: "first", parts: [{ text: "It is " }] },
    },
    { kind: "artifact", append: true, lastChunk: true, artifact: { artifactId: "first", parts: [{ text: "42." }] } },
  ]);
  take("lifecycle", [], { event: "completed" });
  const { artifacts, history, status } = fold.task();
  expect(artifacts).toMatchObject([{ parts: [{ text: "It is 42." }] }]);
  expect(history.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
    ["user", "count"],
    ["agent", "Let me look."],
  ]);
  expect(status).toMatchObject({ state: "completed" });
});

it("a task that is read while its answer is said has one artifact, and the next message still takes its place", () => {
  const { fold, take, say, start, words } = beginTask();
  start(1);
  for (const text of ["one", "two", "three"]) {
    say({ event: "message-start", role: "ai", id: text });
    words(text);
    expect(fold.task().artifacts).toMatchObject([{ artifactId: "one", parts: [{ text }] }]);
    say({ event: "message-finish" });
  }
  take("lifecycle", [], { event: "completed" });
  expect(fold.task().artifacts).toMatchObject([{ artifactId: "one", parts: [{ text: "three" }] }]);
  expect(fold.task().history.map(({ parts }) => parts[0]?.text)).toEqual(["count", "one", "two"]);
});

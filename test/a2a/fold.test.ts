/** A task whose run starts again after crashes: what is said again takes the place of what was cut off. */
import { expect, it } from "vitest";
import { Fold } from "../../src/a2a/fold.ts";
import type { EventMethod, LogEvent } from "../../src/threads/rpc.ts";

it("a message that several attempts begin is one artifact, also when an attempt dies before it says anything", () => {
  const fold = new Fold({ taskId: "t", contextId: "c" });
  let seq = 0;
  const take = (method: EventMethod, ns: string[], data: object) => {
    const event: LogEvent = { seq: (seq += 1), ts: seq, run: "r", method, ns, node: ns[0] && "agent", data };
    return fold.take(event);
  };
  const say = (event: object) => take("messages", ["agent:1"], { run_id: "m", ...event });
  const start = (attempt: number) => {
    take("lifecycle", [], { event: "running" });
    take("metadata", [], { run_id: "r", attempt });
  };
  const words = (...texts: string[]) => {
    for (const text of texts) say({ event: "content-block-delta", delta: { type: "text-delta", text } });
  };
  const message = { messageId: "q", role: "user", parts: [{ text: "count" }] };
  fold.begin({ run_id: "r", created_at: new Date(0).toISOString(), configurable: { a2a: { message } } });

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
  say({ event: "message-start", role: "ai", id: "another" });
  words("done");
  say({ event: "message-finish" });
  take("lifecycle", [], { event: "completed" });

  const artifacts = fold.task().artifacts.map(({ artifactId, parts }) => [artifactId, parts]);
  expect(artifacts).toEqual([
    ["first", [{ text: "1 2 3 4" }]],
    ["another", [{ text: "done" }]],
  ]);
});

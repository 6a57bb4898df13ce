import { expect, test } from "vitest";
import { eventsIn, formatEvent, type TailEvent } from "../../src/cli/logs.ts";

const AT = Date.parse("2026-11-22T12:34:56.789Z");
const event = (more: Partial<TailEvent>): TailEvent => ({ outcome: "ok", eventTimestamp: AT, ...more });

test.each<[Partial<TailEvent>, string]>([
  [
    {
      event: { request: { method: "POST", url: "https://a.dev/threads/t/runs/stream?x=1" }, response: { status: 200 } },
      wallTime: 34,
    },
    "12:34:56  POST   /threads/t/runs/stream?x=1  200  34 ms",
  ],
  [
    { event: { request: { method: "GET", url: "https://a.dev/ok" } }, outcome: "canceled" },
    "12:34:56  GET    /ok  -  canceled",
  ],
  [{ event: { cron: "* * * * *", scheduledTime: AT } }, "12:34:56  cron   * * * * *"],
  [{ event: { queue: "agent-exports", batchSize: 1 } }, "12:34:56  queue  agent-exports  1"],
  [{ event: { rpcMethod: "run" } }, "12:34:56  rpc    run"],
  [{ event: { scheduledTime: AT } }, "12:34:56  alarm"],
  [{ event: null }, "12:34:56  other"],
])("%j is one line", (given, line) => {
  expect(formatEvent(event(given))).toEqual([line]);
});

test("errors follow the line of their request, without control characters", () => {
  const [, ...errors] = formatEvent(
    event({
      event: { cron: "* * * * *" },
      outcome: "exception",
      exceptions: [{ name: "TypeError", message: "no\u001b[2J graph" }],
      logs: [
        { level: "log", message: ["fine"] },
        { level: "error", message: ["a", { b: 1 }] },
      ],
    }),
  );
  expect(errors.map((line) => line.trim())).toEqual(["TypeError: no?[2J graph", 'a {"b":1}']);
});

test("events are read from JSON over several lines, with other output in between", async () => {
  async function* lines() {
    yield "Connected to agent, waiting for logs...";
    for (const one of [event({ event: { cron: "1" } }), event({ event: { cron: "2" } })]) {
      yield* JSON.stringify(one, null, 2).split("\n");
    }
  }
  const read: TailEvent[] = [];
  for await (const one of eventsIn(lines())) read.push(one);
  expect(read.map((one) => one.event?.cron)).toEqual(["1", "2"]);
});

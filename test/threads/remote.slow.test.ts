/** Calls of a thread whose object restarts after it has carried one out, before the answer has left. */
import { describe, expect, it } from "vitest";
import { remoteProblem, toProblem } from "../../src/lib/problem.ts";
import { RemoteThread } from "../../src/threads/remote.ts";
import type { RunRequest, ThreadRpc } from "../../src/threads/rpc.ts";

type Method = keyof ThreadRpc;

const restart = () => Object.assign(new Error("my reason"), { durableObjectReset: true });

/** A thread whose stubs each give the next of `answers`, and how many stubs it has taken. */
function createRemote(answers: unknown[]): { thread: RemoteThread; countTaken: () => number } {
  const left = [...answers];
  let stubs = 0;
  const createStub = () => {
    stubs += 1;
    let broken: Error | undefined;
    const call = async () => {
      const answer = broken ?? left.shift();
      // A stub that has failed once fails in all later calls.
      if (!(answer instanceof Error)) return answer;
      broken = answer;
      throw answer;
    };
    return new Proxy({} as ThreadRpc, { get: () => call });
  };
  const thread = new RemoteThread(createStub, () => ({ woken: Promise.resolve(true), leave: () => undefined }));
  return { thread, countTaken: () => stubs };
}

const run = { run_id: "r" } as RunRequest;
const bytes = (text: string) => new Blob([text]).stream();

/** Calls that bring the same when they are carried out twice. */
const REPEATABLE: [Method, unknown[]][] = [
  ["create", [{ metadata: {}, ifExists: "do_nothing" }]],
  ["get", []],
  ["summary", []],
  ["title", []],
  ["patch", [{ metadata: {} }]],
  ["copyFrom", ["t", {}]],
  ["keepLatest", []],
  ["storage", []],
  ["startRun", [run]],
  ["launch", [run]],
  ["getRun", ["r"]],
  ["listRuns", [{ limit: 1, offset: 0 }]],
  ["openRuns", [1]],
  ["cancelMany", [{ status: "all" }, "interrupt"]],
  ["task", ["t"]],
  ["setHook", ["t", "h", {}, 1]],
  ["cancelTask", ["t"]],
  ["lastSeq", []],
  ["hasEvent", [1]],
  ["firstSeq", ["r"]],
  ["state", [{}]],
];

const callMethod = (thread: RemoteThread, method: Method, args: unknown[]): Promise<unknown> =>
  (thread[method] as (...args: unknown[]) => Promise<unknown>).apply(thread, args);

describe("a call that an object's restart cut off", () => {
  it.each(REPEATABLE)("%s: is made again, with a new stub", async (method, args) => {
    const answer = { answered: true };
    const { thread, countTaken } = createRemote([restart(), answer]);
    expect(await callMethod(thread, method, args)).toBe(answer);
    expect(countTaken()).toBe(2);
  });

  it.each(REPEATABLE)(
    "%s: is not made again while the object is overloaded, or when it refuses",
    async (method, args) => {
      for (const error of [Object.assign(new Error("busy"), { overloaded: true }), remoteProblem(409, "was reset")]) {
        const { thread, countTaken } = createRemote([error]);
        await expect(callMethod(thread, method, args)).rejects.toBe(error);
        expect(countTaken()).toBe(1);
      }
    },
  );

  it("is given up after four times, and answered with 503 and Retry-After", async () => {
    const { thread, countTaken } = createRemote([restart(), restart(), restart(), restart()]);
    const error = await thread.get().catch((error: unknown) => error);
    expect(countTaken()).toBe(4);
    expect(toProblem(error)).toMatchObject({ status: 503, more: { headers: { "retry-after": "1" } } });
  });

  it.each([
    ["updateState", [{ values: {} }]],
    ["create", [{ metadata: {}, ifExists: "raise" }]],
    ["create", [{ metadata: {}, ifExists: "do_nothing", supersteps: [] }]],
  ] as [Method, unknown[]][])("%s: is not made again where that would change more", async (method, args) => {
    const { thread, countTaken } = createRemote([restart()]);
    await expect(callMethod(thread, method, args)).rejects.toThrow("my reason");
    expect(countTaken()).toBe(1);
  });

  it.each(["remove", "deleteRun"] as const)("%s: has deleted what the second attempt does not find", async (method) => {
    expect(await callMethod(createRemote([restart(), false]).thread, method, ["r"])).toBe(true);
    expect(await callMethod(createRemote([false]).thread, method, ["r"])).toBe(false);
  });

  it("cancel: has stopped the run that the second attempt finds stopped or deleted", async () => {
    const cancel = async (...answers: unknown[]) => createRemote(answers).thread.cancel("r", "interrupt", true);
    expect(await cancel(restart(), "interrupted")).toBeUndefined();
    expect(await cancel("interrupted")).toBe("interrupted");
    expect(await cancel(restart(), "success")).toBe("success");
    expect(await cancel(restart(), remoteProblem(404, "over"))).toBeUndefined();
    await expect(cancel(remoteProblem(404, "over"))).rejects.toThrow("over");
  });

  it("join: waits through any number of restarts, and while the object is overloaded", async () => {
    const overloaded = Object.assign(new Error("busy"), { overloaded: true });
    const { thread, countTaken } = createRemote([
      restart(),
      restart(),
      overloaded,
      restart(),
      restart(),
      bytes('{"a":1}'),
    ]);
    expect(await new Response(await thread.join("r")).json()).toEqual({ a: 1 });
    expect(countTaken()).toBe(6);
  });

  it("follow: begins again at the run's start when no event has come yet", async () => {
    const cut = new ReadableStream({ pull: (controller) => controller.error(new Error("Network connection lost.")) });
    // The stream, then firstSeq and the stream again.
    const { thread } = createRemote([cut, 4, bytes('{"seq":4,"data":1}\n')]);
    const events = await thread.startAndFollow(run, {});
    expect(await new Response(events).text()).toBe('{"seq":4,"data":1}\n');
  });

  it("follow: ends when its log is another thread's now", async () => {
    const line = '{"seq":7,"data":1}\n{"seq":8,';
    const cut = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(line)),
      pull: (controller) => controller.error(restart()),
    });
    const { thread } = createRemote([cut, 2]);
    expect(await new Response(await thread.follow({ after: 0 })).text()).toBe('{"seq":7,"data":1}\n');
  });
});

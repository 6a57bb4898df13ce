/** Errors of the platform, as it throws them, and what clients get. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { findOutage } from "../../src/lib/retry.ts";
import { remoteProblem, toProblem } from "../../src/lib/problem.ts";
import { RemoteThread, threadObject } from "../../src/threads/remote.ts";
import { tracePartition } from "../../src/traces/stub.ts";
import { pause } from "../support/aborts.ts";
import { newCaller } from "../support/caller.ts";
import { newThread, say } from "../threads/client.ts";

afterEach(() => vi.restoreAllMocks());

const createFlagged = (flags: object) => Object.assign(new Error("any"), flags);

describe("an error is", () => {
  it.each([
    createFlagged({ retryable: true }),
    createFlagged({ durableObjectReset: true, remote: true }),
    new Error("Durable Object reset because its code was updated."),
    new Error("Network connection lost."),
    new Error("Cannot resolve Durable Object due to transient issue on remote node."),
    new Error("Durable Object storage operation exceeded timeout which caused object to be reset."),
    new Error("The Durable Object's code has been updated, this version can no longer access storage."),
    new Error("ReadableStream received over RPC disconnected prematurely."),
    new Error("Failed query", { cause: new Error("D1_ERROR: Network connection lost.") }),
  ])("a restart: $message", (error) => {
    expect(findOutage(error)).toBe("restarted");
    expect(toProblem(error)).toMatchObject({ status: 503, more: { headers: { "retry-after": "1" } } });
  });

  it.each([
    createFlagged({ overloaded: true, retryable: true }),
    new Error("Durable Object is overloaded. Too many requests queued."),
    new Error("Failed query", { cause: new Error("D1_ERROR: D1 DB is overloaded. Requests queued for too long.") }),
  ])("an overload: $message", (error) => {
    expect(findOutage(error)).toBe("overloaded");
    expect(toProblem(error)).toMatchObject({ status: 503, more: { headers: { "retry-after": "5" } } });
  });

  it.each([
    createFlagged({ remote: true }),
    new TypeError("x is not a function"),
    "Network connection lost.",
    undefined,
  ])("a fault of the server: %s", (error) => {
    expect(findOutage(error)).toBeUndefined();
    expect(toProblem(error).status).toBe(500);
  });

  it("an object's refusal with any quoted text", () => {
    const error = remoteProblem(422, "The state cannot be updated so: Network connection lost.");
    expect(findOutage(error)).toBeUndefined();
    expect(toProblem(error).status).toBe(422);
  });
});

it.each(["all objects are aborted", "the object aborts itself"])(
  "what a stub throws when %s is a restart",
  async (how) => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const body = { assistant_id: "agent", input: say("count to 200") };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const stub = threadObject(env, caller.workspaceId, thread);
    const joining = stub.join(run_id).catch((error: unknown) => error);
    const reader = (await stub.follow({ after: 0, runId: run_id })).getReader();
    await pause(50);
    if (how === "all objects are aborted") await abortAllDurableObjects();
    else await runInDurableObject(stub, (_thread, state) => state.abort("any reason")).catch(() => undefined);
    expect(findOutage(await joining)).toBe("restarted");
    const reading = (async () => {
      while (!(await reader.read()).done);
    })();
    expect(findOutage(await reading.catch((error: unknown) => error))).toBe("restarted");
  },
);

describe("a client whose call may not be repeated", () => {
  it.each([
    [{ durableObjectReset: true }, "1"],
    [{ overloaded: true }, "5"],
  ])("gets 503 and Retry-After: %j", async (flags, seconds) => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    vi.spyOn(RemoteThread.prototype, "updateState").mockRejectedValue(createFlagged(flags));
    const answer = await caller.fetch(`/threads/${thread}/state`, { body: { values: {} } });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe(seconds);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  });
});

it("calls of a trace partition that its restart cut off are made again", async () => {
  let stubs = 0;
  const stub = () => {
    stubs += 1;
    const first = stubs === 1;
    return {
      async dispatch(method: string, [ids]: unknown[]) {
        if (first) throw createFlagged({ retryable: true });
        return method === "keptAmong" ? ids : undefined;
      },
    };
  };
  const fake = { TRACE_PARTITION: { idFromName: (name: string) => name, get: stub } } as unknown as Env;
  expect(await tracePartition(fake, "w", { projectId: "p", day: "2026-01-01", shard: 0 }).keptAmong(["a"])).toEqual([
    "a",
  ]);
  expect(stubs).toBe(2);
});

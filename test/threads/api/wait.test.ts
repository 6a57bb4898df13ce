/** The body of `/wait` on its way. */
import { afterEach, expect, it, vi } from "vitest";
import { remoteProblem } from "../../../src/lib/problem.ts";
import type { ThreadRpc } from "../../../src/threads/rpc.ts";
import { waitResponse } from "../../../src/threads/api/run-routes.ts";

afterEach(() => vi.useRealTimers());

it("newlines keep the connection until the result begins, and none falls into it", async () => {
  // Not the timers that the threads of other tests use in this isolate.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const ended = Promise.withResolvers<typeof readable>();
  const response = waitResponse({ join: () => ended.promise } as unknown as ThreadRpc, "run", "/path");
  const body = response.text();
  await vi.advanceTimersByTimeAsync(11_000);
  ended.resolve(readable);
  const writer = writable.getWriter();
  const write = (text: string) => writer.write(new TextEncoder().encode(text));
  await write('{"text":"one half');
  await vi.advanceTimersByTimeAsync(11_000);
  await write(' and the other"}');
  await writer.close();
  expect(await body).toBe('\n\n{"text":"one half and the other"}');
});

it("a result that breaks off fails the connection, and one that never begins is an error to read", async () => {
  const broken = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"text":"one half')),
    pull: (controller) => controller.error(new Error("gone")),
  });
  const wait = (join: () => Promise<unknown>) => waitResponse({ join } as unknown as ThreadRpc, "run", "/path").text();
  await expect(wait(async () => broken)).rejects.toThrow("gone");
  const missing = await wait(async () => {
    throw remoteProblem(404, "Run not found.");
  });
  expect(JSON.parse(missing)).toEqual({ __error__: { error: "Error", message: "Run not found." } });
});

/** A stream whose client's disconnection has an effect, told by the request's signal or by the end of the stream. */
import { expect, it, vi } from "vitest";
import { endUnless } from "../../src/access/auth/authenticate.ts";
import { sseBytes } from "../../src/http/sse.ts";

function open({ aborted = false } = {}) {
  const request = new AbortController();
  if (aborted) request.abort();
  const onLeave = vi.fn<() => Promise<void>>(async () => undefined);
  const left = vi.fn<() => void>();
  const kept: Promise<unknown>[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const frames = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given), cancel: left });
  const client = { signal: request.signal, onLeave, waitUntil: (work: Promise<unknown>) => void kept.push(work) };
  const response = sseBytes(frames, {}, client);
  return { request, onLeave, left, kept, response, end: () => controller?.close() };
}

it("is told once, and leaves its source", async () => {
  const { request, onLeave, left, kept, response } = open();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  request.abort();
  await Promise.all(kept);
  await reader.cancel();
  expect(onLeave).toHaveBeenCalledOnce();
  expect(left).toHaveBeenCalledOnce();
});

it("is told where only the stream is cancelled", async () => {
  const { onLeave, left, response } = open();
  await response.body?.cancel();
  expect(onLeave).toHaveBeenCalledOnce();
  expect(left).toHaveBeenCalledOnce();
});

it("is told where the client has left before the stream was there", async () => {
  const { onLeave, kept } = open({ aborted: true });
  await Promise.all(kept);
  expect(onLeave).toHaveBeenCalledOnce();
});

it("is not told of a stream that has ended, whose client closes its connection then", async () => {
  const { request, onLeave, response, end } = open();
  end();
  await response.text();
  request.abort();
  expect(onLeave).not.toHaveBeenCalled();
});

it("is not told of a stream that the server ends", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const { onLeave, left, response } = open();
    const ended = endUnless(response, async () => false, vi.fn<() => void>()).text();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await ended).toContain("The credential of this stream has ended.");
    expect(left).toHaveBeenCalledOnce();
    expect(onLeave).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});

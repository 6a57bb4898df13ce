/** Streaming answers: heartbeats, and the credential that may end while they are open. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { endUnless } from "../../src/access/auth/authenticate.ts";
import { sseBytes } from "../../src/http/sse.ts";

const CHECK_MS = 5_000;
const encoder = new TextEncoder();

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A stream of frames that the test sends and ends, and what became of it. */
function source() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const left = vi.fn<() => void>();
  const frames = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given), cancel: left });
  return {
    frames,
    left,
    send: (text: string) => controller?.enqueue(encoder.encode(text)),
    end: () => controller?.close(),
  };
}

const decodeText = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

/** An answer as the app's middleware gets it: with headers added, which makes another Response of the same body. */
function toResponse(frames: ReadableStream<Uint8Array>): Response {
  const made = sseBytes(frames);
  return new Response(made.body, made);
}

it("guards its own streams without a second stream around them", () => {
  const answer = toResponse(source().frames);
  const { body } = answer;
  const guarded = endUnless(answer, async () => true, vi.fn<() => void>());
  expect(guarded.body).toBe(body);
});

it("ends with an error event when the credential does, and leaves its source", async () => {
  const { frames, left, send } = source();
  const onEnd = vi.fn<() => void>();
  let holds = true;
  const reader = (
    endUnless(toResponse(frames), async () => holds, onEnd).body as ReadableStream<Uint8Array>
  ).getReader();
  send("data: 1\n\n");
  expect(decodeText((await reader.read()).value)).toBe("data: 1\n\n");
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect(decodeText((await reader.read()).value)).toBe(": heartbeat\n\n");
  holds = false;
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect(decodeText((await reader.read()).value)).toBe(": heartbeat\n\n");
  expect(decodeText((await reader.read()).value)).toContain("The credential of this stream has ended.");
  expect((await reader.read()).done).toBe(true);
  expect(left).toHaveBeenCalledOnce();
  expect(onEnd).toHaveBeenCalledOnce();
});

it("fails within an event, which a clean end would cut", async () => {
  const { frames, send } = source();
  const reader = (
    endUnless(toResponse(frames), async () => false, vi.fn<() => void>()).body as ReadableStream<Uint8Array>
  ).getReader();
  send("data: 1");
  expect(decodeText((await reader.read()).value)).toBe("data: 1");
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  await expect(reader.read()).rejects.toThrow("within an event");
});

it.each(["end", "cancel"] as const)("says once that it has ended: %s", async (how) => {
  const { frames, end } = source();
  const onEnd = vi.fn<() => void>();
  const { body } = endUnless(toResponse(frames), async () => true, onEnd);
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  if (how === "end") end();
  else await reader.cancel();
  expect((await reader.read()).done).toBe(true);
  await vi.advanceTimersByTimeAsync(3 * CHECK_MS);
  expect(onEnd).toHaveBeenCalledOnce();
});

it("guards a stream of another origin too, as it is", async () => {
  const { frames, send } = source();
  const foreign = new Response(frames, { headers: { "content-type": "text/event-stream" } });
  const reader = (
    endUnless(foreign, async () => false, vi.fn<() => void>()).body as ReadableStream<Uint8Array>
  ).getReader();
  send("data: 1\n\n");
  expect(decodeText((await reader.read()).value)).toBe("data: 1\n\n");
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect(decodeText((await reader.read()).value)).toContain("has ended");
  expect((await reader.read()).done).toBe(true);
});

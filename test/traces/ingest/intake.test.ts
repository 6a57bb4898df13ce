/** How ingest keeps within what the platform gives one isolate and one request. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import type { Principal } from "../../../src/http/principal.ts";
import { OperationGatherer } from "../../../src/traces/ingest/operations.ts";
import { Intake } from "../../../src/traces/ingest/intake.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { multipart, NOON, projectId, runParts, sentRun, readStoredRuns } from "../../support/traces.ts";
import { itThorough } from "../../support/thorough-test.ts";

const MIB = 1024 * 1024;
const headers = { "content-type": "multipart/form-data; boundary=----LangSmithFormBoundaryabc" };

/** A body that is sent in chunks, as far as it is let, and counts what has been taken of it. */
function slowBody(bytes: Uint8Array) {
  const state = { sent: 0, allowed: 0 };
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      while (state.sent >= state.allowed) await new Promise((resolve) => setTimeout(resolve, 5));
      const chunk = bytes.slice(state.sent, state.sent + 256 * 1024);
      state.sent += chunk.byteLength;
      controller.enqueue(chunk);
      if (state.sent >= bytes.byteLength) controller.close();
    },
  });
  return { state, stream };
}

/** Five runs whose inputs are 8 MB. */
const createLarge = () =>
  multipart(
    Array.from({ length: 5 }, (_, i) => sentRun(NOON + i, { inputs: { text: "x".repeat(8_000_000) } })).flatMap((run) =>
      runParts("post", run),
    ),
  );

describe("bodies of 40 MB at once", () => {
  itThorough("are not all read into memory: the last one waits, and all are stored", async () => {
    const callers = [await newCaller(), await newCaller(), await newCaller()];
    const bodies = callers.map(() => slowBody(createLarge()));
    const send = (i: number) =>
      callers[i]!.fetch("/runs/multipart", { method: "POST", body: bodies[i]!.stream, headers });
    const [first, second, third] = bodies.map(({ state }) => state);
    // Two stop within a part of 8 MB, the third one may send all it has: 16 MiB are for all of them.
    first!.allowed = second!.allowed = 7 * MIB;
    const answers = [send(0), send(1)];
    await vi.waitFor(() => expect(Math.min(first!.sent, second!.sent)).toBeGreaterThanOrEqual(7 * MIB), 10_000);
    third!.allowed = Number.POSITIVE_INFINITY;
    answers.push(send(2));
    await vi.waitFor(() => expect(third!.sent).toBeGreaterThan(MIB), 10_000);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(third!.sent).toBeLessThan(5 * MIB);
    first!.allowed = second!.allowed = Number.POSITIVE_INFINITY;
    for (const answer of await Promise.all(answers))
      expect(await answer.json()).toMatchObject({ taken: 5, rejected: 0 });
    for (const caller of callers) {
      const stats = await caller.fetch("/runs/stats", { body: { session: [await projectId(caller)] } });
      expect(await stats.json()).toMatchObject({ run_count: 5 });
    }
  });

  it("are stored while they arrive, in any order of their parts", async () => {
    const caller = await newCaller();
    const runs = Array.from({ length: 4 }, (_, i) => sentRun(NOON + i, { name: `run ${i}` }));
    const payload = (i: number) => JSON.stringify({ text: `${i}`.repeat(4_000_000) });
    // All heavy parts of all runs come after all light ones, outputs in the other order, attachments first.
    const parts = [
      ...runs.map(({ id }, i) => ({ name: `attachment.${id}.file`, type: "text/plain", data: `${i}`.repeat(300_000) })),
      ...runs.map((run) => ({ name: `post.${run.id}`, data: JSON.stringify(run) })),
      ...runs.map(({ id }, i) => ({ name: `post.${id}.inputs`, data: payload(i) })),
      ...runs.map(({ id }, i) => ({ name: `post.${id}.outputs`, data: payload(i) })).toReversed(),
    ];
    const response = await caller.fetch("/runs/multipart", { method: "POST", body: multipart(parts), headers });
    expect(await response.json()).toMatchObject({ taken: 4, rejected: 0, errors: [] });
    const stored = await readStoredRuns(caller);
    expect(stored.map(({ name }) => name)).toEqual(["run 0", "run 1", "run 2", "run 3"]);
    for (const { large } of stored) expect(large?.inputs).toEqual(large?.outputs);
    const blobs = await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/` });
    expect(blobs.objects.map(({ size }) => size).toSorted((a, b) => a - b)).toEqual([
      ...runs.map(() => 300_000),
      ...runs.map(() => 4_000_011),
    ]);
  });
});

describe("large payloads on their way to R2", () => {
  const toPrincipal = ({ workspaceId }: Caller): Principal => ({
    workspaceId,
    scopes: ["write"],
    kind: "admin",
    credentialId: "test",
  });

  function gatherRuns(count: number): OperationGatherer {
    const gathering = new OperationGatherer();
    for (let i = 0; i < count; i++) {
      gathering.addRun("post", sentRun(NOON + i, { inputs: { text: `${i} ${"x".repeat(300_000)}` } }));
    }
    return gathering;
  }

  it("go six at a time, each once", async () => {
    const caller = await newCaller();
    const under = { way: 0, most: 0, puts: 0 };
    const BLOBS = {
      put: async (...args: Parameters<R2Bucket["put"]>) => {
        under.most = Math.max(under.most, ++under.way);
        under.puts++;
        await env.BLOBS.put(...args);
        under.way--;
      },
    };
    const gathering = gatherRuns(20);
    gathering.addRun("post", sentRun(NOON + 50, { inputs: { text: `0 ${"x".repeat(300_000)}` } }));
    await new Intake({ ...env, BLOBS } as unknown as Env, toPrincipal(caller), gathering).finish();
    expect(under).toEqual({ way: 0, most: 6, puts: 20 });
    expect(await readStoredRuns(caller)).toHaveLength(21);
  });

  it("that R2 refuses are a 503, and no run refers to them", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const caller = await newCaller();
    let puts = 0;
    const put = async (...args: Parameters<R2Bucket["put"]>) => {
      if (puts++ === 2) throw new Error("We encountered an internal error. Please try again.");
      return env.BLOBS.put(...args);
    };
    const head = (key: string) => env.BLOBS.head(key);
    const BLOBS = { put, head } as unknown as R2Bucket;
    const intake = new Intake({ ...env, BLOBS }, toPrincipal(caller), gatherRuns(5));
    await expect(intake.finish()).rejects.toMatchObject({ status: 503, more: { headers: { "retry-after": "1" } } });
    expect(await readStoredRuns(caller)).toEqual([]);
    vi.restoreAllMocks();
  });

  it("that R2 refuses because they were just written are there", async () => {
    const caller = await newCaller();
    const gathering = gatherRuns(1);
    const again = new OperationGatherer();
    const [run] = gathering.drain(true);
    again.addRun("post", { ...run!.run, inputs: { text: `0 ${"x".repeat(300_000)}` } });
    for (const intake of [gatherRuns(1), again]) {
      const put = async (...args: Parameters<R2Bucket["put"]>) => {
        await env.BLOBS.put(...args);
        throw new Error("put: Reduce your concurrent request rate for the same object. (10058)");
      };
      const BLOBS = { put, head: (key: string) => env.BLOBS.head(key) } as unknown as R2Bucket;
      expect(await new Intake({ ...env, BLOBS }, toPrincipal(caller), intake).finish()).toMatchObject({
        taken: 1,
      });
    }
  });
});

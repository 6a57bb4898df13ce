/** A day with several shards: growth while runs arrive, and that everything that reads a day finds all of it. */
import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { database } from "../../../src/db/client.ts";
import { OperationGatherer } from "../../../src/traces/ingest/operations.ts";
import { Intake } from "../../../src/traces/ingest/intake.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import type { RunWrite } from "../../../src/traces/types.ts";
import { isClosed, MAX_SHARDS, listShards } from "../../../src/traces/locate.ts";
import { announcePartition, listPartitions } from "../../../src/traces/projects/partitions.ts";
import { dayBounds, toDay } from "../../../src/traces/time.ts";
import { newCaller } from "../../support/caller.ts";
import { generator } from "../../support/random.ts";
import { ALL, idsIn, newProject, getPartition, send } from "../../support/shards.ts";
import { DAY, NOON, runParts, type Sent, sendMultipart, sentRun, uuid7 } from "../../support/traces.ts";

describe("a day that grows", () => {
  it("sends new traces to the new shard and leaves old ones where they are", async () => {
    const caller = await newCaller();
    const { shard, fill, shards } = await newProject(caller);
    await fill(0);
    const old = sentRun(NOON, { outputs: null });
    await send(caller, [old]);
    expect(await shards()).toEqual([0]);

    const young = sentRun(NOON + 1);
    const oldChild = sentRun(NOON + 2, {}, old);
    const youngChild = sentRun(NOON + 3, {}, young);
    await send(caller, [young, oldChild, youngChild]);
    await send(caller, [{ ...old, outputs: { late: true } }], "patch");
    expect(await idsIn(shard(0))).toEqual([old.id, oldChild.id]);
    expect(await idsIn(shard(1))).toEqual([young.id, youngChild.id]);
    expect(await shards()).toEqual([0, 1]);

    await fill(1);
    await send(caller, [sentRun(NOON + 4, {}, young)]);
    const traces = Array.from({ length: 12 }, (_, i) => sentRun(NOON + 10 + i));
    await send(caller, traces);
    expect(await shards()).toEqual([0, 1, 2, 3]);
    expect(await idsIn(shard(1))).toHaveLength(3);
    expect([...(await idsIn(shard(2))), ...(await idsIn(shard(3)))].sort()).toEqual(traces.map(({ id }) => id).sort());
  });

  it("answers queries, statistics, feedback and threads as one day", async () => {
    const caller = await newCaller();
    const { project, fill } = await newProject(caller);
    await fill(0);
    const withThread = (start: number) => sentRun(start, { extra: { metadata: { thread_id: "t" } } });
    const [first, second, third] = [withThread(NOON), withThread(NOON + 1), withThread(NOON + 2)];
    await send(caller, [first]);
    await send(caller, [third, second]);
    const child = sentRun(NOON + 3, { name: "below" }, second);
    await send(caller, [child]);

    const query = async (body: object) => {
      const answer = await caller.fetch("/runs/query", { body: { session: [project], ...body } });
      return answer.json<{ runs: { id: string }[]; cursors: { next: string | null } }>();
    };
    const pages: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const { runs, cursors } = await query({ limit: 1, order: "asc", cursor });
      pages.push(...runs.map(({ id }) => id));
      cursor = cursors.next;
    }
    expect(pages).toEqual([first.id, second.id, third.id, child.id]);
    const inTree = await query({ tree_filter: 'eq(name, "below")', is_root: true });
    expect(inTree.runs.map(({ id }) => id)).toEqual([second.id]);
    const stats = await (await caller.fetch("/runs/stats", { body: { session: [project] } })).json();
    expect(stats).toMatchObject({ run_count: 4 });
    const groups = await (await caller.fetch("/runs/group", { body: { session_id: project } })).json();
    expect(groups).toMatchObject({ total: 1, groups: [{ count: 3 }] });

    const run = await (await caller.fetch(`/runs/${second.id}`)).json();
    expect(run).toMatchObject({ id: second.id, child_run_ids: [child.id] });
    const given = await caller.fetch("/feedback", { body: { run_id: second.id, key: "mood", score: 1 } });
    const { id } = await given.json<{ id: string }>();
    expect((await query({ filter: 'eq(feedback_key, "mood")' })).runs.map((one) => one.id)).toEqual([second.id]);
    expect((await caller.fetch(`/feedback/${id}`, { method: "PATCH", body: { score: 0.5 } })).status).toBe(200);
    expect(await (await caller.fetch(`/feedback/${id}`)).json()).toMatchObject({ score: 0.5 });
    const shared = await caller.fetch(`/runs/${child.id}/share`, { method: "PUT", body: {} });
    const { share_token } = await shared.json<{ share_token: string }>();
    const trace = await (await caller.fetch(`/public/${share_token}/runs`)).json<{ runs: { id: string }[] }>();
    expect(JSON.stringify(trace)).toContain(second.id);
    expect((await caller.fetch(`/feedback/${id}`, { method: "DELETE" })).status).toBe(200);
    expect((await query({ filter: 'eq(feedback_key, "mood")' })).runs).toEqual([]);
  });

  it("leaves nothing when its project is deleted", async () => {
    const caller = await newCaller();
    const { project, place, fill } = await newProject(caller);
    await fill(0);
    await send(caller, [sentRun(NOON)]);
    await send(caller, [sentRun(NOON + 1, { inputs: { text: "x".repeat(300_000) } })]);
    expect((await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/` })).objects).toHaveLength(1);
    expect((await caller.fetch(`/sessions/${project}`, { method: "DELETE" })).status).toBe(200);
    for (const shard of [0, 1]) {
      const tables = await runInDurableObject(getPartition(caller.workspaceId, place(shard)), (_, { storage }) =>
        storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'runs'").toArray(),
      );
      expect(tables).toEqual([]);
    }
    expect((await env.BLOBS.list({ prefix: `traces/${caller.workspaceId}/` })).objects).toEqual([]);
    const rows = await listPartitions(database(env.DB), caller.workspaceId, project, DAY, DAY);
    expect(rows).toEqual([]);
  });
});

it("a day before days with many shards is found, counted and searched", async () => {
  const caller = await newCaller();
  const { project } = await newProject(caller);
  const run = sentRun(NOON);
  const orphan = sentRun(NOON + 1, {}, sentRun(NOON));
  await send(caller, [run, orphan]);
  for (const day of ["2026-11-21", "2026-11-22"])
    for (let shard = 0; shard < MAX_SHARDS; shard++)
      await announcePartition(database(env.DB), { workspaceId: caller.workspaceId, projectId: project, day, shard });
  expect((await caller.fetch(`/runs/${run.id}`)).status).toBe(200);
  const stats = await (await caller.fetch("/runs/stats", { body: { session: [project] } })).json();
  expect(stats).toMatchObject({ run_count: 2 });
  const found = await caller.fetch("/runs/query", { body: { trace: orphan.trace_id } });
  expect(await found.json()).toMatchObject({ runs: [{ id: orphan.id }] });
});

it("blocks with many pending runs are sealed an hour after their day, without another write", async () => {
  const caller = await newCaller();
  const { project } = await newProject(caller);
  const now = Date.now() * 1000;
  const place = { projectId: project, day: toDay(now), shard: 0 };
  const over = dayBounds(place.day).end / 1000 + 3_600_000;
  const identity = { workspaceId: caller.workspaceId, ...place, traceTier: "longlived" as const };
  const createPending = (count: number) =>
    Array.from({ length: count }, (): RunWrite => {
      const id = uuid7(now);
      return { kind: "post", id, trace_id: id, start_time: now };
    });
  const nextAlarm = () =>
    runInDurableObject(getPartition(caller.workspaceId, place), async (partition, { storage }) => {
      await (partition as unknown as { alarm(): Promise<void> }).alarm();
      return storage.getAlarm();
    });
  const partition = tracePartition(env, caller.workspaceId, place);
  await partition.upsert(identity, createPending(100));
  expect(await nextAlarm()).toBeGreaterThan(over);
  await partition.upsert(identity, createPending(500));
  expect(await nextAlarm()).toBe(over);
});

describe("a closed shard", () => {
  const write = (more: Partial<RunWrite> = {}): RunWrite => {
    const id = more.id ?? uuid7(NOON);
    return { kind: "post", trace_id: id, start_time: NOON, ...more, id };
  };

  it("takes the runs of its traces and gives back the others, by trace, by run and by parent", async () => {
    const { shard, identity } = await newProject(await newCaller());
    const known = write();
    await shard(0).upsert(identity(0), [known]);
    expect(
      await shard(0).holds(identity(0), 2, [known.id, crypto.randomUUID()], [known.id, crypto.randomUUID()]),
    ).toEqual([known.id]);
    const sibling = write({ id: crypto.randomUUID(), trace_id: known.id });
    const untold = write({ id: crypto.randomUUID(), trace_id: undefined, parent_run_id: known.id });
    const stranger = write();
    const answer = await shard(0).upsert(identity(0), [stranger, sibling, untold, { kind: "patch", id: known.id }]);
    expect(answer).toEqual({ shards: 2, left: [stranger.id] });
    expect((await idsIn(shard(0))).sort()).toEqual([known.id, sibling.id, untold.id].sort());
  });

  it("has written what was on its way before it says what it holds", async () => {
    const { shard, identity } = await newProject(await newCaller());
    await shard(0).upsert(identity(0), [write()]);
    const soon = write();
    const stored = shard(0).upsert(identity(0), [soon], { batched: true });
    expect(await shard(0).holds(identity(0), 2, [soon.id], [soon.id])).toEqual([soon.id]);
    expect(await stored).toEqual({ shards: 2, left: [] });
    expect(await idsIn(shard(0))).toContain(soon.id);
  });

  it("stays closed after it restarts", async () => {
    const caller = await newCaller();
    const { place, shard, identity } = await newProject(caller);
    await shard(0).holds(identity(0), 2, [], []);
    await runInDurableObject(getPartition(caller.workspaceId, place(0)), (_, ctx) => ctx.abort()).catch(
      () => undefined,
    );
    const stranger = write();
    expect(await shard(0).upsert(identity(0), [stranger])).toEqual({ shards: 2, left: [stranger.id] });
  });

  it("takes the trace of a root whose feedback came first", async () => {
    const caller = await newCaller();
    const { project, shard, identity } = await newProject(caller);
    await shard(0).upsert(identity(0), [write()]);
    await shard(0).holds(identity(0), 2, [], []);
    const root = sentRun(NOON);
    const early = { run_id: root.id, session_id: project, start_time: root.start_time, key: "mood", score: 1 };
    expect((await caller.fetch("/feedback", { body: early })).status).toBe(200);
    await send(caller, [root]);
    const { runs } = await shard(0).query(ALL);
    expect(runs.find(({ id }) => id === root.id)?.feedback_stats).toContain("mood");
  });

  it.each(["first", "last"])(
    "keeps a trace whole when feedback on a run below its root came first: root %s",
    async (when) => {
      const caller = await newCaller();
      const { project, shard, identity } = await newProject(caller);
      await shard(0).upsert(identity(0), [write()]);
      await shard(0).holds(identity(0), 2, [], []);
      const give = async (run: Sent, more: object = {}) => {
        const body = {
          run_id: run.id,
          session_id: project,
          start_time: run.start_time,
          key: "mood",
          score: 1,
          ...more,
        };
        expect((await caller.fetch("/feedback", { body })).status).toBe(200);
      };
      const sendTrace = async (root: Sent, child: Sent) => {
        for (const run of when === "first" ? [root, child] : [child, root]) await send(caller, [run]);
        return Promise.all(
          [0, 1].map(async (one) => (await idsIn(shard(one))).filter((id) => [root.id, child.id].includes(id))),
        );
      };
      const root = sentRun(NOON);
      const child = sentRun(NOON + 1, {}, root);
      await give(child);
      expect((await sendTrace(root, child)).map((ids) => ids.length)).toEqual([0, 2]);
      // Feedback that names its trace takes it along, and its run shows it.
      const other = sentRun(NOON + 2);
      const below = sentRun(NOON + 3, {}, other);
      await give(below, { trace_id: other.id });
      expect((await sendTrace(other, below)).map((ids) => ids.length)).toEqual([2, 0]);
      const late = sentRun(NOON + 4, {}, root);
      await give(late, { trace_id: root.id });
      await send(caller, [late]);
      const runs = (await Promise.all([0, 1].map(async (one) => shard(one).query(ALL)))).flatMap((page) => page.runs);
      for (const { id } of [below, late]) expect(runs.find((run) => run.id === id)?.feedback_stats).toContain("mood");
    },
  );

  it("sends the large payloads and attachments of a run along with it", async () => {
    const caller = await newCaller();
    const { shard, identity } = await newProject(caller);
    await shard(0).upsert(identity(0), [write()]);
    // Behind the back of the ingest, as when another isolate finds the day full.
    await shard(0).holds(identity(0), 2, [], []);
    const inputs = { text: "x".repeat(300_000) };
    const run = sentRun(NOON, { inputs });
    const attachment = { name: `attachment.${run.id}.note`, type: "text/plain", data: "hello" };
    expect((await sendMultipart(caller, [...runParts("post", run), attachment])).status).toBe(202);
    expect(await idsIn(shard(1))).toEqual([run.id]);
    const shown = await (
      await caller.fetch(`/runs/${run.id}`)
    ).json<{
      inputs: unknown;
      s3_urls: Record<string, { presigned_url: string }>;
    }>();
    expect(shown.inputs).toEqual(inputs);
    const url = new URL(shown.s3_urls["attachment.note"]?.presigned_url ?? "");
    const note = await caller.fetch(url.pathname);
    expect([note.headers.get("content-type"), await note.text()]).toEqual(["text/plain", "hello"]);
  });
});

describe("an overloaded shard", () => {
  it("is relieved by a second one", async () => {
    const caller = await newCaller();
    const { project, shard } = await newProject(caller);
    const real = env.TRACE_PARTITION;
    let refusals = 0;
    const TRACE_PARTITION = {
      idFromName: (name: string) => real.idFromName(name),
      get: (id: DurableObjectId) => {
        const stub = real.get(id);
        if (id.toString() !== real.idFromName(`${caller.workspaceId}/${project}/${DAY}`).toString()) return stub;
        const dispatch = async (method: string, args: unknown[]) => {
          if (method !== "upsert") return stub.dispatch(method, args);
          refusals++;
          throw Object.assign(new Error("busy"), { overloaded: true, retryable: true });
        };
        return { dispatch };
      },
    } as unknown as Env["TRACE_PARTITION"];
    const gathering = new OperationGatherer();
    const run = sentRun(NOON);
    gathering.addRun("post", run);
    const self = {
      workspaceId: caller.workspaceId,
      scopes: ["write" as const],
      kind: "admin" as const,
      credentialId: "",
    };
    expect(await new Intake({ ...env, TRACE_PARTITION }, self, gathering).finish()).toMatchObject({ taken: 1 });
    expect(refusals).toBe(1);
    expect(await idsIn(shard(1))).toEqual([run.id]);
  });
});

describe("the shards of a trace", () => {
  it("are one of each generation, and all are used", () => {
    const ids = Array.from({ length: 4_000 }, () => crypto.randomUUID());
    expect(ids.map((id) => listShards(id, 1))).toEqual(ids.map(() => [0]));
    const last = ids.map((id) => {
      const shards = listShards(id, 8);
      expect(shards.slice(0, 3)).toEqual(listShards(id, 4));
      expect(shards.map((shard) => isClosed(shard, 8))).toEqual([true, true, true, false]);
      return shards[3] as number;
    });
    for (const shard of [4, 5, 6, 7]) expect(last.filter((one) => one === shard).length).toBeGreaterThan(800);
  });
});

describe("growth under concurrent writes", () => {
  it.for([1, 2, 3])("keeps each run once and each trace whole: seed %s", async (seed) => {
    const caller = await newCaller();
    const { project, shard, fill, shards } = await newProject(caller);
    const random = generator(seed);
    for (let one = 0; one < 8; one++) await fill(one, 80_000 + Math.floor(random() * 40_000));
    const traces = Array.from({ length: 60 }, (_, t) => {
      const root = sentRun(NOON + t * 10);
      return [root, ...Array.from({ length: 4 }, (_, c) => sentRun(NOON + t * 10 + c + 1, {}, root))];
    });
    const sends = traces
      .flatMap((runs) => [...runs.map((run) => ["post", run] as const), ...runs.map((run) => ["patch", run] as const)])
      .map((one) => ({ one, key: random() }))
      .sort((a, b) => a.key - b.key)
      .map(({ one }) => one);
    for (let at = 0; at < sends.length; at += 40) {
      const parts = [0, 10, 20, 30].map((from) => sends.slice(at + from, at + from + 10));
      await Promise.all(
        parts.map((part) =>
          sendMultipart(
            caller,
            part.flatMap(([kind, run]) =>
              runParts(kind, {
                ...run,
                ...(kind === "post" ? { inputs: { text: "y".repeat(600) } } : { outputs: {} }),
              }),
            ),
          ),
        ),
      );
    }
    const held = await shards();
    expect(held.length).toBeGreaterThan(2);
    const where = new Map<string, number>();
    for (const one of held) {
      for (const { id, trace_id } of (await shard(one).query(ALL)).runs) {
        expect(where.has(id), `${id} is in two shards`).toBe(false);
        where.set(id, one);
        expect(traces.find(([root]) => root?.id === trace_id)?.some((run) => run.id === id)).toBe(true);
      }
    }
    for (const runs of traces) expect(new Set(runs.map(({ id }) => where.get(id))).size).toBe(1);
    expect([...where.values()]).not.toContain(undefined);
    const stats = await (await caller.fetch("/runs/stats", { body: { session: [project] } })).json();
    expect(stats).toMatchObject({ run_count: 300 });
  });
});

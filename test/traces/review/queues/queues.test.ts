/** Annotation queues: what is in them for each reviewer, and what becomes of it. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../../../support/caller.ts";
import { ask, newDataset } from "../../../support/examples.ts";
import { NOON, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";
import { POLL_MS } from "../../../support/thorough.ts";

interface Queue {
  id: string;
  name: string;
  total_runs?: number;
  rubric_items: { feedback_key: string; feedback_config: { feedback_config: { type: string } } | null }[];
}
interface Item {
  id: string;
  run_id: string;
}
interface SeenRun {
  id: string;
  name: string;
  queue_run_id: string;
  completed_by: string[];
  reserved_by: string[];
  added_at: string;
}

let caller: Caller;
/** The caller as another reviewer: another key of the same workspace. */
let second: Caller;
let clock = NOON;

beforeAll(async () => {
  caller = await newCaller();
  const { key } = await ask<{ key: string }>(caller, "/api/v1/api-keys", { body: { name: "second" } });
  second = {
    ...caller,
    key,
    fetch: (path, options = {}) =>
      caller.fetch(path, { ...options, headers: { "x-api-key": key, ...options.headers } }),
  };
});

async function makeRuns(count: number, more: object = {}): Promise<string[]> {
  const runs = Array.from({ length: count }, () =>
    sentRun((clock += 1_000_000), { end_time: "2026-11-20T17:49:55Z", inputs: { q: 1 }, ...more }),
  );
  const answer = await sendMultipart(
    caller,
    runs.flatMap((run) => runParts("post", run)),
  );
  expect(await answer.json()).toMatchObject({ rejected: 0 });
  return runs.map(({ id }) => id);
}

const newQueue = (more: object = {}) => ask<Queue>(caller, "/annotation-queues", { body: { name: "q", ...more } });

async function createFilled(
  count: number,
  more: object = {},
): Promise<{ queue: string; runs: string[]; items: Item[] }> {
  const { id: queue } = await newQueue(more);
  const runs = await makeRuns(count);
  const items = await ask<Item[]>(caller, `/annotation-queues/${queue}/runs`, { body: runs });
  expect(items.map(({ run_id }) => run_id)).toEqual(runs);
  return { queue, runs, items };
}

const runsFor = async (who: Caller, queue: string, query = "") =>
  (await ask<SeenRun[]>(who, `/annotation-queues/${queue}/runs${query}`)).map(({ id }) => id);
const review = (who: Caller, item: string | undefined, body: object) =>
  who.fetch(`/annotation-queues/status/${item}`, { body });
const size = async (queue: string, which = "size") =>
  (await ask<{ size: number }>(caller, `/annotation-queues/${queue}/${which}`)).size;

describe("a queue", () => {
  it("has a rubric with the configs of its keys, and changes what is given", async () => {
    const config = { feedback_key: "tone", feedback_config: { type: "freeform" } };
    await ask(caller, "/feedback-configs", { body: config });
    const rubric_items = [{ feedback_key: "tone", is_required: true }, { feedback_key: "other" }];
    const id = crypto.randomUUID();
    const created = await newQueue({
      id,
      description: "d",
      rubric_instructions: "read",
      rubric_items,
      metadata: { a: 1 },
    });
    expect(created).not.toHaveProperty("rubric_instructions");
    const made = await ask<Queue>(caller, `/annotation-queues/${id}`);
    expect(made).toMatchObject({ id, tenant_id: caller.workspaceId, queue_type: "single", num_reviewers_per_item: 1 });
    expect(made.rubric_items.map((item) => item.feedback_config?.feedback_config.type)).toEqual([
      "freeform",
      undefined,
    ]);
    await ask(caller, `/annotation-queues/${id}`, { method: "PATCH", body: { name: "r", description: null } });
    expect(await ask(caller, `/annotation-queues/${id}`)).toMatchObject({
      name: "r",
      description: "d",
      rubric_instructions: "read",
      rubric_items: [{ feedback_key: "tone", is_required: true }, { feedback_key: "other" }],
    });
    expect((await caller.fetch("/annotation-queues", { body: { id, name: "again" } })).status).toBe(409);
    const assigned = { name: "q", reviewer_access_mode: "assigned" };
    expect((await caller.fetch("/annotation-queues", { body: assigned })).status).toBe(501);
    const dataset = { name: "q", default_dataset: crypto.randomUUID() };
    expect((await caller.fetch("/annotation-queues", { body: dataset })).status).toBe(404);
  });

  it("is found by id, name, part of its name and dataset", async () => {
    const tag = crypto.randomUUID();
    const dataset = await newDataset(caller);
    const one = await newQueue({ name: `One ${tag}`, default_dataset: dataset });
    const two = await newQueue({ name: `two ${tag}` });
    const findQueues = async (query: string) =>
      (await ask<Queue[]>(caller, `/annotation-queues?${query}`)).map(({ id }) => id);
    expect(await findQueues(`ids=${one.id}&ids=${two.id}`)).toEqual([two.id, one.id]);
    expect(await findQueues(`name=${encodeURIComponent(one.name)}`)).toEqual([one.id]);
    expect(await findQueues(`name_contains=${`ONE ${tag}`.replace(" ", "%20")}`)).toEqual([one.id]);
    expect(await findQueues(`name_contains=${tag}&sort_by=name&sort_by_desc=false&limit=1&offset=1`)).toEqual([two.id]);
    expect(await findQueues(`dataset_id=${dataset}`)).toEqual([one.id]);
    expect(await findQueues(`ids=${one.id}&queue_type=pairwise`)).toEqual([]);
    expect((await caller.fetch("/annotation-queues?name_containts=x")).status).toBe(422);
    expect((await caller.fetch("/annotation-queues?assigned_to_me=true")).status).toBe(501);
  });
});

describe("runs", () => {
  it("are added once, in their order, and read with their bodies", async () => {
    const { queue, runs, items } = await createFilled(3);
    const again = await ask<Item[]>(caller, `/annotation-queues/${queue}/runs`, { body: [runs[1], runs[1]] });
    expect(again.map(({ id }) => id)).toEqual([items[1]?.id]);
    expect(await runsFor(caller, queue)).toEqual(runs);
    expect(await runsFor(caller, queue, "?limit=1&offset=1")).toEqual([runs[1]]);
    const seen = await ask<SeenRun>(caller, `/annotation-queues/${queue}/run/2`);
    expect(seen).toMatchObject({ id: runs[2], queue_run_id: items[2]?.id, inputs: { q: 1 }, completed_by: [] });
    expect((await caller.fetch(`/annotation-queues/${queue}/run/3`)).status).toBe(404);
    const of = await ask<Queue[]>(caller, `/annotation-queues/${runs[0]}/queues`);
    expect(of.map(({ id }) => id)).toEqual([queue]);
    const [listed] = await ask<Queue[]>(caller, `/annotation-queues?ids=${queue}`);
    expect(listed?.total_runs).toBe(3);
  });

  it("are found by their project and time, and must exist", async () => {
    const { id: queue } = await newQueue();
    const [run] = await makeRuns(1, { session_name: "by key" });
    const { session_id, start_time } = await ask<{ session_id: string; start_time: string }>(caller, `/runs/${run}`);
    const add = (body: unknown) => caller.fetch(`/annotation-queues/${queue}/runs/by-key`, { body });
    expect(await (await add([{ run_id: run, session_id, start_time }])).json()).toMatchObject([{ run_id: run }]);
    const elsewhere = [{ run_id: run, session_id, start_time: "2026-01-01T00:00:00Z" }];
    expect([(await add(elsewhere)).status, (await add([{ run_id: run }])).status]).toEqual([404, 422]);
    expect((await caller.fetch(`/annotation-queues/${queue}/runs`, { body: [crypto.randomUUID()] })).status).toBe(404);
  });

  it("keep their traces for longer when the request says so", async () => {
    const { id: queue } = await newQueue();
    const runs = await makeRuns(4, { session_name: "kept by queues" });
    const { session_id } = await ask<{ session_id: string }>(caller, `/runs/${runs[0]}`);
    await ask(caller, `/sessions/${session_id}`, { method: "PATCH", body: { trace_tier: "shortlived" } });
    const path = `/annotation-queues/${queue}/runs?extend_trace_retention=`;
    await ask(caller, `${path}true`, { body: [runs[0]] });
    await ask(caller, `${path}false`, { body: [runs[1]] });
    const items = `/v1/platform/annotation-queues/${queue}/items?extend_trace_retention=true`;
    expect((await caller.fetch(items, { body: { items: [{ run_id: runs[2] }] } })).status).toBe(201);
    const tiers = async () => {
      const body = { session: [session_id], id: runs, select: ["trace_tier"] };
      const read = await ask<{ runs: { id: string; trace_tier: string }[] }>(caller, "/runs/query", { body });
      return runs.map((id) => read.runs.find((run) => run.id === id)?.trace_tier);
    };
    await vi.waitFor(
      async () => expect(await tiers()).toEqual(["longlived", "shortlived", "longlived", "shortlived"]),
      POLL_MS,
    );
    const permissions = ["queues.write", "queues.read", "traces.read"];
    await ask(caller, "/api/v1/roles/queuer", { method: "PUT", body: { permissions } });
    const { key } = await ask<{ key: string }>(caller, "/api/v1/api-keys", { body: { role: "queuer" } });
    const headers = { "x-api-key": key };
    expect((await caller.fetch(`${path}true`, { body: [runs[3]], headers })).status).toBe(403);
  });

  it("of experiments fill a queue", async () => {
    const { id: queue } = await newQueue();
    const dataset = await newDataset(caller);
    const [example] = await ask<Item[]>(caller, "/examples/bulk", { body: [{ dataset_id: dataset, inputs: {} }] });
    const experiment = { name: crypto.randomUUID(), reference_dataset_id: dataset };
    const { id, name } = await ask<{ id: string; name: string }>(caller, "/sessions", { body: experiment });
    const runs = await makeRuns(2, { session_name: name, reference_example_id: example?.id });
    const populate = (ids: string[]) =>
      caller.fetch("/annotation-queues/populate", { body: { queue_id: queue, session_ids: ids } });
    expect(await (await populate([id])).json()).toMatchObject({ count: 2 });
    expect(await runsFor(caller, queue)).toEqual(runs);
    const plain = await ask<{ id: string }>(caller, "/sessions", { body: { name: crypto.randomUUID() } });
    expect((await populate([plain.id])).status).toBe(404);
  });

  it("leave by their id or their item's, all at once, and only those", async () => {
    const { queue, runs, items } = await createFilled(5);
    const remove = (id: string | undefined) =>
      ask(caller, `/annotation-queues/${queue}/runs/${id}`, { method: "DELETE" });
    await remove(runs[0]);
    await remove(items[1]?.id);
    expect(await runsFor(caller, queue)).toEqual(runs.slice(2));
    const removeMany = (body: object) => caller.fetch(`/annotation-queues/${queue}/runs/delete`, { body });
    for (const body of [
      {},
      { delete_all: false },
      { run_ids: [runs[2]], delete_all: true },
      { run_ids: [runs[2]], ids: [] },
    ])
      expect((await removeMany(body)).status).toBe(422);
    expect(await (await removeMany({ delete_all: true, exclude_run_ids: [runs[3]] })).json()).toMatchObject({
      count: 2,
    });
    expect(await runsFor(caller, queue)).toEqual([runs[3]]);
    await removeMany({ run_ids: [runs[3]] });
    expect(await size(queue, "total_size")).toBe(0);
  });
});

describe("a review", () => {
  it("completes a run, and the next one comes", async () => {
    const { queue, runs, items } = await createFilled(2);
    await review(caller, items[0]?.id, { status: "viewed" });
    expect(await runsFor(caller, queue, "?status=needs_my_review")).toEqual(runs);
    expect((await review(caller, items[0]?.id, { status: "completed" })).status).toBe(200);
    expect(await ask(caller, `/annotation-queues/${queue}/run/0`)).toMatchObject({ id: runs[1] });
    const [done] = await ask<SeenRun[]>(caller, `/annotation-queues/${queue}/runs?status=completed`);
    expect(done).toMatchObject({
      id: runs[0],
      completed_by: [(await ask<{ id: string }>(caller, "/api/v1/me")).id],
      last_reviewed_time: expect.any(String),
    });
    const sizes = ["size", "size?status=completed", "size?status=needs_my_review", "total_size", "total_archived"];
    expect(await Promise.all(sizes.map((which) => size(queue, which)))).toEqual([1, 1, 1, 2, 1]);
    expect(await size(queue, `total_archived?end_time=2020-01-01T00:00:00Z`)).toBe(0);
    // It is taken back.
    await review(caller, items[0]?.id, { status: null });
    expect(await runsFor(caller, queue, "?status=needs_my_review")).toEqual(runs);
    expect((await review(caller, crypto.randomUUID(), { status: "completed" })).status).toBe(404);
    expect((await review(caller, items[0]?.id, { status: "done" })).status).toBe(422);
  });

  it("of a queue with two reviewers needs both", async () => {
    const { queue, runs, items } = await createFilled(2, { num_reviewers_per_item: 2 });
    await review(caller, items[0]?.id, { status: "completed" });
    const sections = async (who: Caller) =>
      Promise.all(
        ["needs_my_review", "needs_others_review", "completed"].map((s) => runsFor(who, queue, `?status=${s}`)),
      );
    expect(await sections(caller)).toEqual([[runs[1]], [runs[0]], []]);
    expect(await sections(second)).toEqual([runs, [], []]);
    // Looking at it again takes nothing back.
    await review(caller, items[0]?.id, { status: "viewed" });
    await review(second, items[0]?.id, { status: "completed" });
    expect(await sections(second)).toEqual([[runs[1]], [], [runs[0]]]);
    await ask(caller, `/annotation-queues/${queue}`, { method: "PATCH", body: { num_reviewers_per_item: 3 } });
    expect(await sections(second)).toEqual([[runs[1]], [runs[0]], []]);
    await ask(caller, `/annotation-queues/${queue}`, { method: "PATCH", body: { num_reviewers_per_item: 1 } });
    expect(await sections(second)).toEqual([[runs[1]], [], [runs[0]]]);
  });

  it("reserves the run for one reviewer at a time, for a while", async () => {
    const { queue, runs, items } = await createFilled(2, { enable_reservations: true, reservation_minutes: 5 });
    const views = await Promise.all([caller, second].map((who) => review(who, items[0]?.id, { status: "viewed" })));
    expect(views.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const [owner, other] = views[0]?.status === 200 ? [caller, second] : [second, caller];
    expect(await runsFor(owner, queue, "?status=needs_my_review")).toEqual(runs);
    expect(await runsFor(other, queue, "?status=needs_my_review")).toEqual([runs[1]]);
    const [seen] = await ask<SeenRun[]>(other, `/annotation-queues/${queue}/runs`);
    expect(seen?.reserved_by).toHaveLength(1);
    await env.DB.prepare("UPDATE annotation_reviews SET reserved_until = ? WHERE queue_id = ?")
      .bind(Date.now() - 1, queue)
      .run();
    expect(await runsFor(other, queue, "?status=needs_my_review")).toEqual(runs);
    expect((await review(other, items[0]?.id, { status: "viewed" })).status).toBe(200);
  });

  it("moves the run to the end for its reviewer alone", async () => {
    const { queue, runs, items } = await createFilled(2);
    const later = new Date(Date.now() + 60_000).toISOString();
    await review(caller, items[0]?.id, { status: null, override_added_at: later });
    expect(await runsFor(caller, queue, "?status=needs_my_review")).toEqual(runs.toReversed());
    expect(await runsFor(second, queue, "?status=needs_my_review")).toEqual(runs);
    const body = { added_at: new Date(Date.now() + 90_000).toISOString() };
    await ask(caller, `/annotation-queues/${queue}/runs/${items[1]?.id}`, { method: "PATCH", body });
    expect(await runsFor(second, queue)).toEqual(runs);
    expect(await runsFor(caller, queue)).toEqual(runs);
  });

  it("takes the permission to annotate, and no more", async () => {
    const { queue, items } = await createFilled(1);
    const body = { permissions: ["queues.read", "traces.read", "traces.annotate"] };
    await ask(caller, "/api/v1/roles/reviewer", { method: "PUT", body });
    const { key } = await ask<{ key: string }>(caller, "/api/v1/api-keys", { body: { name: "r", role: "reviewer" } });
    const headers = { "x-api-key": key };
    const status = async (path: string, more: object = {}) => (await caller.fetch(path, { headers, ...more })).status;
    expect(await status(`/annotation-queues/${queue}/run/0`)).toBe(200);
    expect(await status(`/annotation-queues/status/${items[0]?.id}`, { body: { status: "completed" } })).toBe(200);
    expect(await status(`/v1/platform/annotation-queues/items/${items[0]?.id}/status`, { body: {} })).toBe(200);
    expect(await status(`/annotation-queues/${queue}/runs/${items[0]?.id}`, { method: "DELETE" })).toBe(403);
    expect(await status("/annotation-queues", { body: { name: "q" } })).toBe(403);
  });
});

describe("items", () => {
  interface Page {
    items: (Item & { item_type: string; thread_id: string | null })[];
    next_cursor: string | null;
  }
  const path = (queue: string) => `/v1/platform/annotation-queues/${queue}/items`;

  it("are runs and threads, page by page in both directions", async () => {
    const { queue, runs } = await createFilled(3);
    const project = await ask<{ id: string }>(caller, "/sessions", { body: { name: crypto.randomUUID() } });
    const thread = { item_type: "THREAD", thread_id: "t", project_id: project.id };
    const added = await ask<Page>(caller, path(queue), { body: { items: [thread, thread] } });
    expect(added.items).toMatchObject([{ item_type: "THREAD", thread_id: "t", run_id: null, project_id: project.id }]);
    const page = (query: string) => ask<Page>(caller, `${path(queue)}?status=needs_my_review&${query}`);
    const first = await page("page_size=3");
    expect(first.items.map(({ run_id }) => run_id)).toEqual(runs);
    const next = await page(`page_size=3&cursor=${first.next_cursor}`);
    expect([next.items.map(({ thread_id }) => thread_id), next.next_cursor]).toEqual([["t"], null]);
    const back = await page(`page_size=2&direction=backward&cursor=${first.next_cursor}`);
    expect(back.items.map(({ run_id }) => run_id)).toEqual(runs.slice(1));
    const rest = await page(`page_size=2&direction=backward&cursor=${back.next_cursor}`);
    expect([rest.items.map(({ run_id }) => run_id), rest.next_cursor]).toEqual([[runs[0]], null]);
    expect((await page("item_type=THREAD")).items).toHaveLength(1);
    expect((await page("min_start_time=2030-01-01T00:00:00Z")).items).toEqual([]);
    expect((await caller.fetch(`${path(queue)}?status=needs_my_review&direction=backward`)).status).toBe(422);
    // Threads are no runs.
    expect(await runsFor(caller, queue)).toEqual(runs);
    const count = async (query: string) =>
      (await ask<{ count: number }>(caller, `${path(queue)}/count?${query}`)).count;
    expect([await count("status=all"), await count("status=archived")]).toEqual([4, 0]);
  });

  it("say where they are, and how a review ends", async () => {
    const { queue, items } = await createFilled(2);
    const place = (at: number) => ask<object>(caller, `${path(queue)}/${items[at]?.id}/placement`);
    expect(await place(1)).toMatchObject({ section: "needs_my_review", position: 1, item_type: "RUN" });
    const body = { status: "completed" };
    const done = await ask(caller, `/v1/platform/annotation-queues/items/${items[0]?.id}/status`, { body });
    expect(done).toEqual({
      queue_item_id: items[0]?.id,
      status: "completed",
      is_archived: true,
      override_added_at: null,
    });
    expect([await place(0), await place(1)]).toMatchObject([
      { section: "archived", position: 0 },
      { section: "needs_my_review", position: 0 },
    ]);
    const moved = { last_reviewed_time: "2026-01-01T00:00:00Z" };
    const item = await ask(caller, `${path(queue)}/${items[1]?.id}`, { method: "PATCH", body: moved });
    expect(item).toMatchObject({ last_reviewed_time: "2026-01-01T00:00:00.000Z" });
    await ask(caller, `${path(queue)}/delete`, { body: { item_ids: [items[0]?.id] } });
    expect(await size(queue, "total_size")).toBe(1);
    expect((await caller.fetch(path(queue), { body: { items: [{ run_id: crypto.randomUUID() }] } })).status).toBe(404);
    expect((await caller.fetch(path(queue), { body: { items: [{ thread_id: "t" }] } })).status).toBe(422);
  });
});

describe("what is deleted", () => {
  const left = async (queue: string) =>
    Promise.all(
      ["annotation_items", "annotation_reviews"].map((table) =>
        env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE queue_id = ?`).bind(queue).first<number>("n"),
      ),
    );

  it("takes its items and reviews along: a queue, traces and a project", async () => {
    const { queue, runs, items } = await createFilled(2);
    for (const { id } of items) await review(caller, id, { status: "completed" });
    const { session_id } = await ask<{ session_id: string }>(caller, `/runs/${runs[0]}`);
    await ask(caller, "/runs/delete", { body: { session_id, trace_ids: [runs[0]] } });
    expect(await left(queue)).toEqual([1, 1]);
    await ask(caller, `/annotation-queues/${queue}`, { method: "DELETE" });
    expect(await left(queue)).toEqual([0, 0]);
    expect((await caller.fetch(`/annotation-queues/${queue}`)).status).toBe(404);
    const { id: other } = await newQueue();
    const [run] = await makeRuns(1, { session_name: "goes" });
    await ask(caller, `/annotation-queues/${other}/runs`, { body: [run] });
    const project = await ask<{ session_id: string }>(caller, `/runs/${run}`);
    await ask(caller, `/sessions/${project.session_id}`, { method: "DELETE" });
    expect(await left(other)).toEqual([0, 0]);
  });

  it("leaves a queue when it is read, if its run ended otherwise", async () => {
    const { queue, runs, items } = await createFilled(3);
    await env.DB.prepare("UPDATE annotation_items SET run_id = ? WHERE id = ?")
      .bind(crypto.randomUUID(), items[0]?.id)
      .run();
    expect(await runsFor(caller, queue, "?limit=2")).toEqual(runs.slice(1));
    expect(await size(queue)).toBe(2);
  });
});

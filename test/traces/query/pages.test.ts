/** Lists are complete: by their pages, whose bytes are limited, and while they change. */
import { env } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../../support/traces.ts";

let caller: Caller;
/** Runs of a trace whose inputs together are larger than a page (12 MB). */
let large: Sent[];
let session: string;

const post = async (who: Caller, runs: Sent[]) =>
  expect(
    await (
      await sendMultipart(
        who,
        runs.flatMap((run) => runParts("post", run)),
      )
    ).json(),
  ).toMatchObject({ rejected: 0 });

beforeAll(async () => {
  caller = await newCaller();
  const text = "x".repeat(220_000);
  const root = sentRun(NOON, { inputs: { text } });
  large = [
    root,
    ...Array.from({ length: 64 }, (_, n) => sentRun(NOON + 1 + n, { inputs: { text: `${n} ${text}` } }, root)),
  ];
  await post(caller, large);
  session = await projectId(caller);
});

it("many large runs are added to a queue, and examples are made of them", async () => {
  const queue = await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "q" } });
  await ask(caller, `/annotation-queues/${queue.id}/runs`, { body: large.map(({ id }) => id) });
  const { size } = await ask<{ size: number }>(caller, `/annotation-queues/${queue.id}/size`);
  expect(size).toBe(large.length);
  const dataset = await ask<{ id: string }>(caller, "/datasets", { body: { name: "from runs" } });
  const examples = large.map(({ id }) => ({ dataset_id: dataset.id, source_run_id: id, use_source_run_io: true }));
  expect(await ask<object[]>(caller, "/examples/bulk", { body: examples })).toHaveLength(large.length);
});

it("a page that gives no payloads does not end because of them", async () => {
  const body = { session: [session], limit: 100, select: ["name"] };
  const page = await ask<{ runs: object[]; cursors: { next: null } }>(caller, "/runs/query", { body });
  expect([page.runs.length, page.cursors.next]).toEqual([large.length, null]);
});

it("all runs of a shared trace are shown, by cursor and by offset", async () => {
  const { share_token } = await ask<{ share_token: string }>(caller, `/runs/${large[0]?.id}/share`, {
    method: "PUT",
    body: {},
  });
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const path = `/public/${share_token}/runs/query`;
    const page: { runs: { id: string }[]; cursors: { next: string | null } } = await ask(caller, path, {
      body: { ...(cursor && { cursor }) },
    });
    for (const { id } of page.runs) seen.add(id);
    cursor = page.cursors.next;
  } while (cursor);
  expect(seen.size).toBe(large.length);
  const rest = await ask<{ id: string }[]>(caller, `/public/${share_token}/runs?offset=60&limit=50`);
  expect(rest.map(({ id }) => id)).toEqual(large.slice(60).map(({ id }) => id));
  expect((await caller.fetch(`/public/${share_token}/runs?limit=100`)).status).toBe(413);
});

it("a query by a dataset has the runs of all of its experiments", async () => {
  const who = await newCaller();
  const dataset = await ask<{ id: string }>(who, "/datasets", { body: { name: "d" } });
  const ids = Array.from({ length: 130 }, () => crypto.randomUUID());
  await env.DB.prepare(
    `INSERT INTO projects (id, workspace_id, name, reference_dataset_id, trace_tier, start_time)
     SELECT value, ?, value, ?, 'longlived', 0 FROM json_each(?)`,
  )
    .bind(who.workspaceId, dataset.id, JSON.stringify(ids))
    .run();
  const some = [0, 60, 99, 100, 129].map((n) => sentRun(NOON + n, { session_name: undefined, session_id: ids[n] }));
  await post(who, some);
  const body = { reference_dataset_id: dataset.id, min_start_time: "2026-11-20T00:00:00Z", selects: ["ID"] };
  const { items } = await ask<{ items: { id: string }[] }>(who, "/api/v2/runs/query", { body });
  expect(items.map(({ id }) => id)).toEqual(some.map(({ id }) => id).toReversed());
});

it("a reviewer who completes each page sees all items of a queue, and the pages backward", async () => {
  const who = await newCaller();
  const runs = Array.from({ length: 6 }, (_, n) => sentRun(NOON + n));
  await post(who, runs);
  const queue = await ask<{ id: string }>(who, "/annotation-queues", { body: { name: "q" } });
  await ask(who, `/annotation-queues/${queue.id}/runs`, { body: runs.map(({ id }) => id) });
  const items = `/v1/platform/annotation-queues/${queue.id}/items`;
  interface Page {
    items: { id: string; run_id: string }[];
    next_cursor: string | null;
  }
  const seen: string[] = [];
  let cursor: string | null = null;
  let turn: string | null = null;
  do {
    const more: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page: Page = await ask(who, `${items}?status=needs_my_review&page_size=2${more}`);
    seen.push(...page.items.map(({ run_id }) => run_id));
    for (const { id } of page.items)
      await ask(who, `/v1/platform/annotation-queues/items/${id}/status`, { body: { status: "completed" } });
    cursor = page.next_cursor;
    turn = cursor ?? turn;
  } while (cursor);
  expect(seen).toEqual(runs.map(({ id }) => id));
  const back: Page = await ask(who, `${items}?status=archived&page_size=3&direction=backward&cursor=${turn}`);
  expect(back.items.map(({ run_id }) => run_id)).toEqual(runs.slice(1, 4).map(({ id }) => id));
  const first: Page = await ask(
    who,
    `${items}?status=archived&page_size=3&direction=backward&cursor=${back.next_cursor}`,
  );
  expect([first.items.map(({ run_id }) => run_id), first.next_cursor]).toEqual([[runs[0]?.id], null]);
  const again: Page = await ask(who, `${items}?status=archived&page_size=3&cursor=${back.next_cursor}`);
  expect(again.items).toEqual(back.items);
});

it("a thread that gets a turn between two pages is shown", async () => {
  const who = await newCaller();
  const turnOf = (thread: string, start: number) => sentRun(start, { extra: { metadata: { thread_id: thread } } });
  await post(
    who,
    ["d", "c", "b", "a"].map((thread, n) => turnOf(thread, NOON + n * 1_000_000)),
  );
  const project_id = await projectId(who);
  interface Page {
    items: { thread_id: string }[];
    next_cursor: string | null;
  }
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const body = { project_id, page_size: 2, min_start_time: "2026-11-20T00:00:00Z", ...(cursor && { cursor }) };
    const page: Page = await ask(who, "/api/v2/threads/query", { body });
    seen.push(...page.items.map(({ thread_id }) => thread_id));
    cursor = page.next_cursor;
    if (seen.length === 2) await post(who, [turnOf("c", NOON + 60_000_000), turnOf("new", NOON + 61_000_000)]);
  } while (cursor);
  expect(seen).toEqual(["a", "b", "c", "d"]);
});

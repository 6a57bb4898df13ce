/** Links by which anyone may read one trace or one dataset: what they show, and when they end. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller, send } from "../../../support/caller.ts";
import { ask, newDataset } from "../../../support/examples.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../../../support/traces.ts";

let caller: Caller;
let stranger: Caller;
beforeAll(async () => {
  [caller, stranger] = [await newCaller(), await newCaller()];
});

interface Share {
  share_token: string;
}

/** What a reader without any credential gets. */
async function read<T>(path: string, body?: unknown): Promise<[status: number, T]> {
  const response = await send(path, { body });
  return [response.status, await response.json<T>()];
}

async function trace(project: string) {
  const root = sentRun(NOON, { session_name: project, inputs: { secret: project }, end_time: "2026-11-20T15:49:55Z" });
  const child = sentRun(NOON + 1_000, { session_name: project }, root);
  const unrelated = sentRun(NOON + 2_000, { session_name: project });
  await sendMultipart(
    caller,
    [root, child, unrelated].flatMap((run) => runParts("post", run)),
  );
  return { root, child, unrelated };
}

describe("a link with an end", () => {
  const expireShares = async (token: string) => {
    const { meta } = await env.DB.prepare("UPDATE shares SET expires_at = 1 WHERE workspace_id = ? AND expires_at > 1")
      .bind(caller.workspaceId)
      .run();
    expect([token, meta.changes]).toEqual([token, 1]);
  };

  it("ends, and makes room for another one", async () => {
    const { root } = await trace("ending");
    const path = `/runs/${root.id}/share`;
    const expires_at = "2100-01-02T03:04:05.000Z";
    const first = await ask<Share>(caller, path, { method: "PUT", body: { expires_at } });
    expect(first).toMatchObject({ expires_at });
    expect((await read(`/public/${first.share_token}/runs`))[0]).toBe(200);
    await expireShares(first.share_token);
    expect((await read(`/public/${first.share_token}/runs`))[0]).toBe(404);
    expect((await read(`/public/${first.share_token}/run`))[0]).toBe(404);
    expect(await ask(caller, path)).toBeNull();
    const second = await ask<Share>(caller, path, { method: "PUT", body: {} });
    expect(second).toMatchObject({ expires_at: null });
    expect(second.share_token).not.toBe(first.share_token);
    expect((await read(`/public/${first.share_token}/runs`))[0]).toBe(404);
    // An end that is given later applies to the link that is there; without one it stays.
    expect(await ask(caller, path, { method: "PUT", body: { expires_at } })).toEqual({
      run_id: root.id,
      share_token: second.share_token,
      expires_at,
    });
    expect(await ask(caller, path, { method: "PUT", body: {} })).toMatchObject({ expires_at });
    expect(await ask(caller, path, { method: "PUT", body: { expires_at: null } })).toMatchObject({ expires_at: null });
  });

  it.each(["2001-01-01T00:00:00Z", "tomorrow", 5])("does not end at %s", async (expires_at) => {
    const { root } = await trace("ending");
    const response = await caller.fetch(`/runs/${root.id}/share`, { method: "PUT", body: { expires_at } });
    expect(response.status).toBe(422);
  });
});

describe("a shared trace", () => {
  it("is read without a key, and nothing beside it", async () => {
    const { root, child, unrelated } = await trace("shared");
    // A client's own token may be one that others guess or know: the server makes it.
    const known = crypto.randomUUID();
    const body = { run_id: child.id, share_token: known };
    const share = await ask<Share>(caller, `/runs/${child.id}/share`, { method: "PUT", body });
    const proposed = share.share_token;
    expect(share).toEqual({ run_id: child.id, share_token: expect.any(String), expires_at: null });
    expect(proposed).not.toBe(known);
    expect((await read(`/public/${known}/runs`))[0]).toBe(404);
    // The link is of the trace: there is one, whichever run of it is named.
    expect(await ask(caller, `/runs/${root.id}/share`)).toMatchObject({ share_token: proposed });
    expect(await ask(caller, `/api/v2/runs/${root.id}/share`, { body: {} })).toMatchObject({ share_token: proposed });

    const [, runs] = await read<{ id: string }[]>(`/public/${proposed}/runs`);
    expect(runs.map(({ id }) => id)).toEqual([root.id, child.id]);
    expect(await read(`/public/${proposed}/run`)).toMatchObject([200, { id: root.id, inputs: { secret: "shared" } }]);
    const [, page] = await read<{ items: object[] }>(`/api/v2/public/${proposed}/runs/query`, { selects: ["NAME"] });
    expect(page.items).toHaveLength(2);
    expect((await read(`/api/v2/public/${proposed}/run/${child.id}?selects=NAME`))[0]).toBe(200);
    expect((await read(`/api/v2/public/${proposed}/run/${unrelated.id}?selects=NAME`))[0]).toBe(404);
    expect((await read(`/public/${proposed}/runs?id=${unrelated.id}`))[1]).toEqual([]);
    expect((await read(`/public/${proposed}/datasets`))[0]).toBe(404);
    const stored = await env.DB.prepare("SELECT * FROM shares WHERE workspace_id = ?").bind(caller.workspaceId).all();
    expect(JSON.stringify(stored.results)).not.toContain(proposed);

    await ask(caller, `/runs/${root.id}/share`, { method: "DELETE" });
    expect((await read(`/public/${proposed}/runs`))[0]).toBe(404);
    expect(await ask(caller, `/runs/${root.id}/share`)).toBeNull();
  });

  it("ends with its project", async () => {
    const { root } = await trace("short");
    const { share_token } = await ask<Share>(caller, `/runs/${root.id}/share`, { method: "PUT", body: {} });
    await ask(caller, `/sessions/${await projectId(caller, "short")}`, { method: "DELETE" });
    expect((await read(`/public/${share_token}/runs`))[0]).toBe(404);
    const left = await env.DB.prepare("SELECT count(*) AS n FROM shares WHERE target_id = ?")
      .bind(root.id)
      .first<number>("n");
    expect(left).toBe(0);
  });

  it("is shared by its workspace only", async () => {
    const { root } = await trace("mine");
    const theirs = await stranger.fetch(`/runs/${root.id}/share`, { method: "PUT", body: {} });
    expect(theirs.status).toBe(404);
  });

  it("shows no words of reviewers, in any form of it", async () => {
    const { root } = await trace("reviewed");
    const comment = "The customer Jane is furious";
    for (const feedback of [
      { key: "liked", score: 1, comment },
      { key: "label", value: comment },
    ])
      await ask(caller, "/feedback", { body: { run_id: root.id, ...feedback } });
    const { share_token } = await ask<Share>(caller, `/runs/${root.id}/share`, { method: "PUT", body: {} });
    const at = `/public/${share_token}`;
    const own = await ask<object>(caller, `/runs/${root.id}`);
    expect(JSON.stringify(own)).toContain(comment);
    const answers = [
      await read(`${at}/run`),
      await read(`${at}/run/${root.id}`),
      await read(`${at}/runs`),
      await read(`${at}/runs/query`, {}),
      await read(`/api/v2${at}/run/${root.id}?selects=FEEDBACK_STATS`),
      await read(`/api/v2${at}/runs/query`, { selects: ["FEEDBACK_STATS"] }),
    ];
    expect(answers.map(([status]) => status)).toEqual(answers.map(() => 200));
    expect(JSON.stringify(answers)).not.toContain("Jane");
    expect(answers[0]?.[1]).toMatchObject({ feedback_stats: { liked: { n: 1, avg: 1 }, label: { n: 1 } } });
  });
});

it("links are limited for an address, and for that address only", async () => {
  const { root } = await trace("limited");
  const { share_token } = await ask<Share>(caller, `/runs/${root.id}/share`, { method: "PUT", body: {} });
  const readFrom = (address: string) =>
    send(`/public/${share_token}/run`, { headers: { "cf-connecting-ip": address } }).then(({ status }) => status);
  let status = 200;
  for (let i = 0; i < 70 && status === 200; i += 1) {
    const some = await Promise.all(Array.from({ length: 10 }, () => readFrom("192.0.2.180")));
    status = Math.max(...some);
  }
  expect(status).toBe(429);
  expect(await readFrom("192.0.2.180")).toBe(429);
  expect(await readFrom("192.0.2.181")).toBe(200);
});

describe("a shared dataset", () => {
  it("is read without a key, until it is deleted", async () => {
    const dataset_id = await newDataset(caller);
    await ask(caller, "/examples", { body: { dataset_id, inputs: { a: 1 }, outputs: { b: 2 } } });
    const { share_token } = await ask<Share>(caller, `/datasets/${dataset_id}/share`, { method: "PUT", body: {} });
    expect(await read(`/public/${share_token}/datasets`)).toMatchObject([200, { id: dataset_id, example_count: 1 }]);
    expect(await read(`/public/${share_token}/examples`)).toMatchObject([
      200,
      [{ inputs: { a: 1 }, outputs: { b: 2 } }],
    ]);
    expect((await read(`/public/${share_token}/runs`))[0]).toBe(404);
    // The address that the SDK shows leads to it.
    expect(await read(`/public/${share_token}/d`)).toMatchObject([200, { id: dataset_id }]);
    await ask(caller, `/datasets/${dataset_id}`, { method: "DELETE" });
    expect((await read(`/public/${share_token}/examples`))[0]).toBe(404);
  });

  it.each(["x", "00000000-0000-4000-8000-000000000000"])("is not found by the token %s", async (token) => {
    expect([404, 422]).toContain((await read(`/public/${token}/datasets`))[0]);
  });
});

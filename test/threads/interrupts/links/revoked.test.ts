/** Links of the server's own that are revoked: a reader of the task, or the next attempt of a webhook, does not make them again. */
import "../../../support/graphs.ts";
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { message1, result } from "../../../protocols/a2a/rpc.ts";
import { newCaller, send } from "../../../support/caller.ts";
import { GatedThread } from "../../../support/gated-graphs.ts";
import { stubFetch } from "../../../support/stub-fetch.ts";
import { give } from "../ask.ts";

interface AnswerLink {
  interrupt_id: string;
  answer_url: string;
}

afterEach(() => vi.unstubAllGlobals());

const statusOf = async (url: string) =>
  (await send(new URL(url).pathname, { headers: { "cf-connecting-ip": crypto.randomUUID() } })).status;

it("stays revoked when the A2A task is read, also after a restart", async () => {
  const caller = await newCaller();
  const { task } = await result(caller, "SendMessage", { message: message1("ask") });
  const [link] = task.status.message.metadata.answer_links as AnswerLink[];
  const path = `/threads/${task.contextId}/interrupts/${link?.interrupt_id}/links`;
  expect(await statusOf(link?.answer_url ?? "")).toBe(200);
  for (const { link_id } of await (await caller.fetch(path)).json<{ link_id: string }[]>())
    expect((await caller.fetch(`${path}/${link_id}`, { method: "DELETE" })).status).toBe(204);
  for (const restarts of [false, true]) {
    if (restarts) await abortAllDurableObjects();
    const again = await result(caller, "GetTask", { id: task.id });
    expect(again.status.message.metadata.answer_links).toBeUndefined();
    expect(await statusOf(link?.answer_url ?? "")).toBe(404);
    expect((await give(new URL(link?.answer_url ?? "").pathname, "stolen")).status).toBe(404);
  }
});

it("stays revoked at the next attempt of a webhook, whose receiver answers nothing", async () => {
  const received: { interrupts: (AnswerLink & { id: string })[] }[] = [];
  let status = 500;
  stubFetch(async (_url, { body }) => {
    received.push(JSON.parse(body as string) as (typeof received)[0]);
    return Response.json({ resume: "stolen" }, { status });
  });
  const thread = await GatedThread.make("gatedPlain");
  await thread.wait("well?", { webhook: `https://${crypto.randomUUID()}.example/run` });
  await expect.poll(() => received.length).toBeGreaterThan(0);
  const [asked] = received[0]?.interrupts ?? [];
  const path = `interrupts/${asked?.id}/links`;
  for (const { link_id } of (await thread.call<{ link_id: string }[]>(path)).body)
    await thread.call(`${path}/${link_id}`, { method: "DELETE" });
  status = 200;
  const before = received.length;
  await expect.poll(() => received.length, { timeout: 12_000 }).toBeGreaterThan(before);
  expect(received.at(-1)?.interrupts).toEqual([{ id: asked?.id, value: "well?" }]);
  expect(await statusOf(asked?.answer_url ?? "")).toBe(404);
  expect((await thread.call("")).body.status).toBe("interrupted");
}, 20_000);

it("a link that a repeated request would make again stays revoked", async () => {
  const thread = await GatedThread.make("gatedPlain");
  await thread.wait("well?");
  const { interrupts } = (await thread.call<{ interrupts: Record<string, { id: string }[]> }>("")).body;
  const [question] = Object.values(interrupts).flat();
  const path = `interrupts/${question?.id}/links`;
  const make = async (key: string) =>
    thread.call<{ link_id: string; code?: string }>(path, { body: {}, headers: { "idempotency-key": key } });
  const { link_id } = (await make("k")).body;
  expect((await thread.call(`${path}/${link_id}`, { method: "DELETE" })).status).toBe(204);
  expect((await make("k")).status).toBe(409);
  expect((await thread.call<unknown[]>(path)).body).toEqual([]);
  expect((await make("other")).status).toBe(200);
});

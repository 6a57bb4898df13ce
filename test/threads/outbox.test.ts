/** What a run's end brings about, when a receiver does not answer. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { newCaller } from "../support/caller.ts";
import { newThread, say, stream } from "./client.ts";

afterEach(() => vi.unstubAllGlobals());

it("stores traces while a webhook's receiver hangs, and tells it in order once it is back", async () => {
  const told: string[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  vi.stubGlobal("fetch", async (_url: string, { body }: RequestInit) => {
    told.push((JSON.parse(body as string) as { run_id: string }).run_id);
    await released;
    return new Response();
  });
  const caller = await newCaller();
  const thread = await newThread(caller);
  const run = { assistant_id: "echo", input: say("hello"), webhook: "https://hooks.example/run" };
  const runs: string[] = [];
  for (let i = 0; i < 2; i += 1) {
    const answer = await caller.fetch(`/threads/${thread}/runs`, { body: run });
    const { run_id } = await answer.json<{ run_id: string }>();
    runs.push(run_id);
    await (await caller.fetch(`/threads/${thread}/runs/${run_id}/join`)).text();
  }
  const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  const left = () =>
    runInDurableObject(stub, (_, { storage }) =>
      storage.sql
        .exec<{ kind: string }>("SELECT kind FROM outbox WHERE kind <> 'trace' ORDER BY id")
        .toArray()
        .map(({ kind }) => kind),
    );
  await expect.poll(left, { timeout: 10_000 }).toEqual(["webhook", "webhook"]);
  expect(told).toEqual([runs[0]]);
  release();
  await expect.poll(left, { timeout: 10_000 }).toEqual([]);
  expect(told).toEqual(runs);
});

it("stores all the traces that a restart finds waiting, more than one reading gives", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  await stream(caller, thread, { assistant_id: "echo", input: say("hello") });
  const stub = () => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);
  await runInDurableObject(stub(), async (_, { storage }) => {
    for (let i = 0; i < 45; i += 1)
      storage.sql.exec("INSERT INTO outbox (kind, body, due) VALUES ('trace', '[]', ?)", Date.now());
    await storage.setAlarm(Date.now() + 60_000);
  });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stub());
  const left = () =>
    runInDurableObject(stub(), (_, { storage }) => storage.sql.exec("SELECT id FROM outbox").toArray().length);
  expect(await left()).toBe(0);
});

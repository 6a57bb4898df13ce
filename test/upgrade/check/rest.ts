/** Checks assistants, API keys, crons, Store items and idempotent answers of an older release. */
import { expect } from "vitest";
import { Api, waitUntil } from "../../support/api.ts";
import type { Rest } from "../manifest.ts";

type Json = Record<string, unknown>;

export async function expectAssistant(api: Api, { assistant, deleted_assistant }: Rest): Promise<void> {
  const path = `/assistants/${String(assistant.active.assistant_id)}`;
  expect(await api.get(path)).toMatchObject(assistant.active);
  expect(await api.post(`${path}/versions`, {})).toMatchObject(assistant.versions);
  const version = 1 + Math.max(...assistant.versions.map((one) => Number(one.version)));
  expect(await api.call("PATCH", path, { context: { model: "offline" } })).toMatchObject({ version });
  expect((await api.send("GET", `/assistants/${deleted_assistant}`)).status).toBe(404);
}

export async function expectKeys(api: Api, { keys }: Rest): Promise<void> {
  const createApi = (key: string) => new Api(api.url, { "x-api-key": key });
  const statuses = async (key: string) => [
    (await createApi(key).send("POST", "/threads/count", {})).status,
    (await createApi(key).send("POST", "/threads", {})).status,
    (await createApi(key).send("GET", "/api/v1/api-keys")).status,
  ];
  expect(await statuses(keys.admin)).toEqual([200, 200, 200]);
  expect(await statuses(keys.read)).toEqual([200, 403, 403]);
  expect(await statuses(keys.deleted)).toEqual([401, 401, 401]);
}

const HALF_HOUR = 1_800_000;

interface Firing {
  status: string;
  values: { messages: { content: string }[] } | null;
}

/** Crons are unchanged. The due cron fires once for each due time. */
export async function expectCrons(api: Api, { crons, due_cron }: Rest): Promise<void> {
  const readCrons = async () => {
    const listed = await api.post<Json[]>("/runs/crons/search", {});
    return new Map(listed.map((cron) => [cron.cron_id, cron]));
  };
  const listed = await readCrons();
  expect(listed.size).toBe(crons.length);
  // The scheduled handler has run before, so a due cron can have a new `next_run_date`.
  for (const { next_run_date: _, ...cron } of crons) expect(listed.get(cron.cron_id)).toMatchObject(cron);
  // The cron is due at this time even when the fixture is new.
  const time = Date.now() + 31 * 60_000;
  const tick = () => fetch(`${api.url}/cdn-cgi/handler/scheduled?time=${time}`);
  await tick();
  const due = Math.floor(time / HALF_HOUR) * HALF_HOUR;
  expect(Date.parse(String((await readCrons()).get(due_cron)?.next_run_date))).toBe(due + HALF_HOUR);
  const fired = await settledFirings(api, due_cron);
  for (const { values } of fired) expect(values?.messages.map(({ content }) => content)).toContain("by the clock");
  // Due times older than an hour are skipped, except the latest one.
  expect(fired.length).toBeLessThanOrEqual(4);
  await tick();
  expect(await settledFirings(api, due_cron)).toHaveLength(fired.length);
}

/** The threads of a cron, after all its runs have ended and no new thread appears. */
async function settledFirings(api: Api, cron: string): Promise<Firing[]> {
  let before = 0;
  return waitUntil("the due cron has fired", 60, async () => {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const found = await api.post<Firing[]>("/threads/search", { metadata: { cron_id: cron }, limit: 100 });
    const settled = found.length === before && found.every(({ status }) => status === "idle");
    before = found.length;
    return settled && before > 0 ? found : undefined;
  });
}

export async function expectItems(api: Api, { items, expired_item }: Rest): Promise<void> {
  const get = ({ namespace, key }: Pick<Rest["items"][number], "namespace" | "key">) => {
    const query = new URLSearchParams([...namespace.map((label) => ["namespace", label]), ["key", key]]);
    return api.get<object | null>(`/store/items?${query.toString()}`);
  };
  for (const item of items) expect(await get(item)).toMatchObject(item);
  expect(await get(expired_item)).toBeNull();
  const search = (query: string) =>
    api.post<{ items: { key: string }[] }>("/store/items/search", { namespace_prefix: ["upgrade"], query, limit: 100 });
  expect((await search("gauge number 7")).items[0]?.key).toBe("item 7");
}

export async function expectIdempotent(api: Api, { idempotent }: Rest): Promise<void> {
  const { key, path, body, answer } = idempotent;
  const send = () => api.send("POST", path, body, { "idempotency-key": key });
  const [first, again] = [await send(), await send()];
  expect([first, again].map(({ headers }) => headers.get("idempotency-replayed"))).toEqual(["true", "true"]);
  expect([await first.json(), await again.json()]).toEqual([answer, answer]);
}

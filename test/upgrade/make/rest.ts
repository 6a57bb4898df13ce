/** Makes assistants with versions, API keys, crons, Store items, and a stored idempotent answer. */
import { type Api, human } from "../../support/api.ts";
import type { Rest } from "../manifest.ts";

type Json = Record<string, unknown>;

const TEN_YEARS = 60 * 24 * 366 * 10;

async function makeAssistant(api: Api): Promise<Rest["assistant"]> {
  const { assistant_id: id } = await api.post<{ assistant_id: string }>("/assistants", {
    graph_id: "agent",
    name: "Upgrade assistant",
    context: { model: "offline", temperature: 0.1 },
    metadata: { team: "upgrade" },
  });
  for (const temperature of [0.2, 0.3]) {
    await api.call("PATCH", `/assistants/${id}`, { context: { model: "offline", temperature } });
  }
  const active = await api.post<Json>(`/assistants/${id}/latest`, { version: 2 });
  return { active, versions: await api.post(`/assistants/${id}/versions`, {}) };
}

async function makeCrons(api: Api): Promise<{ crons: Json[]; due_cron: string }> {
  const { thread_id } = await api.post<{ thread_id: string }>("/threads", {});
  const due = {
    assistant_id: "echo",
    schedule: "*/30 * * * *",
    input: human("by the clock"),
    on_run_completed: "keep",
  };
  const { cron_id: due_cron } = await api.post<{ cron_id: string }>("/runs/crons", { ...due, metadata: { m: 1 } });
  const yearly = { assistant_id: "echo", schedule: "0 0 1 1 *", timezone: "Europe/Berlin", input: human("new year") };
  await api.post(`/threads/${thread_id}/runs/crons`, yearly);
  await api.post("/runs/crons", { ...yearly, enabled: false });
  return { crons: await api.post("/runs/crons/search", {}), due_cron };
}

async function makeItems(api: Api): Promise<Pick<Rest, "items" | "expired_item">> {
  const items = Array.from({ length: 12 }, (_, n) => ({
    namespace: ["upgrade", n % 2 === 0 ? "even" : "odd"],
    key: `item ${n}`,
    value: { n, text: `The gauge of weir number ${n} shows ${n * 3} metres.` },
  }));
  for (const [n, item] of items.entries()) {
    await api.call("PUT", "/store/items", { ...item, ...(n % 3 === 0 && { ttl: TEN_YEARS }) });
  }
  const expired_item = { namespace: ["upgrade", "short"], key: "gone" };
  await api.call("PUT", "/store/items", { ...expired_item, value: {}, ttl: 0.01 });
  return { items, expired_item };
}

async function makeIdempotent(api: Api): Promise<Rest["idempotent"]> {
  const [key, path, body] = ["upgrade key", "/threads", { metadata: { made: "once" } }];
  return { key, path, body, answer: await api.call("POST", path, body, { "idempotency-key": key }) };
}

export async function makeRest(api: Api, admin: string): Promise<Rest> {
  const newKey = (scopes: string[]) =>
    api.post<{ id: string; key: string }>("/api/v1/api-keys", { name: scopes.join(" "), scopes });
  const read = await newKey(["read"]);
  const deleted = await newKey(["read", "write"]);
  await api.call("DELETE", `/api/v1/api-keys/${deleted.id}`);
  const gone = await api.post<{ assistant_id: string }>("/assistants", { graph_id: "echo", name: "Deleted" });
  await api.call("DELETE", `/assistants/${gone.assistant_id}`);
  return {
    assistant: await makeAssistant(api),
    deleted_assistant: gone.assistant_id,
    keys: { admin, read: read.key, deleted: deleted.key },
    ...(await makeCrons(api)),
    ...(await makeItems(api)),
    idempotent: await makeIdempotent(api),
  };
}

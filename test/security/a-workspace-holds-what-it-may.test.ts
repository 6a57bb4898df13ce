/** Quotas of a workspace: a 409 that says what to do, for the workspace that is full and for no other. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { MAX_KEYS } from "../../src/access/auth/store.ts";
import { MAX_CRONS } from "../../src/automation/crons/store.ts";
import { MAX_DESTINATIONS } from "../../src/exports/destinations/store.ts";
import { MAX_INVITATIONS, MAX_MEMBERS } from "../../src/access/members/store.ts";
import { MAX_PROMPTS } from "../../src/agents/prompts/store.ts";
import { MAX_QUEUES } from "../../src/traces/review/queues/store.ts";
import { type Caller, newCaller } from "../support/caller.ts";

const run = { assistant_id: "echo", schedule: "0 0 1 1 *", input: { messages: [] } };
const r2 = { destination_type: "r2", display_name: "d", config: { prefix: "p" } };

const viewer = { role: "viewer" };

const CASES: [table: string, most: number, path: string, make: () => object, says: string][] = [
  ["crons", MAX_CRONS, "/runs/crons", () => run, "1000 crons"],
  ["export_destinations", MAX_DESTINATIONS, "/api/v1/bulk-exports/destinations", () => r2, "100 destinations"],
  ["annotation_queues", MAX_QUEUES, "/annotation-queues", () => ({ name: "q" }), "1000 annotation queues"],
  ["prompts", MAX_PROMPTS, "/repos", () => ({ repo_handle: `p-${crypto.randomUUID()}` }), "1000 prompts"],
  ["assistants", 10_000, "/assistants", () => ({ graph_id: "echo" }), "10000 assistants"],
  ["api_keys", MAX_KEYS, "/api/v1/api-keys", () => ({}), "10000 API keys"],
  ["members", MAX_MEMBERS, "/api/v1/members", () => ({ ...viewer, subject: crypto.randomUUID() }), "1000 members"],
  ["invitations", MAX_INVITATIONS, "/api/v1/invitations", () => viewer, "1000 invitations"],
];

/** Copies the row that is there until the workspace holds `most`. */
async function fill(table: string, { workspaceId }: Caller, most: number): Promise<void> {
  const info = await env.DB.prepare(`select name from pragma_table_info('${table}')`).all<{ name: string }>();
  const columns = info.results.map(({ name }) => name);
  const fresh = columns.map((name) =>
    ["id", "hash", "subject", "name"].includes(name) ? `'copy-' || hex(randomblob(16))` : `t.${name}`,
  );
  const held = await env.DB.prepare(`select count(*) as n from ${table} where workspace_id = ?`)
    .bind(workspaceId)
    .first<number>("n");
  await env.DB.prepare(
    `with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ?2)
     insert into ${table} (${columns.join()}) select ${fresh.join()}
     from (select * from ${table} where workspace_id = ?1 limit 1) t, counter`,
  )
    .bind(workspaceId, most - (held ?? 0))
    .run();
}

it.for(CASES)("of %s", async ([table, most, path, make, says]) => {
  const [caller, other] = [await newCaller(), await newCaller()];
  expect((await caller.fetch(path, { body: make() })).status).toBeLessThan(300);
  await fill(table, caller, most - 1);
  const answers = await Promise.all([1, 2, 3].map(() => caller.fetch(path, { body: make() })));
  expect(answers.map(({ status }) => (status < 300 ? 200 : status)).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  const refused = answers.find(({ status }) => status === 409);
  expect(await refused?.json()).toMatchObject({ detail: expect.stringContaining(says) });
  expect((await other.fetch(path, { body: make() })).status).toBeLessThan(300);
});

it("an assistant whose id is taken says so, also in a full workspace", async () => {
  const caller = await newCaller();
  const { assistant_id } = await (
    await caller.fetch("/assistants", { body: { graph_id: "echo" } })
  ).json<{ assistant_id: string }>();
  await fill("assistants", caller, 10_000);
  const again = await caller.fetch("/assistants", { body: { graph_id: "echo", assistant_id } });
  expect(await again.json()).toMatchObject({ detail: expect.stringContaining("exists") });
});

/** An agent card shows the assistant of the workspace that used its id first, or nothing. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { deleteAllAssistants } from "../../src/agents/assistants/store.ts";
import { database } from "../../src/db/client.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";

let owner: Caller;
let thief: Caller;
let id: string;
beforeEach(async () => {
  [owner, thief] = [await newCaller(), await newCaller()];
  id = crypto.randomUUID();
});

const create = (caller: Caller, name: string, more: object = {}) =>
  caller.fetch("/assistants", { body: { graph_id: "echo", assistant_id: id, name, ...more } });

/** The name on the card at each of its addresses, or the status. */
async function cards(): Promise<unknown[]> {
  const paths = [
    `/.well-known/agent-card.json?assistant_id=${id}`,
    `/.well-known/agent.json?assistant_id=${id}`,
    `/a2a/${id}/.well-known/agent-card.json`,
    `/a2a/${id.toUpperCase()}/.well-known/agent.json`,
  ];
  const all = paths.map(async (path) => {
    const response = await send(path);
    return response.ok ? (await response.json<{ name: string }>()).name : response.status;
  });
  return [...new Set(await Promise.all(all))];
}

describe("the card of an assistant", () => {
  it("is not taken over by another workspace's of the same id", async () => {
    expect((await create(owner, "mine")).status).toBe(200);
    expect((await create(thief, "stolen")).status).toBe(409);
    expect((await create(thief, "stolen", { if_exists: "do_nothing" })).status).toBe(409);
    expect(await cards()).toEqual(["mine"]);
    expect((await thief.fetch(`/assistants/${id}`)).status).toBe(404);
  });

  it.each([
    ["deleted", () => owner.fetch(`/assistants/${id}`, { method: "DELETE" })],
    ["deleted with all others", () => deleteAllAssistants(database(env.DB), owner.workspaceId)],
  ])("is not served once the assistant is %s, until its workspace makes it again", async (_how, remove) => {
    await create(owner, "mine");
    await remove();
    expect((await owner.fetch(`/assistants/${id}`)).status).toBe(404);
    expect(await cards()).toEqual([404]);
    expect((await create(thief, "stolen")).status).toBe(409);
    expect(await cards()).toEqual([404]);
    expect((await create(owner, "again")).status).toBe(200);
    expect(await cards()).toEqual(["again"]);
    const versions = await owner.fetch(`/assistants/${id}/versions`, { body: {} });
    expect(await versions.json()).toMatchObject([{ version: 1, name: "again" }]);
  });

  it("is given to one of two workspaces that ask at once", async () => {
    const answers = await Promise.all([create(owner, "one"), create(thief, "two")]);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(1);
    expect(await cards()).toEqual([answers[0]?.ok ? "one" : "two"]);
  });

  it("is not shown while two workspaces have the id from before", async () => {
    await create(owner, "mine");
    for (const table of ["assistants", "assistant_versions"]) {
      const column = table === "assistants" ? "id" : "assistant_id";
      await env.DB.prepare(`CREATE TABLE copied AS SELECT * FROM ${table} WHERE ${column} = ?`).bind(id).run();
      await env.DB.prepare("UPDATE copied SET workspace_id = ?").bind(thief.workspaceId).run();
      await env.DB.batch([
        env.DB.prepare(`INSERT INTO ${table} SELECT * FROM copied`),
        env.DB.prepare("DROP TABLE copied"),
      ]);
    }
    expect(await cards()).toEqual([404]);
    expect((await owner.fetch(`/assistants/${id}`)).status).toBe(200);
  });

  it("of a default assistant is the deployment's, in every workspace", async () => {
    for (const caller of [owner, thief]) expect((await caller.fetch("/assistants/echo")).status).toBe(200);
    expect((await send("/a2a/echo/.well-known/agent-card.json")).status).toBe(200);
  });
});

/** The keys of a workspace over HTTP: who may make and destroy them, and what a change of ENCRYPTION_KEY does. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { freshRing } from "../../../src/access/encryption/keys.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";

interface Key {
  id: string;
  version: number;
  status: string;
}

const PATH = "/api/v1/encryption-keys";
const list = async (caller: Caller) => (await caller.fetch(PATH)).json<Key[]>();
const make = async (caller: Caller) => (await caller.fetch(PATH, { method: "POST" })).json<Key>();
const destroy = async (caller: Caller, id: string, confirm = id) =>
  caller.fetch(`${PATH}/${id}/destroy`, { body: { confirm } });

describe("the keys of a workspace", () => {
  it("are made one after the other: the newest encrypts, and the trail says so", async () => {
    const caller = await newCaller();
    expect(await list(caller)).toEqual([]);
    const [first, second] = [await make(caller), await make(caller)];
    expect(await list(caller)).toMatchObject([
      { id: second.id, version: 2, status: "encrypts" },
      { id: first.id, version: 1, status: "decrypts" },
    ]);
    const [answer, again] = [await destroy(caller, first.id), await destroy(caller, first.id)];
    expect([answer.status, again.status]).toEqual([200, 200]);
    expect(await answer.json()).toMatchObject({ id: first.id, status: "destroyed" });
    const trail = await (await caller.fetch("/api/v1/audit-log")).json<{ action: string; target_id: string }[]>();
    const own = trail.filter(({ action }) => action.startsWith("encryption_key."));
    expect(own.map(({ action, target_id }) => [action, target_id])).toEqual([
      ["encryption_key.destroyed", first.id],
      ["encryption_key.created", second.id],
      ["encryption_key.created", first.id],
    ]);
  });

  it("are not destroyed without the id once more, while they encrypt, or by another workspace", async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const [first, second] = [await make(caller), await make(caller)];
    const statuses = [
      (await destroy(caller, first.id, second.id)).status,
      (await destroy(caller, second.id)).status,
      (await destroy(other, first.id)).status,
      (await destroy(caller, "0".repeat(16))).status,
      (await destroy(caller, "all")).status,
    ];
    expect(statuses).toEqual([422, 409, 404, 404, 404]);
    expect((await list(caller)).map(({ status }) => status)).toEqual(["encrypts", "decrypts"]);
  });

  it("are for credentials with encryption.manage", async () => {
    const caller = await newCaller();
    const made = await caller.fetch("/api/v1/api-keys", { body: { scopes: ["read", "write", "exports"] } });
    const { key } = await made.json<{ key: string }>();
    const sendMethod = (method: string) => send(PATH, { method, headers: { "x-api-key": key } });
    expect([(await sendMethod("GET")).status, (await sendMethod("POST")).status]).toEqual([403, 403]);
    const deployment = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
    expect((await send(PATH, { headers: deployment })).status).toBe(200);
  });

  it("move to a new ENCRYPTION_KEY when they are read, and a destroyed one stays destroyed", async () => {
    const caller = await newCaller();
    const [first, second] = [await make(caller), await make(caller)];
    const sealed = (await freshRing(env, caller.workspaceId)).seal("said", ["p"]);
    await destroy(caller, first.id);
    const rotated = {
      ...env,
      DB: env.DB,
      ENCRYPTION_KEY: btoa("n".repeat(32)),
      ENCRYPTION_KEYS_OLD: env.ENCRYPTION_KEY,
    } as Env;
    const moved = await freshRing(rotated, caller.workspaceId);
    expect(moved.open(sealed, ["p"])).toBe("said");
    const without = { ...rotated, ENCRYPTION_KEYS_OLD: undefined } as Env;
    const { rows } = await freshRing(without, caller.workspaceId);
    expect(rows.map(({ id, wrapped }) => [id, wrapped === null])).toEqual([
      [first.id, true],
      [second.id, false],
    ]);
    expect(rows[1]?.wrapped).toBe(moved.rows[1]?.wrapped);
    // The other tests use the key of before.
    const back = { ...rotated, ENCRYPTION_KEY: env.ENCRYPTION_KEY, ENCRYPTION_KEYS_OLD: btoa("n".repeat(32)) } as Env;
    expect((await freshRing(back, caller.workspaceId)).open(sealed, ["p"])).toBe("said");
  });
});

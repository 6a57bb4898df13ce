/** API keys: `/api/v1/api-keys`. */
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { CHANGED, untilUnchanged } from "../../db/writes.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { newSecretId, type App } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import { body, param, query } from "../../http/validate.ts";
import { type DeletedKeys, deleteKeys, findKeyDeletion } from "./key-deletion.ts";
import { checkNarrows, checkTerms, type KeyTerms, makeKey } from "./keys.ts";
import { requireRole, scopesOfPermissions } from "./roles.ts";
import type { Permission, Principal, Scope } from "../../http/principal.ts";
import { CreateKey, DeleteKey, KeyParam, RollKey, UpdateKey } from "./schema.ts";
import { type ApiKeyRow, findKey, hasExpired, insertKey, listKeys, MAX_KEYS, rollKey, updateKey } from "./store.ts";
import { Key, NewKey } from "./wire.ts";

const doc = createDoc("Workspaces and keys");

const toIso = (time: number | null) => (time === null ? null : new Date(time).toISOString());
const toWire = (row: ApiKeyRow): v.InferOutput<typeof Key> => ({
  id: row.id,
  workspace_id: row.workspaceId,
  name: row.name,
  hint: row.hint,
  scopes: row.scopes,
  created_at: toIso(row.createdAt),
  expires_at: toIso(row.expiresAt),
  last_used_at: toIso(row.lastUsedAt),
  allowed_ips: row.allowedIps,
  end_reason: row.endReason,
  successor_id: row.successorId,
  role: row.role,
});

const readTerms = ({ name, scopes, expiresAt, allowedIps, role }: ApiKeyRow): KeyTerms => ({
  name,
  scopes: scopes as Scope[],
  expiresAt,
  allowedIps,
  role,
});

const NO_STORE = { "cache-control": "no-store" };
const notFound = () => new Problem(404, "API key not found.");

async function readKeyPermissions(c: Context<App>, role: string | null): Promise<readonly Permission[]> {
  return role === null ? [] : requireRole(c, role);
}

/** The scopes of a new key: those of its role, as far as the maker has them; without a role all of the maker's. */
function chooseScopes({ scopes }: Principal, permissions: readonly Permission[] | undefined): Scope[] {
  const needed = permissions && scopesOfPermissions(permissions);
  return scopes.filter((scope) => needed?.includes(scope) ?? true);
}

/** Records what a deletion deletes and revokes, except what was `noted` before. */
async function noteDeletion(c: Context<App>, { keys, grants }: DeletedKeys, noted?: DeletedKeys): Promise<void> {
  const isNew = (one: { id: string }) =>
    ![...(noted?.keys ?? []), ...(noted?.grants ?? [])].some(({ id }) => id === one.id);
  for (const { id, name } of keys.filter(isNew)) {
    await audit(c, { action: "api_key.deleted", targetId: id, detail: { name } });
  }
  for (const { id } of grants.filter(isNew)) await audit(c, { action: "grant.revoked", targetId: id });
}

export const keys = new Hono<App>()
  .post(
    "/",
    doc("Create an API key; the answer is the only place that shows it", { 201: NewKey }),
    body(CreateKey),
    async (c) => {
      const maker = c.get("principal");
      const given = c.req.valid("json");
      const role = given.role === undefined ? (maker.role ?? null) : given.role;
      const permissions = await readKeyPermissions(c, role);
      const terms = {
        name: given.name,
        role,
        scopes: given.scopes ?? chooseScopes(maker, given.role == null ? undefined : permissions),
        expiresAt: given.expires_at === undefined ? (maker.expiresAt ?? null) : given.expires_at,
        allowedIps: given.allowed_ips === undefined ? (maker.allowedIps ?? null) : given.allowed_ips,
      };
      checkTerms(maker, terms, permissions);
      const db = database(c.env.DB);
      const id = await newSecretId(c, (one) => findKey(db, maker.workspaceId, one));
      const { key, row } = makeKey(maker, id, terms);
      if (!(await insertKey(db, row)))
        throw new Problem(409, `A workspace has at most ${MAX_KEYS} API keys. Delete one first.`);
      const detail = {
        name: row.name,
        scopes: row.scopes,
        role,
        expires_at: toIso(row.expiresAt),
        allowed_ips: row.allowedIps,
      };
      await audit(c, { action: "api_key.created", targetId: row.id, detail });
      return c.json({ ...toWire(row), key }, 201, NO_STORE);
    },
  )
  .get("/", doc("List the workspace's API keys", v.array(Key)), async (c) =>
    c.json((await listKeys(database(c.env.DB), c.get("principal").workspaceId)).map(toWire)),
  )
  .patch(
    "/:id",
    doc("Change an API key's name, scopes, expiry or networks", Key),
    param(KeyParam),
    body(UpdateKey),
    async (c) => {
      const maker = c.get("principal");
      const db = database(c.env.DB);
      const { expires_at: expiresAt, allowed_ips: allowedIps, ...others } = c.req.valid("json");
      const change = {
        ...others,
        ...(expiresAt !== undefined && { expiresAt }),
        ...(allowedIps !== undefined && { allowedIps }),
      };
      const changes = Object.keys(change);
      const changed = await untilUnchanged(async () => {
        const row = await findKey(db, maker.workspaceId, c.req.valid("param").id);
        if (!row) throw notFound();
        if (changes.length === 0) return row;
        const terms = { ...readTerms(row), ...change };
        if (changes.some((field) => field !== "name")) {
          const permissions = await readKeyPermissions(c, terms.role);
          checkTerms(maker, terms, permissions);
          if (maker.grantId !== undefined && maker.grantId !== row.grantId)
            checkNarrows(readTerms(row), await readKeyPermissions(c, row.role), terms, permissions);
        }
        return (await updateKey(db, row, change)) ?? CHANGED;
      });
      if (changes.length === 0) return c.json(toWire(changed));
      await audit(c, { action: "api_key.updated", targetId: changed.id, detail: c.req.valid("json") });
      return c.json(toWire(changed));
    },
  )
  .post(
    "/:id/roll",
    doc("Replace an API key by a new one; the old one works for a while, and the answer alone shows the new one", {
      201: NewKey,
    }),
    param(KeyParam),
    body(RollKey),
    async (c) => {
      const maker = c.get("principal");
      const db = database(c.env.DB);
      const { overlap_seconds } = c.req.valid("json");
      const id = await newSecretId(c, (one) => findKey(db, maker.workspaceId, one));
      const { key, row, old } = await untilUnchanged(async () => {
        const old = await findKey(db, maker.workspaceId, c.req.valid("param").id);
        if (!old) throw notFound();
        if (hasExpired(old)) throw new Problem(409, "The API key has expired. Create a new one.");
        const terms = readTerms(old);
        checkTerms(maker, terms, await readKeyPermissions(c, terms.role));
        const { key, row } = makeKey(maker, id, terms);
        row.grantId ??= old.grantId;
        return (await rollKey(db, old, row, Date.now() + overlap_seconds * 1000)) ? { key, row, old } : CHANGED;
      });
      const detail = { name: row.name, successor: row.id, overlap_seconds };
      await audit(c, { action: "api_key.rolled", targetId: old.id, detail });
      return c.json({ ...toWire(row), key }, 201, NO_STORE);
    },
  )
  .delete("/:id", doc("Delete an API key", NOTHING), param(KeyParam), query(DeleteKey), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const deletion = { workspaceId, id: c.req.valid("param").id, predecessors: c.req.valid("query").predecessors };
    const found = await findKeyDeletion(db, deletion);
    if (found.keys.length + found.grants.length === 0) throw notFound();
    await noteDeletion(c, found);
    const done = await deleteKeys(db, deletion, Date.now());
    await noteDeletion(c, done, found);
    return c.body(null, 204);
  });

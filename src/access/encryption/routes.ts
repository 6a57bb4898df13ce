/** The data keys of a workspace: `/api/v1/encryption-keys`. */
import { Count, Time } from "../../http/shapes.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { createDoc } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param } from "../../http/validate.ts";
import { forgetRing, wrapNewKey } from "./keys.ts";
import { addKey, destroyKey, listKeys, type StoredKey } from "./store.ts";

/** Every call of an object carries all keys of its workspace. */
const MAX_DATA_KEYS = 100;
const ID_BYTES = 8;

const KeyParam = v.object({ id: v.string() });
const DestroyKey = v.strictObject({
  /** The id once more: what the key has encrypted is lost. */
  confirm: v.string(),
});

const doc = createDoc("Workspaces and keys");

const toIso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

const Key = v.pipe(
  v.object({
    id: v.string(),
    version: Count,
    status: v.picklist(["encrypts", "decrypts", "destroyed"]),
    created_at: v.nullable(Time),
    destroyed_at: v.nullable(Time),
  }),
  v.title("EncryptionKey"),
);

/** The keys as answers have them, oldest first. */
const toWireKeys = (keys: StoredKey[]) =>
  keys.map(({ id, version, createdAt, destroyedAt }, index) => ({
    id,
    version,
    status: destroyedAt !== null ? "destroyed" : index === keys.length - 1 ? "encrypts" : "decrypts",
    created_at: toIso(createdAt),
    destroyed_at: toIso(destroyedAt),
  }));

export const encryption = new Hono<App>()
  .get(
    "/encryption-keys",
    doc("List the keys that encrypt what the workspace stores, newest first", v.array(Key)),
    async (c) => {
      const keys = await listKeys(database(c.env.DB), c.get("principal").workspaceId);
      return c.json(toWireKeys(keys).toReversed());
    },
  )
  .post(
    "/encryption-keys",
    doc("Make the key that encrypts from now on; the first one turns encryption on for the workspace", { 201: Key }),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const keys = await listKeys(db, workspaceId);
      if (keys.length >= MAX_DATA_KEYS)
        throw new Problem(409, `A workspace has at most ${MAX_DATA_KEYS} encryption keys.`);
      const id = Buffer.from(crypto.getRandomValues(new Uint8Array(ID_BYTES))).toString("hex");
      const wrapped = await wrapNewKey(c.env, workspaceId, id);
      const added = await addKey(db, keys.length, { id, workspaceId, wrapped, createdAt: Date.now() });
      if (!added) throw new Problem(409, "Another request has just made a key.");
      forgetRing(workspaceId);
      await audit(c, { action: "encryption_key.created", targetId: id, detail: { version: added.version } });
      return c.json(toWireKeys([...keys, added]).at(-1), 201);
    },
  )
  .post(
    "/encryption-keys/:id/destroy",
    doc("Destroy a key that no longer encrypts: what it has encrypted can never be read again", Key),
    param(KeyParam),
    body(DestroyKey),
    async (c) => {
      const { id } = c.req.valid("param");
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const keys = await listKeys(db, workspaceId);
      const key = keys.find((one) => one.id === id);
      if (!key) throw new Problem(404, "Encryption key not found.");
      if (c.req.valid("json").confirm !== id) throw new Problem(422, "confirm must be the id of the key.");
      if (key === keys.at(-1))
        throw new Problem(409, "This key encrypts new data. Make a new key before you destroy it.");
      if (key.destroyedAt === null) {
        await audit(c, { action: "encryption_key.destroyed", targetId: id, detail: { version: key.version } });
        await destroyKey(db, workspaceId, id, Date.now());
        forgetRing(workspaceId);
      }
      const now = await listKeys(db, workspaceId);
      return c.json(toWireKeys(now).find((one) => one.id === id));
    },
  );

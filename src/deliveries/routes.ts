/** The secrets that sign webhooks: `/api/v1/webhook-secrets`. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../access/audit/record.ts";
import { sealSecret } from "../access/encryption/keys.ts";
import { newSecret } from "../lib/crypto.ts";
import { database } from "../db/client.ts";
import { createDoc, NOTHING } from "../http/route.ts";
import { newSecretId, type App } from "../http/context.ts";
import { Problem } from "../lib/problem.ts";
import { body } from "../http/validate.ts";
import { secretPurpose } from "./send.ts";
import { deleteSecret, findSecret, listSecrets, rotateSecret, type WebhookSecretRow } from "./store.ts";
import { Secret, NewSecret } from "./wire.ts";

const DAY_SECONDS = 24 * 3600;
/** Each valid secret adds one signature to every delivery. */
const MAX_SECRETS = 5;

const RotateSecret = v.strictObject({
  /** Seconds for which the secrets of before still sign. */
  overlap_seconds: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(30 * DAY_SECONDS)),
    DAY_SECONDS,
  ),
});

const doc = createDoc("Workspaces and keys");

const toWireSecret = ({ id, hint, createdAt, expiresAt }: WebhookSecretRow): v.InferOutput<typeof Secret> => ({
  id,
  hint,
  created_at: new Date(createdAt).toISOString(),
  expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
});

export const webhooks = new Hono<App>()
  .post(
    "/webhook-secrets",
    doc("Create or rotate the secret that signs webhooks; the answer is the only place that shows it", {
      201: NewSecret,
    }),
    body(RotateSecret),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const now = Date.now();
      const until = now + c.req.valid("json").overlap_seconds * 1000;
      if (until > now && (await listSecrets(db, workspaceId, now)).length >= MAX_SECRETS) {
        throw new Problem(
          409,
          `A workspace has at most ${MAX_SECRETS} valid secrets. Delete one, or rotate without overlap.`,
        );
      }
      const secret = newSecret("weir_whsec_");
      const id = await newSecretId(c, (one) => findSecret(db, workspaceId, one));
      const sealed = await sealSecret(c.env, workspaceId, secret, secretPurpose(id));
      const row = { id, workspaceId, sealed, hint: secret.slice(0, 15), createdAt: now, expiresAt: null };
      await rotateSecret(db, row, until);
      await audit(c, { action: "webhook_secret.created", targetId: id });
      return c.json({ ...toWireSecret(row), secret }, 201, { "cache-control": "no-store" });
    },
  )
  .get("/webhook-secrets", doc("List the secrets that sign the workspace's webhooks", v.array(Secret)), async (c) =>
    c.json((await listSecrets(database(c.env.DB), c.get("principal").workspaceId, Date.now())).map(toWireSecret)),
  )
  .delete("/webhook-secrets/:id", doc("Delete a secret: it signs nothing from then on", NOTHING), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const notFound = () => new Problem(404, "Webhook secret not found.");
    const targetId = c.req.param("id");
    if (!(await findSecret(db, workspaceId, targetId))) throw notFound();
    await audit(c, { action: "webhook_secret.deleted", targetId });
    if (!(await deleteSecret(db, workspaceId, targetId))) throw notFound();
    return c.body(null, 204);
  });

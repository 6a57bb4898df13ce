/** Destinations: `/api/v1/bulk-exports/destinations`. */
import { type MiddlewareHandler, Hono } from "hono";
import { findWorkspace } from "../../access/auth/store.ts";
import { database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import { type App, newOrEarlier } from "../../http/context.ts";
import { Time } from "../../http/shapes.ts";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import type { DestinationConfig } from "../table.ts";
import { endpointFault } from "../../http/addresses.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { body, param } from "../../http/validate.ts";
import { StoreError } from "../s3/errors.ts";
import {
  sealCredentials,
  openCredentials,
  deleteUnusedDestination,
  type DestinationRow,
  findDestination,
  insertDestination,
  listDestinations,
  MAX_DESTINATIONS,
  updateCredentials,
} from "./store.ts";
import { boundBucket, type DestinationCredentials, type OpenDestination, storeWorld, testDestination } from "./open.ts";
import { CreateDestination, DestinationId, PatchDestination } from "./schema.ts";
import { Destination } from "./wire.ts";

// Who may export: keys with the scope, in workspaces whose plan includes it.

/** Refuses callers without the scope `exports`. */
export const requireScope: MiddlewareHandler<App> = async (c, next) => {
  if (!c.get("principal").scopes.includes("exports")) {
    throw new Problem(403, 'This credential lacks the scope "exports".');
  }
  await next();
};

/** Refuses workspaces whose plan leaves exports out (specification 5). */
export const requirePlan: MiddlewareHandler<App> = async (c, next) => {
  const workspace = await findWorkspace(database(c.env.DB), c.get("principal").workspaceId);
  if (workspace?.settings.exports === false) {
    throw new Problem(403, "The plan of this workspace does not include bulk exports.");
  }
  await next();
};

const doc = createDoc("Bulk export");
const notFound = () => new Problem(404, "Destination not found.");

/** A destination on the wire: of its credentials only the names. */
const toWire = (row: DestinationRow) => ({
  id: row.id,
  tenant_id: row.workspaceId,
  destination_type: row.type,
  display_name: row.displayName,
  config: row.config,
  credentials_keys: row.credentialsKeys,
  created_at: new Date(row.createdAt).toISOString(),
  updated_at: new Date(row.updatedAt).toISOString(),
});

export const destinations = new Hono<App>()
  .post(
    "/",
    doc("Create a destination; a small object is written and removed to check it", Destination),
    requirePlan,
    body(CreateDestination),
    async (c) => {
      const { destination_type: type, display_name: displayName, config: given, credentials } = c.req.valid("json");
      const principal = c.get("principal");
      const config: DestinationConfig = {
        bucket_name: given.bucket_name ?? boundBucket(c.env),
        prefix: given.prefix ?? "",
        region: given.region ?? null,
        endpoint_url: given.endpoint_url ?? null,
        include_bucket_in_prefix: given.include_bucket_in_prefix ?? true,
        config_kwargs_s3: given.config_kwargs_s3 ?? null,
        s3_additional_kwargs: given.s3_additional_kwargs ?? null,
      };
      const db = database(c.env.DB);
      const { id, earlier } = await newOrEarlier(c, (one) => findDestination(db, principal.workspaceId, one));
      if (earlier) return c.json(toWire(earlier));
      refuseEndpoint(config, c.env);
      await check(id, { type, config, credentials: credentials ?? null }, c.env);
      const now = Date.now();
      const row: DestinationRow = {
        id,
        workspaceId: principal.workspaceId,
        type,
        displayName,
        config,
        credentials: credentials
          ? await sealCredentials(c.env, { id, workspaceId: principal.workspaceId }, credentials)
          : null,
        credentialsKeys: listCredentialNames(credentials),
        createdAt: now,
        updatedAt: now,
      };
      if (!(await insertDestination(db, row)))
        throw new Problem(409, `A workspace has at most ${MAX_DESTINATIONS} destinations. Delete one first.`);
      await audit(c, {
        action: "destination.created",
        targetId: id,
        detail: { type, bucket: config.bucket_name },
      });
      return c.json(toWire(row));
    },
  )
  .get("/", doc("List the workspace's destinations", v.array(Destination)), async (c) =>
    c.json((await listDestinations(database(c.env.DB), c.get("principal").workspaceId)).map(toWire)),
  )
  .get("/:id", doc("Get a destination", Destination), param(DestinationId), async (c) => {
    const row = await findDestination(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("param").id);
    if (!row) throw notFound();
    return c.json(toWire(row));
  })
  .patch(
    "/:id",
    doc("Replace a destination's credentials; the new ones are checked first", Destination),
    param(DestinationId),
    body(PatchDestination),
    async (c) => {
      const principal = c.get("principal");
      const db = database(c.env.DB);
      const row = await findDestination(db, principal.workspaceId, c.req.valid("param").id);
      if (!row) throw notFound();
      if (row.type === "r2") throw new Problem(422, "A destination of type r2 has no credentials.");
      const { credentials } = c.req.valid("json");
      await check(row.id, { type: row.type, config: row.config, credentials }, c.env);
      const updated = await updateCredentials(db, {
        id: row.id,
        credentials: await sealCredentials(c.env, row, credentials),
        credentialsKeys: listCredentialNames(credentials),
        updatedAt: Date.now(),
      });
      if (!updated) throw notFound();
      await audit(c, {
        action: "destination.updated",
        targetId: row.id,
      });
      return c.json(toWire(updated));
    },
  )
  .post(
    "/:id/check",
    doc(
      "Check that the destination can be written to: a small object is written and removed",
      v.object({ ok: v.literal(true), checked_at: Time }),
    ),
    requirePlan,
    param(DestinationId),
    async (c) => {
      const db = database(c.env.DB);
      const row = await findDestination(db, c.get("principal").workspaceId, c.req.valid("param").id);
      if (!row) throw notFound();
      const destination = await openCredentials(db, c.env, row).catch(() => {
        throw new Problem(
          409,
          "No ENCRYPTION_KEY of this deployment, or no key of the workspace, opens the stored credentials. Send them again.",
        );
      });
      await audit(c, { action: "destination.checked", targetId: row.id });
      await check(row.id, destination, c.env);
      return c.json({ ok: true, checked_at: new Date().toISOString() });
    },
  )
  .delete(
    "/:id",
    doc("Delete a destination that no unfinished export or schedule uses", NOTHING),
    param(DestinationId),
    async (c) => {
      const principal = c.get("principal");
      const db = database(c.env.DB);
      const row = await findDestination(db, principal.workspaceId, c.req.valid("param").id);
      if (!row) throw notFound();
      if (!(await deleteUnusedDestination(db, row.id))) {
        throw new Problem(409, "An unfinished export or an active schedule uses this destination. Cancel it first.");
      }
      await audit(c, {
        action: "destination.deleted",
        targetId: row.id,
      });
      return c.body(null, 204);
    },
  );

function listCredentialNames(credentials: DestinationCredentials | undefined): string[] {
  return Object.entries(credentials ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

/** Throws 422 when the body names an endpoint that may not be called. */
function refuseEndpoint({ endpoint_url }: DestinationConfig, env: Env): void {
  const fault = endpoint_url === null ? undefined : endpointFault(endpoint_url, storeWorld(env).allowPrivateEndpoints);
  if (!fault) return;
  const errors = [{ path: "config.endpoint_url", message: fault }];
  throw new Problem(422, `Invalid body.config.endpoint_url: ${fault}`, { errors });
}

/**
 * Throws 400 with the store's own reason when the destination cannot be written to. The test object has the id of the
 * destination, so that credentials that may not remove objects leave one object, not one for each check.
 */
async function check(id: string, destination: OpenDestination, env: Env): Promise<void> {
  try {
    await testDestination(destination, storeWorld(env), id);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new Problem(400, `Failed to validate ${destination.type.toUpperCase()} destination: ${error.message}`);
  }
}

/** Alerts on traced runs: `/api/v1/alerts`. */
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../audit/record.ts";
import { requirePermission } from "../auth/require.ts";
import { database } from "../db/client.ts";
import { sealSecret } from "../encryption/secrets.ts";
import { webhookFault } from "../http/address.ts";
import { Message } from "../http/answers.ts";
import { documented } from "../http/documented.ts";
import { newOrEarlier } from "../http/idempotent-id.ts";
import { Problem } from "../http/problem.ts";
import type { App } from "../http/types.ts";
import { body, param, query } from "../http/validate.ts";
import { checkFilters, requireReadable } from "../traces/filter/check.ts";
import { projectById } from "../traces/projects/resolve.ts";
import { type AlertSecrets, tell } from "./deliver.ts";
import { purposeOf, secretsOf } from "./secrets.ts";
import { Alert, AlertChange, Tested, toWireAlert, toWireEvent } from "./row.ts";
import { AlertBody, AlertId, HIDDEN, Paging } from "./schema.ts";
import {
  type AlertColumns,
  type AlertRow,
  deleteAlert,
  findAlert,
  insertAlert,
  listAlerts,
  listEvents,
  MOST_ALERTS,
  updateAlert,
} from "./store.ts";

const doc = documented("Alerts");

export const alertRoutes = new Hono<App>()
  .get("/alerts", doc("List alerts, with their states", v.array(Alert)), query(Paging), async (c) => {
    const rows = await listAlerts(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("query"));
    return c.json(await Promise.all(rows.map(async (row) => toWireAlert(row, await secretsOf(c.env, row)))));
  })
  .post("/alerts", doc("Create an alert on the runs of a project", Alert), body(AlertBody), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const { id, earlier } = await newOrEarlier(c, (one) => findAlert(db, workspaceId, one));
    if (earlier) return wire(c, earlier);
    const now = Date.now();
    const row: AlertRow = {
      id,
      workspaceId,
      ...(await givenAlert(c, c.req.valid("json"), id)),
      state: "ok",
      streak: 0,
      value: null,
      changedAt: now,
      evaluatedAt: 0,
      createdAt: now,
      updatedAt: now,
    };
    await audit(c, { action: "alert.created", targetId: id, detail: described(row) });
    if (!(await insertAlert(db, row)))
      throw new Problem(409, `A workspace has at most ${MOST_ALERTS} alerts. Delete one first.`);
    return wire(c, row);
  })
  .get("/alerts/:alert_id", doc("Read an alert, with its state", Alert), param(AlertId), async (c) =>
    wire(c, await existing(c, c.req.valid("param").alert_id)),
  )
  .put(
    "/alerts/:alert_id",
    doc("Replace an alert; its state stays", Alert),
    param(AlertId),
    body(AlertBody),
    async (c) => {
      const before = await existing(c, c.req.valid("param").alert_id);
      const given = await givenAlert(c, c.req.valid("json"), before.id, before);
      await audit(c, { action: "alert.updated", targetId: before.id, detail: described(given) });
      const row = await updateAlert(database(c.env.DB), before, given);
      if (!row) throw new Problem(404, "Alert not found.");
      return wire(c, row);
    },
  )
  .delete("/alerts/:alert_id", doc("Delete an alert with its history", Message), param(AlertId), async (c) => {
    const row = await existing(c, c.req.valid("param").alert_id);
    await audit(c, { action: "alert.deleted", targetId: row.id, detail: { name: row.name } });
    await deleteAlert(database(c.env.DB), row.workspaceId, row.id);
    return c.json({ message: "Alert deleted" });
  })
  .get(
    "/alerts/:alert_id/history",
    doc("List the changes of an alert, newest first", v.array(AlertChange)),
    param(AlertId),
    query(Paging),
    async (c) => {
      const row = await existing(c, c.req.valid("param").alert_id);
      return c.json((await listEvents(database(c.env.DB), row.id, c.req.valid("query"))).map(toWireEvent));
    },
  )
  .post(
    "/alerts/:alert_id/test",
    doc("Call each channel of an alert once, as a test", Tested),
    param(AlertId),
    async (c) => {
      const row = await existing(c, c.req.valid("param").alert_id);
      await audit(c, { action: "alert.tested", targetId: row.id, detail: { name: row.name } });
      const secrets = await secretsOf(c.env, row);
      const notice = { from: row.state, to: "test" as const, value: row.value, at: Date.now() };
      const channels = await Promise.all(
        row.channels.map(async ({ type }, number) => {
          const error = await tell(c.env, row, number, secrets, notice).then(
            () => null,
            (failure: unknown) => (failure instanceof Error ? failure.message : String(failure)),
          );
          return { type, ok: error === null, error };
        }),
      );
      return c.json({ channels });
    },
  );

/** @throws Problem 404 */
async function existing(c: Context<App>, id: string): Promise<AlertRow> {
  const row = await findAlert(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Alert not found.");
  return row;
}

async function wire(c: Context<App>, row: AlertRow): Promise<Response> {
  return c.json(toWireAlert(row, await secretsOf(c.env, row)));
}

const described = ({ name, projectId, condition, isEnabled, channels }: AlertColumns) => ({
  name,
  session_id: projectId,
  metric: condition.metric,
  threshold: condition.threshold,
  is_enabled: isEnabled,
  channels: channels.map(({ type }) => type),
});

/** The columns that a request sets. @throws Problem 404 for a project that is not there, 422 for an address that is not allowed */
async function givenAlert(c: Context<App>, given: AlertBody, id: string, before?: AlertRow): Promise<AlertColumns> {
  requirePermission(c.get("principal"), "traces.read");
  const { workspaceId } = c.get("principal");
  if (!(await projectById(database(c.env.DB), workspaceId, given.session_id)))
    throw new Problem(404, "session_id: project not found.");
  const filter = given.filter || undefined;
  checkFilters([filter]);
  await requireReadable(c.env, workspaceId, [filter]);
  for (const channel of given.channels) {
    const fault = "url" in channel && webhookFault(channel.url, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
    if (fault) throw new Problem(422, `Invalid body.channels: url ${fault}`);
  }
  const held = before ? await secretsOf(c.env, before) : { headers: [], keys: [] };
  const secrets = givenSecrets(given, held, before);
  const isEmpty =
    secrets.keys.every((key) => key === null) && secrets.headers.every((one) => Object.keys(one).length === 0);
  return {
    projectId: given.session_id,
    name: given.name,
    filter: filter ?? null,
    isEnabled: given.is_enabled,
    condition: {
      metric: given.metric,
      percentile: given.percentile,
      feedbackKey: given.feedback_key ?? null,
      operator: given.operator,
      threshold: given.threshold,
      windowMinutes: given.window_minutes,
      minRuns: given.min_runs,
      fireAfter: given.fire_after,
      resolveAfter: given.resolve_after,
    },
    channels: given.channels.map((channel) => {
      if (channel.type !== "email") return { type: channel.type, url: channel.url };
      const { type, provider, from, to } = channel;
      return { type, provider, from, to };
    }),
    secrets: isEmpty ? null : await sealSecret(c.env, workspaceId, JSON.stringify(secrets), purposeOf(id)),
  };
}

/** `HIDDEN` means the secret that the alert has at the same place, for the same receiver. */
function givenSecrets({ channels }: AlertBody, held: AlertSecrets, before: AlertRow | undefined): AlertSecrets {
  const headers = channels.map((channel, number): Record<string, string> => {
    if (channel.type !== "webhook") return {};
    const old = before?.channels[number];
    const isSame = old?.type === "webhook" && old.url === channel.url;
    const kept = (name: string, value: string) =>
      value === HIDDEN && isSame ? (held.headers[number]?.[name] ?? "") : value;
    return Object.fromEntries(Object.entries(channel.headers ?? {}).map(([name, value]) => [name, kept(name, value)]));
  });
  const keys = channels.map((channel, number) => {
    if (channel.type !== "email") return null;
    const old = before?.channels[number];
    const isSame = old?.type === "email" && old.provider === channel.provider;
    return channel.api_key === HIDDEN && isSame ? (held.keys[number] ?? null) : channel.api_key;
  });
  return { headers, keys };
}

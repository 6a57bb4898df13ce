/** Alerts on traced runs: `/api/v1/alerts`. */
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { ResultMessage } from "../../http/shapes.ts";
import { createDoc } from "../../http/route.ts";
import { newOrEarlier, type App } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import { body, param, query } from "../../http/validate.ts";
import { type DeliveryEvent, listEvents, resendEvent, tellReceiver } from "../../deliveries/events.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import { channelCall } from "./notify.ts";
import { alertFault, toAlertRow, openAlertSecrets } from "./input.ts";
import { Alert, AlertChange, Tested, toWireAlert, toWireEvent } from "./row.ts";
import { AlertBody, AlertId, ChangeId, Paging } from "./schema.ts";
import {
  type AlertColumns,
  type AlertRow,
  deleteAlert,
  findAlert,
  insertAlert,
  listAlerts,
  MAX_ALERTS,
  toNotice,
  updateAlert,
} from "./store.ts";

const doc = createDoc("Alerts");

export const alertRoutes = new Hono<App>()
  .get("/alerts", doc("List alerts, with their states", v.array(Alert)), query(Paging), async (c) => {
    const rows = await listAlerts(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("query"));
    return c.json(await Promise.all(rows.map((row) => wireAlert(c, row))));
  })
  .post("/alerts", doc("Create an alert on the runs of a project", Alert), body(AlertBody), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const { id, earlier } = await newOrEarlier(c, (one) => findAlert(db, workspaceId, one));
    if (earlier) return alertResponse(c, earlier);
    const now = Date.now();
    const row: AlertRow = {
      id,
      workspaceId,
      ...(await toAlertRow(c, c.req.valid("json"), id)),
      state: "ok",
      streak: 0,
      value: null,
      error: null,
      changedAt: now,
      evaluatedAt: 0,
      createdAt: now,
      updatedAt: now,
    };
    await audit(c, { action: "alert.created", targetId: id, detail: describeAlert(row) });
    if (!(await insertAlert(db, row)))
      throw new Problem(409, `A workspace has at most ${MAX_ALERTS} alerts. Delete one first.`);
    return alertResponse(c, row);
  })
  .get("/alerts/:alert_id", doc("Read an alert, with its state", Alert), param(AlertId), async (c) =>
    alertResponse(c, await requireAlert(c, c.req.valid("param").alert_id)),
  )
  .put(
    "/alerts/:alert_id",
    doc("Replace an alert; its state stays", Alert),
    param(AlertId),
    body(AlertBody),
    async (c) => {
      const before = await requireAlert(c, c.req.valid("param").alert_id);
      const given = await toAlertRow(c, c.req.valid("json"), before.id, before);
      await audit(c, { action: "alert.updated", targetId: before.id, detail: describeAlert(given) });
      const row = await updateAlert(database(c.env.DB), before, given);
      if (!row) throw new Problem(404, "Alert not found.");
      return alertResponse(c, row);
    },
  )
  .delete("/alerts/:alert_id", doc("Delete an alert with its history", ResultMessage), param(AlertId), async (c) => {
    const row = await requireAlert(c, c.req.valid("param").alert_id);
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
      const row = await requireAlert(c, c.req.valid("param").alert_id);
      const events = await listEvents(database(c.env.DB), row.id, c.req.valid("query"));
      return c.json(events.map((event) => toWireChange(row, event)));
    },
  )
  .post(
    "/alerts/:alert_id/history/:change_id/resend",
    doc("Tell of a change again: the channels that were not reached, or all when each was", AlertChange),
    param(ChangeId),
    async (c) => {
      const { alert_id, change_id } = c.req.valid("param");
      const row = await requireAlert(c, alert_id);
      const event = await resendEvent(database(c.env.DB), row.id, change_id, Date.now());
      if (!event) throw new Problem(404, "Change not found.");
      await audit(c, { action: "alert.resent", targetId: row.id, detail: { name: row.name, change: change_id } });
      return c.json(toWireChange(row, event));
    },
  )
  .post(
    "/alerts/:alert_id/test",
    doc("Call each channel of an alert once, as a test", Tested),
    param(AlertId),
    async (c) => {
      const row = await requireAlert(c, c.req.valid("param").alert_id);
      await audit(c, { action: "alert.tested", targetId: row.id, detail: { name: row.name } });
      const secrets = await openAlertSecrets(c.env, row);
      const notice = toNotice(row, { from: row.state, to: "test", value: row.value, at: Date.now() });
      const event = { id: uuidv7(), workspaceId: row.workspaceId };
      const channels = await Promise.all(
        row.channels.map(async ({ id, type }) => {
          try {
            await tellReceiver(c.env, event, id, channelCall(row, id, secrets, notice));
            return { type, ok: true, error: null };
          } catch (failure) {
            return { type, ok: false, error: failure instanceof Error ? failure.message : String(failure) };
          }
        }),
      );
      return c.json({ channels });
    },
  );

/** @throws Problem 404 */
async function requireAlert(c: Context<App>, id: string): Promise<AlertRow> {
  const row = await findAlert(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Alert not found.");
  return row;
}

async function alertResponse(c: Context<App>, row: AlertRow): Promise<Response> {
  return c.json(await wireAlert(c, row));
}

async function wireAlert(c: Context<App>, row: AlertRow): Promise<Alert> {
  const secrets = await openAlertSecrets(c.env, row);
  return toWireAlert(row, secrets, await alertFault(c.env, row, secrets));
}

const toWireChange = (row: AlertRow, event: DeliveryEvent) =>
  toWireEvent(event, new Map(row.channels.map(({ id, type }) => [id, type])));

const describeAlert = ({ name, projectId, condition, isEnabled, channels }: AlertColumns) => ({
  name,
  session_id: projectId,
  metric: condition.metric,
  threshold: condition.threshold,
  is_enabled: isEnabled,
  channels: channels.map(({ type }) => type),
});

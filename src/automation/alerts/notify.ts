/** Notifies the channels of an alert of a change: one call over HTTP each. */
import type { AlertChannel, AlertState } from "./table.ts";
import type { ReceiverSecrets } from "../../deliveries/receiver.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import { type Delivery, sendDelivery, REQUEST_TIMEOUT_MS } from "../../deliveries/send.ts";
import { type AlertRow, type AlertEvent, changeEvent, pendingEvents } from "./store.ts";
import { type Allowance, database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { openAlertSecrets } from "./input.ts";

/** What is sent: a change, or that the alert is tested. */
export interface AlertNotice {
  from: AlertState;
  to: AlertState | "test";
  value: number | null;
  at: number;
}

interface Mail {
  from: string;
  to: string[];
  subject: string;
  text: string;
}

/** The calls by which providers send e-mail (their HTTP APIs, version of 2026). */
const PROVIDERS: Record<
  Extract<AlertChannel, { type: "email" }>["provider"],
  { url: string; headers: (key: string) => Record<string, string>; body: (mail: Mail) => object }
> = {
  resend: {
    url: "https://api.resend.com/emails",
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    body: ({ from, to, subject, text }) => ({ from, to, subject, text }),
  },
  postmark: {
    url: "https://api.postmarkapp.com/email",
    headers: (key) => ({ "x-postmark-server-token": key, accept: "application/json" }),
    body: ({ from, to, subject, text }) => ({ From: from, To: to.join(","), Subject: subject, TextBody: text }),
  },
  sendgrid: {
    url: "https://api.sendgrid.com/v3/mail/send",
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    body: ({ from, to, subject, text }) => ({
      personalizations: [{ to: to.map((email) => ({ email })) }],
      from: { email: from },
      subject,
      content: [{ type: "text/plain", value: text }],
    }),
  },
};

/** @throws when the receiver does not answer with a 2xx status */
export async function deliverNotice(
  env: Env,
  alert: AlertRow,
  number: number,
  secrets: ReceiverSecrets,
  notice: AlertNotice,
): Promise<void> {
  const channel = alert.channels[number];
  if (!channel) return;
  // The same at every attempt, so that a receiver knows what it has already got.
  const delivery = deriveUuid(["alert", alert.id, String(notice.at), notice.to, String(number)].join("\n"));
  await sendDelivery(env, alert.workspaceId, { delivery, ...buildCall(alert, channel, number, secrets, notice) });
}

function buildCall(
  alert: AlertRow,
  channel: AlertChannel,
  number: number,
  { headers, keys }: ReceiverSecrets,
  notice: AlertNotice,
): Pick<Delivery, "url" | "headers" | "body"> {
  const json = { "content-type": "application/json" };
  const subject = noticeTitle(alert, notice);
  switch (channel.type) {
    case "webhook":
      return {
        url: channel.url,
        headers: { ...headers[number], ...json },
        body: JSON.stringify(payload(alert, notice)),
      };
    case "slack":
      return {
        url: keys[number] ?? channel.url,
        headers: json,
        body: JSON.stringify({ text: escapeText(`${subject}\n${noticeText(alert, notice)}`) }),
      };
    case "email": {
      const { url, headers: named, body } = PROVIDERS[channel.provider];
      const mail = { from: channel.from, to: channel.to, subject, text: noticeText(alert, notice) };
      return { url, headers: { ...named(keys[number] ?? ""), ...json }, body: JSON.stringify(body(mail)) };
    }
  }
}

function payload(alert: AlertRow, { from, to, value, at }: AlertNotice): object {
  const { id, name, workspaceId, projectId, filter, condition } = alert;
  const { metric, operator, threshold, windowMinutes } = condition;
  return {
    type: to === "test" ? "alert.test" : `alert.${to}`,
    alert_id: id,
    name,
    workspace_id: workspaceId,
    session_id: projectId,
    filter,
    from,
    state: to,
    metric,
    operator,
    threshold,
    window_minutes: windowMinutes,
    value,
    time: new Date(at).toISOString(),
  };
}

const TITLES: Record<AlertNotice["to"], string> = { firing: "Firing", resolved: "Resolved", ok: "Ok", test: "Test" };

/** In one line: it is the subject of an e-mail. */
const noticeTitle = ({ name }: AlertRow, { to }: AlertNotice) => `${TITLES[to]}: ${name.replaceAll(/\s+/g, " ")}`;

const SIGNS = { gt: ">", gte: "≥", lt: "<", lte: "≤" };

function noticeText({ condition, projectId, filter }: AlertRow, { value, at }: AlertNotice): string {
  const { metric, operator, threshold, windowMinutes, percentile, feedbackKey } = condition;
  const named = { latency: `latency (p${percentile * 100}, seconds)`, feedback_score: `score of ${feedbackKey ?? ""}` };
  const figure = metric === "latency" || metric === "feedback_score" ? named[metric] : metric.replaceAll("_", " ");
  return [
    `${figure}: ${value === null ? "no figure" : Number(value.toFixed(6))} (alert at ${SIGNS[operator]} ${threshold})`,
    `Runs of the last ${windowMinutes} minutes in project ${projectId}${filter === null ? "" : `, ${filter}`}`,
    new Date(at).toISOString(),
  ].join("\n");
}

/** Slack reads these three as its own marks. */
const escapeText = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// Notifies the channels of alerts of their changes. A sweep holds a change while it does so, and notes each channel.

const MAX_EVENTS = 200;
/** A channel that is not noted for this time is called by another sweep: the one before it was killed. */
const LEASE_MS = 2 * REQUEST_TIMEOUT_MS;
/** Seconds before the next attempt, by how many have failed. After the last one the channel is given up. */
const RETRY_SECONDS = [60, 120, 300, 600, 1_800, 3_600];
const MAX_ERROR = 500;

/** `now`: milliseconds. */
export async function notifyChannels({ env, isSpent }: Allowance, now: number): Promise<void> {
  const began = Date.now();
  const lease = () => now + Date.now() - began + LEASE_MS;
  await inParallel(await pendingEvents(database(env.DB), now, MAX_EVENTS), CONNECTIONS, async ({ event, alert }) => {
    if (isSpent()) return;
    try {
      await notify(env, alert, event, { now, lease });
    } catch (error) {
      logError(error, { alert: alert.id });
    }
  });
}

async function notify(
  env: Env,
  alert: AlertRow,
  event: AlertEvent,
  { now, lease }: { now: number; lease: () => number },
): Promise<void> {
  const db = database(env.DB);
  const { attempts } = event;
  // Each attempt is counted when it begins: one that kills its sweep is repeated a limited number of times.
  if (attempts > RETRY_SECONDS.length) {
    const error = event.error ?? "The last attempt was cut off.";
    return void (await changeEvent(db, event, { nextAt: null, error }));
  }
  let held = await changeEvent(db, event, { attempts: attempts + 1, nextAt: lease() });
  let error: string | null = null;
  for (const number of event.pending) {
    if (!held) return;
    const failure = await deliveryFailure(env, alert, number, event);
    error = failure ?? error;
    const pending: number[] = failure === null ? held.pending.filter((one) => one !== number) : held.pending;
    held = await changeEvent(db, held, { pending, error, nextAt: lease() });
  }
  if (!held) return;
  const wait = RETRY_SECONDS[attempts];
  const isOver = held.pending.length === 0 || wait === undefined;
  await changeEvent(db, held, { error, nextAt: isOver ? null : now + wait * 1000 });
}

async function deliveryFailure(env: Env, alert: AlertRow, number: number, event: AlertEvent): Promise<string | null> {
  try {
    await deliverNotice(env, alert, number, await openAlertSecrets(env, alert), event);
    return null;
  } catch (failure) {
    logError(failure, { alert: alert.id, channel: number });
    return (failure instanceof Error ? failure.message : String(failure)).slice(0, MAX_ERROR);
  }
}

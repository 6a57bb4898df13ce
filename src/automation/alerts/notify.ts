/** The calls over HTTP that tell the channels of an alert of a change. */
import type { AlertChannel, AlertNotice } from "./table.ts";
import { LOST_SECRETS, type ReceiverSecrets } from "../../deliveries/receiver.ts";
import type { DeliveryEvent, FindCall, ReceiverCall } from "../../deliveries/events.ts";
import { type AlertRow, findAlert } from "./store.ts";
import { database } from "../../db/client.ts";
import { openAlertSecrets } from "./input.ts";

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

/** The call that tells a channel of an alert. @throws when its secrets are lost */
export function channelCall(
  alert: AlertRow,
  id: string,
  { headers, keys, isLost }: ReceiverSecrets,
  notice: AlertNotice,
): ReceiverCall {
  if (isLost) throw new Error(LOST_SECRETS);
  const number = alert.channels.findIndex((channel) => channel.id === id);
  const channel = alert.channels[number];
  if (!channel) throw new Error("The alert has no such channel.");
  const json = { "content-type": "application/json" };
  const subject = noticeTitle(notice);
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
        body: JSON.stringify({ text: escapeText(`${subject}\n${noticeText(notice)}`) }),
      };
    case "email": {
      const { url, headers: named, body } = PROVIDERS[channel.provider];
      const mail = { from: channel.from, to: channel.to, subject, text: noticeText(notice) };
      return { url, headers: { ...named(keys[number] ?? ""), ...json }, body: JSON.stringify(body(mail)) };
    }
  }
}

function payload({ id, workspaceId }: AlertRow, notice: AlertNotice): object {
  const { from, to, value, at, name, projectId, filter, condition } = notice;
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
const noticeTitle = ({ name, to }: AlertNotice) => `${TITLES[to]}: ${name.replaceAll(/\s+/g, " ")}`;

const SIGNS = { gt: ">", gte: "≥", lt: "<", lte: "≤" };

function noticeText({ condition, projectId, filter, value, at }: AlertNotice): string {
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

/** The calls of the channels of an alert as it is now, which tell of the change as it was. A paused alert tells nobody. */
export async function readCalls(env: Env, { workspaceId, owner, event }: DeliveryEvent): Promise<FindCall> {
  const alert = await findAlert(database(env.DB), workspaceId, owner);
  if (!alert?.isEnabled) return () => ({ cancelled: "The alert is paused." });
  const secrets = await openAlertSecrets(env, alert);
  return (id) =>
    alert.channels.some((channel) => channel.id === id)
      ? channelCall(alert, id, secrets, event as unknown as AlertNotice)
      : { cancelled: "The channel was removed from the alert." };
}

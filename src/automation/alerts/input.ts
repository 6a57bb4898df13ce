/** From a request for an alert to its row. */
import {
  openReceivers,
  type ReceiverSecrets,
  sealReceivers,
  findStoredReceivers,
  HIDDEN,
  hiddenAddress,
  keepIds,
  LOST_SECRETS,
  resolveHeaders,
  resolveSecret,
} from "../../deliveries/receiver.ts";
import type { AlertRow, AlertColumns } from "./store.ts";
import type { Context } from "hono";
import { requirePermission } from "../../access/auth/roles.ts";
import type { AlertChannel } from "./table.ts";
import { database } from "../../db/client.ts";
import { webhookFault } from "../../http/addresses.ts";
import { Problem } from "../../lib/problem.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import type { App } from "../../http/context.ts";
import { checkFilters, readableFault, requireReadable } from "../../traces/partition/read/condition.ts";
import { projectById } from "../../traces/projects/resolve.ts";
import type { AlertBody } from "./schema.ts";

// What the channels of an alert have that is not shown.

const sealPurpose = (alertId: string) => `alert ${alertId}`;

export async function sealAlertSecrets(
  env: Env,
  { id, workspaceId }: Pick<AlertRow, "id" | "workspaceId">,
  secrets: ReceiverSecrets,
): Promise<string | null> {
  return sealReceivers(env, workspaceId, secrets, sealPurpose(id));
}

export async function openAlertSecrets(env: Env, { id, workspaceId, secrets }: AlertRow): Promise<ReceiverSecrets> {
  return openReceivers(env, workspaceId, secrets, sealPurpose(id));
}

/** Why an alert cannot be evaluated, or cannot tell of it, in sentences for its owner; null when it can. */
export async function alertFault(env: Env, alert: AlertRow, { isLost }: ReceiverSecrets): Promise<string | null> {
  const fault = (await readableFault(env, alert.workspaceId, [alert.filter])) ?? alert.error;
  const faults = [...(fault === null ? [] : [fault]), ...(isLost ? [LOST_SECRETS] : [])];
  return faults.length === 0 ? null : faults.join(" ");
}

/** The columns that a request sets. @throws Problem 404 for a project that is not there, 422 for an address that is not allowed */
export async function toAlertRow(
  c: Context<App>,
  given: AlertBody,
  id: string,
  before?: AlertRow,
): Promise<AlertColumns> {
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
  const held = before ? await openAlertSecrets(c.env, before) : { headers: [], keys: [] };
  const { places, ...secrets } = readAlertSecrets(given, held, before);
  const channels = given.channels.map((channel): AlertChannel => {
    const id = uuidv7();
    if (channel.type === "webhook") return { id, type: channel.type, url: channel.url };
    if (channel.type === "slack") return { id, type: channel.type, url: hiddenAddress(channel.url) };
    const { type, provider, from, to } = channel;
    return { id, type, provider, from, to };
  });
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
    channels: keepIds(channels, (at) => before?.channels[places[at] ?? -1]),
    secrets: await sealAlertSecrets(c.env, { id, workspaceId }, secrets),
  };
}

/**
 * The secrets of the channels, and where each stands in `before`. One that is sent hidden is that of the same receiver, wherever it
 * stands. @throws Problem 422
 */
function readAlertSecrets(
  { channels }: AlertBody,
  held: ReceiverSecrets,
  before: AlertRow | undefined,
): ReceiverSecrets & { places: (number | undefined)[] } {
  const headers: ReceiverSecrets["headers"] = [];
  const keys: ReceiverSecrets["keys"] = [];
  const places = findStoredReceivers(
    channels.map((channel) => channelNames(channel, "headers" in channel ? channel.headers : {})),
    (before?.channels ?? []).map((channel, at) => {
      const secret = [held.headers[at] ?? {}, held.keys[at] ?? null] as const;
      return { names: channelNames(channel, secret[0]), secret };
    }),
  );
  for (const [number, channel] of channels.entries()) {
    const where = `body.channels.${number}`;
    const place = places[number] ?? -1;
    const key = held.keys[place];
    headers.push(
      channel.type === "webhook" ? resolveHeaders(channel.headers, held.headers[place], `${where}.headers`) : {},
    );
    if (channel.type === "webhook") keys.push(null);
    if (channel.type === "email") keys.push(resolveSecret(channel.api_key, key, `${where}.api_key`));
    if (channel.type === "slack") {
      const isHidden = channel.url === hiddenAddress(channel.url);
      keys.push(resolveSecret(isHidden ? HIDDEN : channel.url, key, `${where}.url`));
    }
  }
  return { headers, keys, places };
}

/** By what a channel is known again (`findStoredReceivers`). */
function channelNames(channel: AlertChannel | AlertBody["channels"][number], headers: object = {}): string[] {
  const to = [channel.type, receiver(channel)];
  const more = channel.type === "email" ? [channel.from, channel.to] : Object.keys(headers).toSorted();
  return [JSON.stringify([...to, more]), JSON.stringify(to)];
}

/** Who gets the secrets of a channel. Of Slack's address only the host is known here. */
function receiver(channel: AlertChannel | AlertBody["channels"][number]): string {
  if (channel.type === "email") return channel.provider;
  return channel.type === "slack" ? hiddenAddress(channel.url) : channel.url;
}

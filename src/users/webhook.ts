import type { Context } from "hono";
import { webhookFault } from "../http/address.ts";
import { addressOf } from "../http/origin.ts";
import { Problem } from "../http/problem.ts";
import type { App } from "../http/types.ts";
import { takesPost } from "./app.ts";

/**
 * Where a webhook is sent: a path of the project's own `app` as it is, which is called in this server, and else an absolute
 * address. Another path means this server. @throws Problem 422 when it may not be called.
 */
export function webhookOf(c: Context<App>, webhook: string | null | undefined): string | undefined {
  if (!webhook) return undefined;
  if (webhook.startsWith("/") && takesPost(webhook)) return webhook;
  const { href } = new URL(webhook.startsWith("/") ? `${addressOf(c)}${webhook}` : webhook);
  const fault = webhookFault(href, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw new Problem(422, `Invalid body.webhook: ${fault}.`);
  return href;
}

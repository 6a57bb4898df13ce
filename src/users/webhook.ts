import type { Context } from "hono";
import { webhookFault } from "../http/addresses.ts";
import { serverAddress } from "../http/context.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { ownAddress } from "../http/loopback.ts";
import type { StoredWebhook } from "../loopback/webhook.ts";
import { hasPostHandler } from "../access/users/app.ts";

/**
 * Where a webhook is sent: an absolute address. A path means this server, and one that the project's own `app` takes is called
 * within it. @throws Problem 422 when the webhook may not be called.
 */
export function readWebhook(c: Context<App>, given: string | null | undefined): StoredWebhook {
  if (!given) return {};
  if (!given.startsWith("/")) return { webhook: requireAllowed(c, new URL(given).href) };
  const own = ownAddress(given);
  if (!own)
    throw new Problem(422, "Invalid body.webhook: must be an http(s) URL or a path that begins with one slash.");
  const path = own.pathname + own.search;
  const url = new URL(serverAddress(c) + path).href;
  return hasPostHandler(own) ? { webhook: url, own_webhook: { path, url } } : { webhook: requireAllowed(c, url) };
}

function requireAllowed(c: Context<App>, url: string): string {
  const fault = webhookFault(url, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw new Problem(422, `Invalid body.webhook: ${fault}.`);
  return url;
}

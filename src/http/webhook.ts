import type { Context } from "hono";
import { webhookFault } from "./address.ts";
import { addressOf } from "./origin.ts";
import { Problem } from "./problem.ts";
import type { App } from "./types.ts";

/** A webhook's absolute address: a path means this server. @throws Problem 422 when it may not be called. */
export function webhookOf(c: Context<App>, webhook: string | null | undefined): string | undefined {
  if (!webhook) return undefined;
  const { href } = new URL(webhook.startsWith("/") ? `${addressOf(c)}${webhook}` : webhook);
  const fault = webhookFault(href, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw new Problem(422, `Invalid body.webhook: ${fault}.`);
  return href;
}

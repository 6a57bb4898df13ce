import type { Context } from "hono";
import { isPrivateAddress } from "./address.ts";
import { Problem } from "./problem.ts";
import type { App } from "./types.ts";

/** A webhook's absolute address: a path means this server. 422 when it leads into a private network. */
export function webhookOf(c: Context<App>, webhook: string | null | undefined): string | undefined {
  if (!webhook) return undefined;
  const { href } = new URL(webhook, c.req.url);
  if (c.env.ALLOW_PRIVATE_ADDRESSES !== "true" && isPrivateAddress(href)) {
    throw new Problem(422, "Invalid body.webhook: must be an https URL of a public address.");
  }
  return href;
}

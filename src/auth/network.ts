/** Where a request comes from. */
import type { Context } from "hono";
import ipaddr from "ipaddr.js";
import type { App } from "../http/types.ts";

/** The caller's address as Cloudflare saw it; undefined where nothing stands in front of the Worker. */
export function addressOf(c: Context<App>): string | undefined {
  return c.req.header("cf-connecting-ip")?.slice(0, 100);
}

/**
 * What counts as one caller: an IPv4 address, or the /64 of an IPv6 address. A /64 is the smallest network that a site gets,
 * so its 2^64 addresses are one holder's.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/** Where a request comes from. */
import type { Context } from "hono";
import ipaddr from "ipaddr.js";
import type { App } from "./context.ts";

/** A network as `address/bits`, or one address. */
export function isNetwork(text: string): boolean {
  const [address = ""] = text.split("/", 1);
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  return isAddress && (text === address || ipaddr.isValidCIDR(text));
}

/** Whether an address is in one of the networks. An unknown address is in none. */
export function isWithin(address: string | undefined, networks: string[]): boolean {
  if (address === undefined || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return networks.some((network) => {
    const [base, bits] = network.includes("/") ? ipaddr.parseCIDR(network) : parseSingle(network);
    return base.kind() === parsed.kind() && parsed.match(base, bits);
  });
}

function parseSingle(address: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const parsed = ipaddr.process(address);
  return [parsed, parsed.kind() === "ipv4" ? 32 : 128];
}

/** The caller's address from Cloudflare; undefined without Cloudflare in front of the Worker. */
export function callerAddress(c: Context<App>): string | undefined {
  return c.req.header("cf-connecting-ip")?.slice(0, 100);
}

/**
 * What counts as one caller: an IPv4 address, or the /64 of an IPv6 address. A /64 is the smallest network that a site gets,
 * so its 2^64 addresses are one holder's.
 */
export function toNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

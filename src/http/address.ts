/** Which addresses a deployment must not be made to call: everything that is not the public internet. */
import ipaddr from "ipaddr.js";

/** Names that stand for the machine itself, its network, or a cloud's metadata service. */
const INTERNAL_NAMES = /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|arpa)$/;

/** Whether the URL leads elsewhere than over https to a public host. */
export function isPrivateAddress(url: string): boolean {
  const { hostname, protocol } = new URL(url);
  return protocol !== "https:" || !isPublicHost(hostname);
}

/**
 * Whether a URL's host is, by its writing, public: of addresses plain unicast, not loopback, private, link-local, carrier
 * NAT, transition or reserved ones. Names are not resolved: a Worker cannot.
 */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (ipaddr.isValid(host)) return ipaddr.process(host).range() === "unicast";
  return host.includes(".") && !INTERNAL_NAMES.test(host);
}

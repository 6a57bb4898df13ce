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
function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (ipaddr.isValid(host)) return ipaddr.process(host).range() === "unicast";
  return host.includes(".") && !INTERNAL_NAMES.test(host);
}

/**
 * What is wrong with an endpoint URL, or undefined when it may be used. Only https to a public host passes;
 * `allowPrivate` (a deployment's choice) also lets http and private hosts through.
 *
 * A public name that resolves to a private address cannot be seen from here: Workers resolve names at the edge, where no
 * private network is in reach. Redirects are not followed either (s3/client.ts).
 */
export function endpointFault(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.parse(text);
  if (!url) return "must be a URL such as https://s3.example.com";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must be an https URL";
  if (url.username || url.password) return "must not contain credentials";
  if (url.search || url.hash) return "must not contain a query or a fragment";
  if (allowPrivate) return undefined;
  if (url.protocol !== "https:") return "must use https";
  return isPublicHost(url.hostname) ? undefined : "must not name a private, link-local or internal host";
}

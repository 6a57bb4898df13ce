/** Which endpoints the Worker may be sent to: never into the network it runs in. */
import ipaddr from "ipaddr.js";

/** Names that stand for the machine itself, its network, or a cloud's metadata service. */
const INTERNAL_NAMES = /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|arpa)$/;

/**
 * What is wrong with an endpoint URL, or undefined when it may be used. Only https to a public host passes;
 * `allowPrivate` (a deployment's choice) also lets http and private hosts through.
 *
 * A public name that resolves to a private address cannot be seen from here: Workers resolve names at the edge, where no
 * private network is in reach. Redirects are not followed either (client.ts).
 */
export function endpointFault(text: string, allowPrivate: boolean): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "must be a URL such as https://s3.example.com";
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must be an https URL";
  if (url.username || url.password) return "must not contain credentials";
  if (url.search || url.hash) return "must not contain a query or a fragment";
  if (allowPrivate) return undefined;
  if (url.protocol !== "https:") return "must use https";
  return isPublicHost(url.hostname) ? undefined : "must not name a private, link-local or internal host";
}

function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (ipaddr.isValid(host)) return isPublicAddress(host);
  return host.includes(".") && !INTERNAL_NAMES.test(host);
}

/** Everything but plain unicast is refused: loopback, private, link-local, carrier NAT, transition and reserved ranges. */
function isPublicAddress(host: string): boolean {
  return ipaddr.process(host).range() === "unicast";
}

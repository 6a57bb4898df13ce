/** The addresses that a deployment may be made to call: https, on the public internet, without credentials. */
import ipaddr from "ipaddr.js";

/** Names of a machine itself, of private networks, of clusters and of a cloud's metadata service. */
const INTERNAL_NAMES =
  /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|arpa|svc|cluster|consul|nomad|docker|test|invalid|onion|alt|i2p)$/;

/** Azure's platform service: the only metadata service with an address that is otherwise public. */
const AZURE_PLATFORM = "168.63.129.16";

/** The ports of webhooks: others belong to services that are not meant to receive them. Empty: the default port. */
const WEBHOOK_PORTS = ["", "443", "8443"];

/**
 * The error for a URL that the server must not call, or undefined when it may be called. `allowPrivate` (a
 * deployment's choice) also allows http and private hosts.
 *
 * A public name that resolves to a private address cannot be seen from here: Workers resolve names at the edge, where no
 * private network is in reach. Callers must not follow redirects.
 */
export function addressFault(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.parse(text);
  if (!url) return "must be a URL such as https://example.com";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must be an https URL";
  if (url.username || url.password) return "must not contain credentials";
  if (allowPrivate) return undefined;
  if (url.protocol !== "https:") return "must use https";
  return isPublicHost(url.hostname) ? undefined : "must not name a private, link-local or internal host";
}

/** The same for the endpoint of an object store, which may have any port. */
export function endpointFault(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.parse(text);
  if (url && (url.search || url.hash)) return "must not contain a query or a fragment";
  return addressFault(text, allowPrivate);
}

/** The same for what receives a webhook or a push notification. */
export function webhookFault(text: string, allowPrivate: boolean): string | undefined {
  const fault = addressFault(text, allowPrivate);
  if (fault || allowPrivate || WEBHOOK_PORTS.includes(new URL(text).port)) return fault;
  return "must use port 443 or 8443";
}

/** Whether a URL's host is, as it is written, public. Names are not resolved: a Worker cannot. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.+$/, "");
  if (ipaddr.isValid(host)) return isPublicAddress(ipaddr.parse(host));
  return host.includes(".") && !INTERNAL_NAMES.test(host);
}

/**
 * Of IPv4 plain unicast. Of IPv6 what is assigned to the public internet (2000::/3), without the forms that embed an IPv4
 * address: mapped, compatible and translated ones are outside that range, 6to4 and Teredo are ranges of their own, and
 * ISATAP (RFC 5214) is known by the middle of its last 64 bits.
 */
function isPublicAddress(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast" || address.toString() === AZURE_PLATFORM) return false;
  if (address instanceof ipaddr.IPv4) return true;
  const [first = 0, , , , fifth = 0, sixth = 0] = address.parts;
  const isIsatap = (fifth & ~0x0200) === 0 && sixth === 0x5efe;
  return (first & 0xe000) === 0x2000 && !isIsatap;
}

/** Which endpoints the Worker may be sent to: never into the network it runs in. */
import { isPublicHost } from "../http/address.ts";

/**
 * What is wrong with an endpoint URL, or undefined when it may be used. Only https to a public host passes;
 * `allowPrivate` (a deployment's choice) also lets http and private hosts through.
 *
 * A public name that resolves to a private address cannot be seen from here: Workers resolve names at the edge, where no
 * private network is in reach. Redirects are not followed either (client.ts).
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

/** Which addresses a deployment must not be made to call: everything that is not the public internet. */
import ipaddr from "ipaddr.js";

/** Whether the URL's host is, by its writing, private, local, link-local or a metadata service. Names are not resolved: a Worker cannot. */
export function isPrivateAddress(url: string): boolean {
  const { hostname, protocol } = new URL(url);
  if (protocol !== "https:") return true;
  const host = hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (ipaddr.isValid(host)) return ipaddr.process(host).range() !== "unicast";
  return !host.includes(".") || /(^|\.)(localhost|local|internal|localdomain|home\.arpa)$/.test(host);
}

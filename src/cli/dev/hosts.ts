/** Which requests the front accepts, and what it removes from them. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Fault } from "../fault.ts";

/**
 * A page of any site can have its own name resolve to this machine, and read every answer to that name. Its requests have
 * the name as their host, so only known names are answered.
 */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** The names of this machine, and the given ones. Throws a Fault for one that is no host name. */
export function knownHosts(names: string[]): Set<string> {
  return new Set([...LOOPBACK, ...names.map(parseHost)]);
}

function parseHost(name: string): string {
  const host = URL.parse(`http://${name.includes(":") && !name.startsWith("[") ? `[${name}]` : name}/`);
  if (!host?.hostname || host.pathname !== "/" || host.port || host.username)
    throw new Fault(
      `"${name}" is no host name. --host takes a name without scheme and port, such as my-tunnel.example.`,
    );
  return host.hostname;
}

/** Whether the request names a known host. An absolute request target would replace the Host header. */
export function isKnown(known: Set<string>, { headers, url = "" }: IncomingMessage): boolean {
  const host = URL.parse(`http://${headers.host ?? ""}/`);
  return url.startsWith("/") && host !== null && known.has(host.hostname);
}

export const REFUSED = "This host is not known. Use localhost, or start weir dev with --host and the name.";

/** Headers by which Miniflare and Cloudflare say more about a request than its sender does. */
const PLATFORM = /^(mf|cf)-/i;

export const withoutPlatform = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !PLATFORM.test(name)));

/** The same for the flat list of names and values that a socket's handshake is sent on with. */
export function handshakeLines(rawHeaders: string[]): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (!PLATFORM.test(rawHeaders[at] ?? "")) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return lines;
}

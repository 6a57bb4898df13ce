/** Addresses of this server as code within it calls them. */

/** A host of no network: the address is never connected to. */
export const ORIGIN = "http://weir.internal";

/** The address of a path of this server. Undefined for a path that URL parsers resolve to another host, such as `//host`. */
export function ownAddress(path: string): URL | undefined {
  const url = path.startsWith("/") ? URL.parse(ORIGIN + path) : null;
  return url && !url.pathname.startsWith("//") ? url : undefined;
}

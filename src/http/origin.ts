import type { Context } from "hono";
import { settings } from "../config.ts";
import { isPublicHost } from "./addresses.ts";
import type { App } from "./context.ts";

/** A path of this server as callers have it: with `http.mount_prefix`, which the routes themselves do not have. */
export const withMountPrefix = (path: string): string => `${settings.http.mount_prefix ?? ""}${path}`;

/** The address below which callers find the routes: the server's origin and `http.mount_prefix`. */
export const serverAddress = (c: Context<App>): string => `${serverOrigin(c)}${withMountPrefix("")}`;

/**
 * The server's origin as callers have it: the request's own if PUBLIC_URL lists it, else the first that PUBLIC_URL lists.
 * Without PUBLIC_URL the request's own.
 */
export function serverOrigin(c: Context<App>): string {
  const own = ownOrigin(c);
  const listed = listedOrigins(c.env);
  return listed.includes(own) ? own : (listed[0] ?? own);
}

/**
 * Whether `serverOrigin` can be trusted as an identity, such as the issuer of tokens. A caller chooses the Host header, so a
 * public name is known from PUBLIC_URL only. Names of private networks lead nowhere else, and Cloudflare itself routes
 * workers.dev.
 */
export function isKnownOrigin(c: Context<App>): boolean {
  const { hostname } = new URL(c.req.url);
  return listedOrigins(c.env).length > 0 || !isPublicHost(hostname) || hostname.endsWith(".workers.dev");
}

/** The address that PUBLIC_URL lists first, for links that no request leads to. Undefined without PUBLIC_URL. */
export function publicAddress(env: Env): string | undefined {
  const [first] = listedOrigins(env);
  return first === undefined ? undefined : `${first}${withMountPrefix("")}`;
}

function listedOrigins({ PUBLIC_URL = "" }: Env): string[] {
  return PUBLIC_URL.split(",").flatMap((one) => one.trim().replace(/\/+$/, "") || []);
}

/** The address that the request was sent to, with https where a proxy says so. */
function ownOrigin(c: Context<App>): string {
  const url = new URL(c.req.url);
  // X-Forwarded-Host is ignored: any client can send it, and links in answers would then lead to another host.
  if (c.req.header("x-forwarded-proto") === "https") url.protocol = "https:";
  return url.origin;
}

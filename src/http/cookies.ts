/** Cookies of the server's own pages. A page of another site can neither read nor replace them. */
import type { Context } from "hono";
import { serverOrigin } from "./origin.ts";
import type { App } from "./context.ts";

const isHttps = (c: Context<App>) => serverOrigin(c).startsWith("https:");

/** A `__Host-` cookie must be Secure, which not every browser allows over plain http on localhost. */
export const cookieName = (c: Context<App>, name: string) => (isHttps(c) ? `__Host-${name}` : name);

export const cookieAttributes = (c: Context<App>) =>
  ({ path: "/", httpOnly: true, secure: isHttps(c), sameSite: "Lax" }) as const;

/** Whether the request comes from a page of this server. Browsers send `Origin` with every request that is no GET or HEAD. */
export function isOwnOrigin(c: Context<App>): boolean {
  return c.req.header("origin") === new URL(serverOrigin(c)).origin;
}

import type { Context } from "hono";
import { isKnownOrigin, serverAddress } from "../http/context.ts";
import type { App } from "../http/context.ts";
import { OAuthError } from "../access/oauth/errors.ts";

/** This server as the issuer of tokens. @throws OAuthError 421 when only the request's Host header says its address. */
export function requireIssuer(c: Context<App>): string {
  if (isKnownOrigin(c)) return serverAddress(c);
  const host = new URL(c.req.url).host.slice(0, 200);
  throw new OAuthError("invalid_request", `This server is not known as ${host}. Set PUBLIC_URL to its address.`, 421);
}

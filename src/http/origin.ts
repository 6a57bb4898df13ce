import type { Context } from "hono";
import type { App } from "./types.ts";

/** The server's address as callers have it: PUBLIC_URL, else the request's own, with https where a proxy says so. */
export function originOf(c: Context<App>): string {
  if (c.env.PUBLIC_URL) return c.env.PUBLIC_URL.replace(/\/+$/, "");
  const url = new URL(c.req.url);
  // A proxy's X-Forwarded-Host is not believed: anybody can send one, and our links would lead elsewhere.
  if (c.req.header("x-forwarded-proto") === "https") url.protocol = "https:";
  return url.origin;
}

/** From this server to the OpenID provider and back: one cookie, which says what for, for ten minutes and one answer. */
import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import * as v from "valibot";
import { auditFailure } from "../access/audit/record.ts";
import { slowDown } from "../access/auth/limits.ts";
import { cookieAttributes, cookieName } from "../http/html.ts";
import type { App } from "../http/context.ts";
import { errorPage } from "../access/oauth/pages.ts";
import { discover, newProofs, describeRefusal, signInAddress } from "../access/oauth/provider.ts";
import { PARAMETERS } from "../access/oauth/request.ts";

const MINUTES = 10;
const COOKIE = "weir_openid";

/** To consent to an application, to use the console, or to accept an invitation. */
const Purpose = v.variant("for", [
  v.strictObject({
    for: v.literal("consent"),
    parameters: v.partial(v.object(v.entriesFromList(PARAMETERS, v.string()))),
  }),
  v.strictObject({ for: v.literal("console"), from: v.string(), workspace: v.optional(v.string()) }),
  v.strictObject({ for: v.literal("invitation"), hash: v.string() }),
]);
export type Purpose = v.InferOutput<typeof Purpose>;

const Journey = v.strictObject({ state: v.string(), nonce: v.string(), verifier: v.string(), purpose: Purpose });

/** Notes why the browser leaves, and says where it goes. A page that says what is wrong when it cannot leave. */
export async function depart(c: Context<App>, purpose: Purpose): Promise<string | Response> {
  const provider = await discover(c.env).catch(describeRefusal);
  if (typeof provider === "string") return errorPage(provider);
  if (!provider) return errorPage("No OpenID provider is configured here.");
  const proofs = newProofs();
  const cookie = JSON.stringify({ ...proofs, purpose });
  // Browsers drop a cookie of more than 4096 bytes.
  if (encodeURIComponent(cookie).length > 3800) return errorPage("This request is too long to sign in this way.");
  setCookie(c, cookieName(c, COOKIE), cookie, { ...cookieAttributes(c), maxAge: MINUTES * 60 });
  return signInAddress(c, provider, proofs);
}

/** What this browser left for. It is read once. */
export function arrive(c: Context<App>): v.InferOutput<typeof Journey> | undefined {
  const cookie = getCookie(c, cookieName(c, COOKIE));
  if (cookie === undefined) return undefined;
  setCookie(c, cookieName(c, COOKIE), "", { ...cookieAttributes(c), maxAge: 0 });
  try {
    return v.parse(Journey, JSON.parse(cookie));
  } catch {
    return undefined;
  }
}

/** Notes a sign-in that failed, and says why a second later, so that guessing is slow. */
export async function refuse(c: Context<App>, reason: string, subject = ""): Promise<Response> {
  await auditFailure(c, { action: "sign_in.failed", targetId: subject, detail: { reason } });
  await slowDown();
  return errorPage(reason);
}

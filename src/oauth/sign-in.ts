/** Between signing in and the answer on the consent page: one cookie, one row, one use. */
import { createHmac } from "node:crypto";
import { getCookie, setCookie } from "hono/cookie";
import type { Context } from "hono";
import { audit } from "../access/audit/record.ts";
import { newSecret, sha256 } from "../lib/crypto.ts";
import { database } from "../db/client.ts";
import { cookieAttributes, cookieName } from "../http/html.ts";
import type { App } from "../http/context.ts";
import { findSignIn, insertSignIn, type SignInRow, takeSignIn } from "../access/oauth/store.ts";
import type { Parameters } from "../access/oauth/request.ts";

const MINUTES = 10;
const COOKIE = "weir_sign_in";

type Person = Pick<SignInRow, "workspaceId" | "credentialId" | "scopes">;

/** Stores who signed in, for ten minutes or until the consent page is answered. */
export async function startSignIn(c: Context<App>, person: Person): Promise<void> {
  const secret = newSecret("");
  const expiresAt = Date.now() + MINUTES * 60_000;
  await insertSignIn(database(c.env.DB), { ...person, hash: sha256(secret), expiresAt });
  const { workspaceId, credentialId } = person;
  const actor = { kind: "person", credentialId };
  await audit(c, { workspaceId, actor, action: "sign_in.succeeded", targetId: credentialId });
  setCookie(c, cookieName(c, COOKIE), secret, { ...cookieAttributes(c), maxAge: MINUTES * 60 });
}

/** The sign-in of this browser and its secret. */
export async function currentSignIn(c: Context<App>): Promise<{ person: SignInRow; secret: string } | undefined> {
  const secret = getCookie(c, cookieName(c, COOKIE));
  if (!secret) return undefined;
  const person = await findSignIn(database(c.env.DB), sha256(secret), Date.now());
  return person && { person, secret };
}

/** Ends the sign-in; only one caller gets it. */
export async function endSignIn(c: Context<App>, secret: string): Promise<SignInRow | undefined> {
  setCookie(c, cookieName(c, COOKIE), "", { ...cookieAttributes(c), maxAge: 0 });
  return takeSignIn(database(c.env.DB), sha256(secret), Date.now());
}

/** An HMAC over the whole request under the sign-in's secret, which no other site and no page can read. */
export function signParameters(secret: string, parameters: Parameters): string {
  return createHmac("sha256", secret).update(JSON.stringify(parameters)).digest("hex");
}

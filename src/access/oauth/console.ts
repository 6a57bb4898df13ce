/** The console's sign-in: a member's browser gets a session, until it signs out, or for a week at most. */
import type { Context } from "hono";
import { setCookie } from "hono/cookie";
import { audit } from "../audit/record.ts";
import { limitAddress } from "../auth/limits.ts";
import { newSecret, sha256 } from "../../lib/crypto.ts";
import { SESSION_COOKIE, sessionSecret } from "../../auth/session.ts";
import { endSession, findSession, insertSession, SESSION_MS } from "../auth/sessions.ts";
import { database } from "../../db/client.ts";
import { cookieAttributes, cookieName, isOwnOrigin } from "../../http/html.ts";
import { callerAddress } from "../../http/context.ts";
import { serverOrigin } from "../../http/context.ts";
import type { App } from "../../http/context.ts";
import { listMemberships, type MemberRow, noteSignIn, type Person } from "../members/store.ts";
import { redirect } from "./authorize.ts";
import { depart, refuse } from "../../oauth/journey.ts";
import { errorPage } from "./pages.ts";

/** The most characters of a User-Agent that are kept. */
const AGENT = 300;

/** GET /oauth/openid/sign-in: `from`, where the person was in the console, and `workspace`, one of the person's. */
export async function startConsole(c: Context<App>): Promise<Response> {
  await limitAddress(c, "sign-in");
  // Another site may send a person here, and chooses neither the workspace nor the page.
  const isForeign = ["cross-site", "same-site"].includes(c.req.header("sec-fetch-site") ?? "");
  const asked = isForeign ? {} : c.req.query();
  const purpose = { for: "console", from: ownPath(c, asked.from), workspace: asked.workspace } as const;
  const address = await depart(c, purpose);
  return typeof address === "string" ? redirect(c, address) : address;
}

/** The path, if it is one of this server; the start page for anything else. */
function ownPath(c: Context<App>, asked = "/"): string {
  const origin = serverOrigin(c);
  const url = URL.parse(asked, origin);
  return url?.origin === new URL(origin).origin ? url.pathname + url.search : "/";
}

/** After the provider's answer: a session of the person in the asked workspace, else in that of the last sign-in. */
export async function enterConsole(
  c: Context<App>,
  person: Person,
  { from, workspace }: { from: string; workspace?: string },
): Promise<Response> {
  const memberships = await listMemberships(database(c.env.DB), person);
  const asked = memberships.find(({ member }) => member.workspaceId === workspace) ?? memberships[0];
  if (!asked) {
    const reason = `You are signed in, but you are not a member of a workspace on this server. A member of the workspace can invite you. Your subject at the provider is ${person.subject}.`;
    return refuse(c, reason, `openid:${person.subject}`);
  }
  return enter(c, asked.member, person, from);
}

/** Starts a session in place of that of this browser, and leads to the console. */
export async function enter(c: Context<App>, member: MemberRow, person: Person, from = "/"): Promise<Response> {
  const db = database(c.env.DB);
  await endOwnSession(c);
  const secret = newSecret("weir_session_");
  const now = Date.now();
  const id = crypto.randomUUID();
  await insertSession(db, {
    id,
    hash: sha256(secret),
    memberId: member.id,
    createdAt: now,
    lastUsedAt: now,
    expiresAt: now + SESSION_MS,
    address: callerAddress(c) ?? null,
    userAgent: c.req.header("user-agent")?.slice(0, AGENT) ?? null,
  });
  await noteSignIn(db, member.id, person.verified ? person.email : null, now);
  const actor = { kind: "member", credentialId: member.id };
  const { workspaceId } = member;
  await audit(c, { workspaceId, actor, action: "sign_in.succeeded", targetId: member.id, detail: { session: id } });
  setCookie(c, cookieName(c, SESSION_COOKIE), secret, { ...cookieAttributes(c), maxAge: SESSION_MS / 1000 });
  // With the origin: a path that begins with two slashes would be another host.
  return redirect(c, new URL(serverOrigin(c)).origin + from);
}

/** POST /oauth/openid/sign-out. */
export async function signOut(c: Context<App>): Promise<Response> {
  if (!isOwnOrigin(c)) return errorPage("The answer did not come from this server's own page.");
  await endOwnSession(c);
  setCookie(c, cookieName(c, SESSION_COOKIE), "", { ...cookieAttributes(c), maxAge: 0 });
  return c.body(null, 204, { "cache-control": "no-store" });
}

async function endOwnSession(c: Context<App>): Promise<void> {
  const secret = sessionSecret(c);
  const db = database(c.env.DB);
  const found = secret && (await findSession(db, sha256(secret), Date.now()));
  if (!found) return;
  const { session, member } = found;
  if (!(await endSession(db, member.id, session.id))) return;
  const actor = { kind: "member", credentialId: member.id };
  const { workspaceId } = member;
  await audit(c, { workspaceId, actor, action: "session.ended", targetId: session.id });
}

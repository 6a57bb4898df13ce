/** The console's sign-in: a member's browser gets a session, until it signs out, or for a week at most. */
import type { Context } from "hono";
import { setCookie } from "hono/cookie";
import { audit } from "../audit/record.ts";
import { limitAddress } from "../auth/limits.ts";
import { newSecret, sha256 } from "../../lib/crypto.ts";
import { SESSION_COOKIE, sessionSecret, endSession, findSession, insertSession, SESSION_MS } from "../auth/sessions.ts";
import { database } from "../../db/client.ts";
import { cookieAttributes, cookieName, isOwnOrigin, htmlPage } from "../../http/html.ts";
import { callerAddress, serverOrigin, type App, withMountPrefix } from "../../http/context.ts";
import {
  listMemberships,
  type MemberRow,
  noteSignIn,
  type Person,
  findOpenInvitation,
  joinBy,
  findPerson,
} from "../members/store.ts";
import { redirect } from "./authorize.ts";
import { beginSignIn, failSignIn, providerHost } from "./provider.ts";
import { errorPage } from "./pages.ts";
import { html } from "hono/html";
import { inviterStillHasRole } from "../members/rights.ts";
import { readForm } from "./request.ts";

/** The most characters of a User-Agent that are kept. */
const AGENT = 300;

/** GET /oauth/openid/sign-in: `from`, where the person was in the console, and `workspace`, one of the person's. */
export async function startConsole(c: Context<App>): Promise<Response> {
  await limitAddress(c, "sign-in");
  // Another site may send a person here, and chooses neither the workspace nor the page.
  const isForeign = ["cross-site", "same-site"].includes(c.req.header("sec-fetch-site") ?? "");
  const asked = isForeign ? {} : c.req.query();
  const purpose = { for: "console", from: ownPath(c, asked.from), workspace: asked.workspace } as const;
  const address = await beginSignIn(c, purpose);
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
    return failSignIn(c, reason, `openid:${person.subject}`);
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

// Accepting an invitation: the page of its link, and what follows the sign-in.

const GONE = "This invitation has expired, was accepted, or was taken back. You need a new one.";

/** An invitation that may be accepted now, by the hash of its secret. */
async function openInvitation(c: Context<App>, hash: string) {
  const db = database(c.env.DB);
  const found = await findOpenInvitation(db, hash, Date.now());
  return found && (await inviterStillHasRole(db, found.invitation)) ? found : undefined;
}

/** GET /oauth/openid/invitation?token=…: shows the invitation. Link scanners that open it accept nothing. */
export async function showInvitation(c: Context<App>): Promise<Response> {
  await limitAddress(c, "sign-in");
  const token = c.req.query("token") ?? "";
  const found = await openInvitation(c, sha256(token));
  if (!found) return failSignIn(c, GONE);
  const host = providerHost(c.env);
  if (host === undefined) return errorPage("No OpenID provider is configured here.");
  const { invitation, workspace } = found;
  const content = html`
    <h1>Join the workspace ${workspace}</h1>
    <p>You are invited with the role ${invitation.role}${invitation.email ? `, as ${invitation.email}` : ""}.</p>
    <form method="post" action="${withMountPrefix("/oauth/openid/invitation")}">
      <input type="hidden" name="token" value="${token}" />
      <div class="actions">
        <button class="primary">Sign in with ${host}</button>
      </div>
    </form>
  `;
  return htmlPage("Invitation", content, 200);
}

/** POST: on to the provider. */
export async function startInvitation(c: Context<App>): Promise<Response> {
  await limitAddress(c, "sign-in");
  if (!isOwnOrigin(c)) return errorPage("The answer did not come from this server's own page.");
  const hash = sha256((await readForm(c.req.raw)).get("token") ?? "");
  if (!(await openInvitation(c, hash))) return failSignIn(c, GONE);
  const address = await beginSignIn(c, { for: "invitation", hash });
  if (typeof address !== "string") return address;
  const content = html`<h1>One moment</h1>
    <div class="actions">
      <a class="button primary" href="${address}">Continue to ${new URL(address).host}</a>
    </div>`;
  const answer = await htmlPage("Sign in", content, 200);
  // The page's policy holds for all redirects after its form, and a provider may lead on to another one.
  answer.headers.set("refresh", `0; url=${address}`);
  return answer;
}

/** After the provider's answer: makes the person a member, once. */
export async function acceptInvitation(c: Context<App>, person: Person, hash: string): Promise<Response> {
  const subject = `openid:${person.subject}`;
  const found = await openInvitation(c, hash);
  if (!found) return failSignIn(c, GONE, subject);
  const { invitation } = found;
  const { workspaceId, role, email } = invitation;
  if (email !== null && (!person.verified || person.email !== email))
    return failSignIn(c, "This invitation is for another e-mail address than the provider confirms for you.", subject);
  const db = database(c.env.DB);
  const now = Date.now();
  const member: MemberRow = {
    id: crypto.randomUUID(),
    workspaceId,
    issuer: person.issuer,
    subject: person.subject,
    email: person.verified ? person.email : null,
    role,
    createdAt: now,
    signedInAt: null,
  };
  if (!(await joinBy(db, invitation, member, now))) {
    const isMember = (await findPerson(db, workspaceId, person)) !== undefined;
    return failSignIn(c, isMember ? "You are a member of this workspace. Sign in to it." : GONE, subject);
  }
  const actor = { kind: "member", credentialId: member.id };
  const detail = { member: member.id, subject: person.subject, role };
  await audit(c, { workspaceId, actor, action: "invitation.accepted", targetId: invitation.id, detail });
  return enter(c, member, person);
}

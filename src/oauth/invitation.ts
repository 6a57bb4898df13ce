/** Accepting an invitation: the page of its link, and what follows the sign-in. */
import type { Context } from "hono";
import { html } from "hono/html";
import { audit } from "../access/audit/record.ts";
import { limitAddress } from "../access/auth/limits.ts";
import { sha256 } from "../lib/crypto.ts";
import { database } from "../db/client.ts";
import { isOwnOrigin } from "../http/html.ts";
import { withMountPrefix } from "../http/context.ts";
import { htmlPage } from "../http/html.ts";
import type { App } from "../http/context.ts";
import { findOpenInvitation, joinBy } from "../members/invitation-store.ts";
import { mayMakerStillGive } from "../access/members/rights.ts";
import { findPerson, type MemberRow, type Person } from "../access/members/store.ts";
import { enter } from "../access/oauth/console.ts";
import { readForm } from "./form.ts";
import { depart, refuse } from "./journey.ts";
import { errorPage } from "../access/oauth/pages.ts";
import { providerHost } from "../access/oauth/provider.ts";

const GONE = "This invitation has expired, was accepted, or was taken back. You need a new one.";

/** An invitation that may be accepted now, by the hash of its secret. */
async function openInvitation(c: Context<App>, hash: string) {
  const db = database(c.env.DB);
  const found = await findOpenInvitation(db, hash, Date.now());
  return found && (await mayMakerStillGive(db, found.invitation)) ? found : undefined;
}

/** GET /oauth/openid/invitation?token=…: shows the invitation. Link scanners that open it accept nothing. */
export async function showInvitation(c: Context<App>): Promise<Response> {
  await limitAddress(c, "sign-in");
  const token = c.req.query("token") ?? "";
  const found = await openInvitation(c, sha256(token));
  if (!found) return refuse(c, GONE);
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
  if (!(await openInvitation(c, hash))) return refuse(c, GONE);
  const address = await depart(c, { for: "invitation", hash });
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
  if (!found) return refuse(c, GONE, subject);
  const { invitation } = found;
  const { workspaceId, role, email } = invitation;
  if (email !== null && (!person.verified || person.email !== email))
    return refuse(c, "This invitation is for another e-mail address than the provider confirms for you.", subject);
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
    return refuse(c, isMember ? "You are a member of this workspace. Sign in to it." : GONE, subject);
  }
  const actor = { kind: "member", credentialId: member.id };
  const detail = { member: member.id, subject: person.subject, role };
  await audit(c, { workspaceId, actor, action: "invitation.accepted", targetId: invitation.id, detail });
  return enter(c, member, person);
}

/** Signing in through the OpenID provider: on the consent page, in the console, and by an invitation. */
import type { Context } from "hono";
import * as v from "valibot";
import { limitAddress } from "../auth/limits.ts";
import { scopesOfPermissions, permissionsOfRole } from "../auth/roles.ts";
import { MEMBER } from "../auth/store.ts";
import { database } from "../../db/client.ts";
import { withMountPrefix, type App } from "../../http/context.ts";
import { listMemberships, type Person } from "../members/store.ts";
import { SCOPES } from "../../http/principal.ts";
import { redirect, withRequest, startSignIn } from "./authorize.ts";
import { enterConsole, acceptInvitation } from "./console.ts";
import { readSignInCookie, beginSignIn, failSignIn, discover, describeRefusal, readPerson } from "./provider.ts";
import { errorPage } from "./pages.ts";
import { type Parameters } from "./request.ts";

/** JSON: address -> where its owner may act. `@example.com` matches every address of the domain. */
const Members = v.record(
  v.string(),
  v.strictObject({
    workspace: v.string(),
    scopes: v.optional(v.array(v.picklist(SCOPES)), ["read", "write"]),
  }),
);

/** GET /oauth/openid/start: the same parameters as /oauth/authorize; on to the provider. */
export async function startOpenId(c: Context<App>): Promise<Response> {
  return withRequest(c, new URL(c.req.url).searchParams, async ({ parameters }) => {
    const address = await beginSignIn(c, { for: "consent", parameters });
    return typeof address === "string" ? redirect(c, address) : address;
  });
}

/** GET /oauth/openid/callback: the provider's answer. */
export async function finishOpenId(c: Context<App>): Promise<Response> {
  await limitAddress(c, "sign-in");
  const journey = readSignInCookie(c);
  const expired = "This sign-in has expired. Go back to the application and start again.";
  if (!journey) return errorPage(expired);
  const provider = await discover(c.env).catch(describeRefusal);
  if (typeof provider === "string") return errorPage(provider);
  if (!provider) return errorPage(expired);
  const person = await readPerson(c, provider, journey).catch(describeRefusal);
  if (typeof person === "string") return failSignIn(c, person);
  const { purpose } = journey;
  if (purpose.for === "console") return enterConsole(c, person, purpose);
  if (purpose.for === "invitation") return acceptInvitation(c, person, purpose.hash);
  return continueToConsent(c, person, purpose.parameters);
}

async function continueToConsent(c: Context<App>, person: Person, parameters: Parameters): Promise<Response> {
  const signIn = (await signInOfMember(c, person)) ?? signInByAddress(c.env, person);
  if (!signIn) {
    const reason = "You are signed in, but you are not a member of a workspace on this server.";
    return failSignIn(c, reason, `openid:${person.subject}`);
  }
  await startSignIn(c, signIn);
  return redirect(c, `${withMountPrefix("/oauth/authorize")}?${new URLSearchParams(parameters).toString()}`);
}

/** As the member of the workspace in which the person signed in last. */
async function signInOfMember(c: Context<App>, person: Person) {
  const db = database(c.env.DB);
  const [membership] = await listMemberships(db, person);
  if (!membership) return undefined;
  const { workspaceId, id, role } = membership.member;
  const scopes = scopesOfPermissions(await permissionsOfRole(db, workspaceId, role));
  return { workspaceId, credentialId: MEMBER + id, scopes };
}

/** By `OIDC_MEMBERS`, for people who are no members. */
function signInByAddress(env: Env, { subject, email, verified }: Person) {
  if (email === null || !verified) return undefined;
  const entries = v.parse(Members, JSON.parse(env.OIDC_MEMBERS ?? "{}"));
  const own = (name: string) => (Object.hasOwn(entries, name) ? entries[name] : undefined);
  const person = own(email);
  const domain = own(email.slice(email.lastIndexOf("@")));
  const entry = person ?? domain;
  if (!entry) return undefined;
  // Each person with an address of the domain would manage keys and people.
  const scopes = person ? entry.scopes : entry.scopes.filter((scope) => scope !== "admin");
  return { workspaceId: entry.workspace, credentialId: `openid:${subject}`, scopes };
}

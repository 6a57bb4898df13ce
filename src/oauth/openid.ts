/**
 * Signing in on the consent page through an external OpenID provider, when one is configured (`OIDC_ISSUER`,
 * `OIDC_CLIENT_ID`, `OIDC_CLIENT_SECRET`, `OIDC_MEMBERS`). The provider identifies the person; `OIDC_MEMBERS` gives the
 * workspace and the scopes.
 */
import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import * as openid from "oauth4webapi";
import * as v from "valibot";
import { auditFailure } from "../audit/record.ts";
import { limitAddress, slowDown } from "../auth/limits.ts";
import { SCOPES } from "../principal.ts";
import { logError } from "../http/log.ts";
import { mounted } from "../http/origin.ts";
import type { App } from "../http/types.ts";
import { issuerOf } from "./issuer.ts";
import { redirect, withRequest } from "./authorize.ts";
import { errorPage } from "./pages.ts";
import { type Parameters, PARAMETERS } from "./request.ts";
import { cookieAttributes, cookieName, startSignIn } from "./sign-in.ts";

const MINUTES = 10;
const COOKIE = "weir_openid";

/** JSON: address -> where its owner may act. `@example.com` matches every address of the domain. */
const Members = v.record(
  v.string(),
  v.strictObject({
    workspace: v.string(),
    scopes: v.optional(v.array(v.picklist(SCOPES)), ["read", "write"]),
  }),
);

/** What the browser carries while its person is at the provider. */
const Journey = v.strictObject({
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  parameters: v.partial(v.object(v.entriesFromList(PARAMETERS, v.string()))),
});

/** GET /oauth/openid/start: the same parameters as /oauth/authorize; on to the provider. */
export async function startOpenId(c: Context<App>): Promise<Response> {
  return withRequest(c, new URL(c.req.url).searchParams, async ({ parameters }) => {
    const provider = await discover(c.env).catch(refusal);
    if (typeof provider === "string") return errorPage(provider);
    if (!provider?.as.authorization_endpoint) return errorPage("No OpenID provider is configured here.");
    const { as, client } = provider;
    const journey = {
      state: openid.generateRandomState(),
      nonce: openid.generateRandomNonce(),
      verifier: openid.generateRandomCodeVerifier(),
      parameters,
    };
    const cookie = JSON.stringify(journey);
    // Browsers drop a cookie of more than 4096 bytes.
    if (encodeURIComponent(cookie).length > 3800) return errorPage("This request is too long to sign in this way.");
    setCookie(c, cookieName(c, COOKIE), cookie, { ...cookieAttributes(c), maxAge: MINUTES * 60 });
    const address = new URL(as.authorization_endpoint ?? "");
    const asked = {
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: callback(c),
      scope: "openid email",
      state: journey.state,
      nonce: journey.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(journey.verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
    return redirect(c, address.href);
  });
}

/** GET /oauth/openid/callback: the provider's answer; on to the consent page. */
export async function finishOpenId(c: Context<App>): Promise<Response> {
  await limitAddress(c, "sign-in");
  const journey = readJourney(getCookie(c, cookieName(c, COOKIE)));
  const provider = await discover(c.env).catch(refusal);
  if (typeof provider === "string") return errorPage(provider);
  if (!journey || !provider) return errorPage("This sign-in has expired. Go back to the application and start again.");
  setCookie(c, cookieName(c, COOKIE), "", { ...cookieAttributes(c), maxAge: 0 });
  const person = await whoCame(c, provider, journey).catch(refusal);
  if (typeof person === "string") return refuse(c, person);
  const member = person && memberOf(c.env, person.email);
  if (!member)
    return refuse(
      c,
      "You are signed in, but you are not a member of a workspace on this server.",
      person && `openid:${person.sub}`,
    );
  await startSignIn(c, {
    workspaceId: member.workspace,
    credentialId: `openid:${person.sub}`,
    scopes: member.scopes,
  });
  return redirect(
    c,
    `${mounted("/oauth/authorize")}?${new URLSearchParams(journey.parameters as Parameters).toString()}`,
  );
}

async function refuse(c: Context<App>, reason: string, subject = ""): Promise<Response> {
  await auditFailure(c, { action: "sign_in.failed", targetId: subject, detail: { reason } });
  await slowDown();
  return errorPage(reason);
}

type Provider = NonNullable<Awaited<ReturnType<typeof discover>>>;

async function discover(env: Env) {
  if (!env.OIDC_ISSUER || !env.OIDC_CLIENT_ID) return undefined;
  const issuer = new URL(env.OIDC_ISSUER);
  // A provider on localhost has no certificate.
  const options = { [openid.allowInsecureRequests]: ["localhost", "127.0.0.1"].includes(issuer.hostname) };
  const as = await openid.processDiscoveryResponse(issuer, await openid.discoveryRequest(issuer, options));
  const client: openid.Client = { client_id: env.OIDC_CLIENT_ID };
  const proof = env.OIDC_CLIENT_SECRET ? openid.ClientSecretPost(env.OIDC_CLIENT_SECRET) : openid.None();
  return { as, client, proof, options };
}

/** Who the provider says came: undefined when it does not vouch for their address. */
async function whoCame(
  c: Context<App>,
  { as, client, proof, options }: Provider,
  journey: v.InferOutput<typeof Journey>,
) {
  const answer = openid.validateAuthResponse(as, client, new URL(c.req.url), journey.state);
  const { verifier, nonce } = journey;
  const response = await openid.authorizationCodeGrantRequest(
    as,
    client,
    proof,
    answer,
    callback(c),
    verifier,
    options,
  );
  const result = await openid.processAuthorizationCodeResponse(as, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  const claims = openid.getValidatedIdTokenClaims(result);
  if (!claims || claims.email_verified !== true || typeof claims.email !== "string") return undefined;
  return { email: claims.email.toLowerCase(), sub: claims.sub };
}

/** What the person reads when the provider refused or its answer is not for this browser. */
function refusal(error: unknown): string {
  if (error instanceof openid.AuthorizationResponseError) return "The OpenID provider did not sign you in.";
  logError(error);
  return "The OpenID provider's answer could not be used. Go back to the application and start again.";
}

function memberOf(env: Env, email: string) {
  const members = v.parse(Members, JSON.parse(env.OIDC_MEMBERS ?? "{}"));
  const own = (name: string) => (Object.hasOwn(members, name) ? members[name] : undefined);
  return own(email) ?? own(email.slice(email.lastIndexOf("@")));
}

function readJourney(cookie: string | undefined) {
  try {
    return v.parse(Journey, JSON.parse(cookie ?? ""));
  } catch {
    return undefined;
  }
}

const callback = (c: Context<App>) => `${issuerOf(c)}/oauth/openid/callback`;

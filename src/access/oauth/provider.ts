/**
 * The external OpenID provider, when one is configured (`OIDC_ISSUER`, `OIDC_CLIENT_ID`, `OIDC_CLIENT_SECRET`): authorization code
 * with PKCE, state and nonce. The signature of the ID token is verified by the provider's keys.
 */
import type { Context } from "hono";
import * as openid from "oauth4webapi";
import { logError } from "../../lib/log.ts";
import type { App } from "../../http/context.ts";
import { lowerAddress, normalizeIssuer } from "../members/schema.ts";
import type { Person } from "../members/store.ts";
import { requireIssuer } from "./metadata.ts";
import { getCookie, setCookie } from "hono/cookie";
import * as v from "valibot";
import { auditFailure } from "../audit/record.ts";
import { slowDown } from "../auth/limits.ts";
import { cookieAttributes, cookieName } from "../../http/html.ts";
import { errorPage } from "./pages.ts";
import { PARAMETERS } from "./request.ts";

/** What the browser keeps while its person is at the provider, and what the answer is compared with. */
export interface SignInProofs {
  state: string;
  nonce: string;
  verifier: string;
}

export type Provider = NonNullable<Awaited<ReturnType<typeof discover>>>;

/** The host of the provider by which people can sign in; undefined when none is configured. */
export const providerHost = ({ OIDC_ISSUER, OIDC_CLIENT_ID }: Env): string | undefined =>
  OIDC_ISSUER && OIDC_CLIENT_ID ? new URL(OIDC_ISSUER).host : undefined;

export const newSignInProofs = (): SignInProofs => ({
  state: openid.generateRandomState(),
  nonce: openid.generateRandomNonce(),
  verifier: openid.generateRandomCodeVerifier(),
});

/** The provider and its endpoints; undefined when none is configured. */
export async function discover(env: Env) {
  if (!env.OIDC_ISSUER || !env.OIDC_CLIENT_ID) return undefined;
  const issuer = new URL(env.OIDC_ISSUER);
  // A provider on localhost has no certificate.
  const options = { [openid.allowInsecureRequests]: ["localhost", "127.0.0.1"].includes(issuer.hostname) };
  const as = await openid.processDiscoveryResponse(issuer, await openid.discoveryRequest(issuer, options));
  if (!as.authorization_endpoint) throw new Error("the OpenID provider has no authorization endpoint");
  const client: openid.Client = { client_id: env.OIDC_CLIENT_ID };
  const proof = env.OIDC_CLIENT_SECRET ? openid.ClientSecretPost(env.OIDC_CLIENT_SECRET) : openid.None();
  return { as, client, proof, options, authorization: as.authorization_endpoint };
}

/** Where the browser goes to sign in. */
export async function signInAddress(
  c: Context<App>,
  { authorization, client }: Provider,
  { state, nonce, verifier }: SignInProofs,
): Promise<string> {
  const address = new URL(authorization);
  const asked = {
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: callback(c),
    scope: "openid email",
    state,
    nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  return address.href;
}

/** Reads the person from the provider's answer. @throws if the answer does not match the proofs, or the ID token is not valid for Weir */
export async function readPerson(
  c: Context<App>,
  provider: Provider,
  { state, nonce, verifier }: SignInProofs,
): Promise<Person> {
  const { as, client, proof, options } = provider;
  const answer = openid.validateAuthResponse(as, client, new URL(c.req.url), state);
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
  await openid.validateApplicationLevelSignature(as, response, options);
  const claims = openid.getValidatedIdTokenClaims(result);
  if (!claims) throw new Error("the OpenID provider sent no ID token");
  const { email, email_verified } = claims.email === undefined ? await userInfo(provider, result, claims.sub) : claims;
  const isAddress = typeof email === "string" && email.length <= 320;
  return {
    issuer: normalizeIssuer(claims.iss),
    subject: claims.sub,
    email: isAddress ? lowerAddress(email) : null,
    verified: isAddress && email_verified === true,
  };
}

/** Claims that many providers leave out of ID tokens (OpenID Connect Core, section 5.4). They must be about the same subject. */
async function userInfo(
  { as, client, options }: Provider,
  { access_token }: openid.TokenEndpointResponse,
  subject: string,
): Promise<Partial<openid.UserInfoResponse>> {
  if (as.userinfo_endpoint === undefined) return {};
  const response = await openid.userInfoRequest(as, client, access_token, options);
  return openid.processUserInfoResponse(as, client, subject, response);
}

/** What the person reads when the provider refused or its answer is not for this browser. */
export function describeRefusal(error: unknown): string {
  if (error instanceof openid.AuthorizationResponseError) return "The OpenID provider did not sign you in.";
  logError(error);
  return "The OpenID provider's answer could not be used. Go back to the application and start again.";
}

const callback = (c: Context<App>) => `${requireIssuer(c)}/oauth/openid/callback`;

// From this server to the OpenID provider and back: one cookie, which says what for, for ten minutes and one answer.

const MINUTES = 10;
const COOKIE = "weir_openid";

/** To consent to an application, to use the console, or to accept an invitation. */
const SignInPurpose = v.variant("for", [
  v.strictObject({
    for: v.literal("consent"),
    parameters: v.partial(v.object(v.entriesFromList(PARAMETERS, v.string()))),
  }),
  v.strictObject({ for: v.literal("console"), from: v.string(), workspace: v.optional(v.string()) }),
  v.strictObject({ for: v.literal("invitation"), hash: v.string() }),
]);
export type SignInPurpose = v.InferOutput<typeof SignInPurpose>;

const SignInCookie = v.strictObject({
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  purpose: SignInPurpose,
});

/** Notes why the browser leaves, and says where it goes. A page that says what is wrong when it cannot leave. */
export async function beginSignIn(c: Context<App>, purpose: SignInPurpose): Promise<string | Response> {
  const provider = await discover(c.env).catch(describeRefusal);
  if (typeof provider === "string") return errorPage(provider);
  if (!provider) return errorPage("No OpenID provider is configured here.");
  const proofs = newSignInProofs();
  const cookie = JSON.stringify({ ...proofs, purpose });
  // Browsers drop a cookie of more than 4096 bytes.
  if (encodeURIComponent(cookie).length > 3800) return errorPage("This request is too long to sign in this way.");
  setCookie(c, cookieName(c, COOKIE), cookie, { ...cookieAttributes(c), maxAge: MINUTES * 60 });
  return signInAddress(c, provider, proofs);
}

/** What this browser left for. It is read once. */
export function readSignInCookie(c: Context<App>): v.InferOutput<typeof SignInCookie> | undefined {
  const cookie = getCookie(c, cookieName(c, COOKIE));
  if (cookie === undefined) return undefined;
  setCookie(c, cookieName(c, COOKIE), "", { ...cookieAttributes(c), maxAge: 0 });
  try {
    return v.parse(SignInCookie, JSON.parse(cookie));
  } catch {
    return undefined;
  }
}

/** Notes a sign-in that failed, and says why a second later, so that guessing is slow. */
export async function failSignIn(c: Context<App>, reason: string, subject = ""): Promise<Response> {
  await auditFailure(c, { action: "sign_in.failed", targetId: subject, detail: { reason } });
  await slowDown();
  return errorPage(reason);
}

/** `/oauth/authorize`: check the request, have a person sign in, ask, and send the answer back. */
import { exists, type SQL, sql } from "drizzle-orm";
import { scopesOfPermissions, permissionsOfRole } from "../auth/roles.ts";
import { findKey, hasExpired, MEMBER, unchangedKey, findKeyByHash, findWorkspace } from "../auth/store.ts";
import { type Database, database } from "../../db/client.ts";
import { findMember, unchangedMember } from "../members/store.ts";
import {
  type SignInRow,
  findSignIn,
  insertSignIn,
  takeSignIn,
  type ClientRow,
  findClient,
  insertGrant,
} from "./store.ts";
import { createHmac } from "node:crypto";
import { getCookie, setCookie } from "hono/cookie";
import type { Context } from "hono";
import { audit, auditFailure } from "../audit/record.ts";
import { newSecret, sha256, sameSecret } from "../../lib/crypto.ts";
import { cookieAttributes, cookieName, isOwnOrigin } from "../../http/html.ts";
import { type App, callerAddress, isWithin, withMountPrefix } from "../../http/context.ts";
import {
  type Parameters,
  readForm,
  responseAddress,
  type AuthorizationRequest,
  readRequest,
  RequestFault,
  Untrusted,
} from "./request.ts";
import { isOpen } from "../auth/authenticate.ts";
import { limitAddress, slowDown } from "../auth/limits.ts";
import { LOCAL_WORKSPACE_ID, type Scope, SCOPES } from "../../http/principal.ts";
import { documentClient, isDocumentId } from "./register.ts";
import { requireIssuer } from "./metadata.ts";
import { consentPage, errorPage, signInPage } from "./pages.ts";
import { providerHost } from "./provider.ts";

// What a person signed in with: an API key, a membership, or neither. A grant has no more rights, and ends with it.

export interface SignInSource {
  scopes: readonly string[];
  /** The networks from which it works. None: from anywhere. */
  networks: string[];
  /** Milliseconds since 1970. Null: never. */
  expiresAt: number | null;
  /** A condition: it is as it was read. */
  unchanged: SQL;
}

export async function readSignInSource(db: Database, person: SignInRow): Promise<SignInSource | "ended"> {
  const { workspaceId, credentialId, scopes } = person;
  if (credentialId === "open" || credentialId.startsWith("openid:"))
    return { scopes, networks: [], expiresAt: null, unchanged: sql`true` };
  if (credentialId.startsWith(MEMBER)) {
    const member = await findMember(db, workspaceId, credentialId.slice(MEMBER.length));
    if (!member) return "ended";
    const permissions = await permissionsOfRole(db, workspaceId, member.role);
    const unchanged = exists(unchangedMember(db, member));
    return { scopes: scopesOfPermissions(permissions), networks: [], expiresAt: null, unchanged };
  }
  const key = await findKey(db, workspaceId, credentialId);
  if (!key || hasExpired(key)) return "ended";
  const unchanged = exists(unchangedKey(db, key));
  return { scopes: key.scopes, networks: key.allowedIps ?? [], expiresAt: key.expiresAt, unchanged };
}

// Between signing in and the answer on the consent page: one cookie, one row, one use.

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

/** RFC 6749 section 4.1.2: a code is valid for ten minutes at most. Clients redeem it immediately. */
const CODE_MS = 60_000;

type AuthorizeResponse = Response | Promise<Response>;

/** GET: the sign-in page, or the consent page when this browser has just signed in. */
export async function showAuthorize(c: Context<App>): Promise<Response> {
  return withRequest(c, new URL(c.req.url).searchParams, async (request) => {
    const signIn = await currentSignIn(c);
    return signIn ? askConsent(c, request, signIn) : askSignIn(c, request);
  });
}

/** POST: what a person answered on one of the pages. */
export async function submitAuthorize(c: Context<App>): Promise<Response> {
  if (!isOwnOrigin(c)) return errorPage("The answer did not come from this server's own page.");
  const form = await readForm(c.req.raw);
  return withRequest(c, form, async (request) => {
    switch (form.get("step") ?? "") {
      case "key":
        return signInWithKey(c, request, form.get("api_key") ?? "");
      case "open":
        return signInOpenly(c, request);
      case "allow":
      case "deny":
        return decide(c, request, form);
      default:
        return errorPage("The page sent an answer that is not known here.");
    }
  });
}

/** Runs `next` with the request that the parameters make, or shows or sends on what is wrong with it. */
export async function withRequest(
  c: Context<App>,
  parameters: URLSearchParams,
  next: (request: AuthorizationRequest) => AuthorizeResponse,
): Promise<Response> {
  const origin = requireIssuer(c);
  try {
    return await next(await readRequest(parameters, origin, (id) => findAnyClient(c, id)));
  } catch (error) {
    if (error instanceof Untrusted) return errorPage(error.message);
    if (!(error instanceof RequestFault)) throw error;
    const { redirectUri, code, description, state } = error;
    const address = responseAddress(redirectUri, origin, { error: code, error_description: description }, state);
    // Anyone can register a site: this server must not redirect people there without their consent (RFC 9700, 4.11.2).
    if (redirectUri.startsWith("https:")) return errorPage(description, { address, redirectUri });
    return redirect(c, address);
  }
}

async function findAnyClient(c: Context<App>, id: string): Promise<ClientRow | undefined> {
  return isDocumentId(id) ? documentClient(c, id) : findClient(database(c.env.DB), id);
}

/** Redirects to GET with the same request after a sign-in. */
function continueToConsent(c: Context<App>, { parameters }: AuthorizationRequest): Response {
  return redirect(c, `${withMountPrefix("/oauth/authorize")}?${new URLSearchParams(parameters).toString()}`);
}

function askSignIn(c: Context<App>, request: AuthorizationRequest, fault?: string): AuthorizeResponse {
  return signInPage(request, {
    open: isOpen(c.req.raw, c.env),
    provider: providerHost(c.env),
    fault,
  });
}

async function signInWithKey(c: Context<App>, request: AuthorizationRequest, key: string): Promise<Response> {
  await limitAddress(c, "sign-in");
  const row = await findKeyByHash(database(c.env.DB), sha256(key.trim()));
  if (!row || hasExpired(row)) return refuseSignIn(c, request, "This is not an API key of a workspace on this server.");
  // What such a key allowed would outlive the grant that the key ends with.
  if (row.grantId !== null) {
    return refuseSignIn(c, request, "An application made this API key. Sign in with one of your own.", row);
  }
  if (row.allowedIps && !isWithin(callerAddress(c), row.allowedIps)) {
    return refuseSignIn(c, request, "This API key does not work from this address.", row);
  }
  await startSignIn(c, { workspaceId: row.workspaceId, credentialId: row.id, scopes: row.scopes });
  return continueToConsent(c, request);
}

/** Notes the failed attempt, and answers after a second, so that guessing is slow. */
async function refuseSignIn(
  c: Context<App>,
  request: AuthorizationRequest,
  fault: string,
  key?: { id: string; workspaceId: string },
): Promise<Response> {
  await auditFailure(c, {
    workspaceId: key?.workspaceId ?? null,
    action: "sign_in.failed",
    targetId: key?.id ?? "",
    detail: { client_id: request.client.id, reason: fault },
  });
  await slowDown();
  return askSignIn(c, request, fault);
}

async function signInOpenly(c: Context<App>, request: AuthorizationRequest): Promise<Response> {
  if (!isOpen(c.req.raw, c.env)) return askSignIn(c, request, "This server needs an API key.");
  await startSignIn(c, { workspaceId: LOCAL_WORKSPACE_ID, credentialId: "open", scopes: [...SCOPES] });
  return continueToConsent(c, request);
}

async function askConsent(
  c: Context<App>,
  request: AuthorizationRequest,
  { person, secret }: { person: SignInRow; secret: string },
): Promise<Response> {
  const scopes = grantable(request, person);
  if (scopes.length === 0) return askSignIn(c, request, "This key has none of the scopes that the application needs.");
  const workspace = await findWorkspace(database(c.env.DB), person.workspaceId);
  const source = await readSignInSource(database(c.env.DB), person);
  return consentPage(request, {
    workspace: workspace?.name ?? person.workspaceId,
    scopes,
    networks: source === "ended" ? [] : source.networks,
    proof: signParameters(secret, request.parameters),
  });
}

function grantable(request: AuthorizationRequest, person: SignInRow): Scope[] {
  return request.scopes.filter((scope) => person.scopes.includes(scope));
}

async function decide(c: Context<App>, request: AuthorizationRequest, form: URLSearchParams): Promise<Response> {
  await limitAddress(c, "consent");
  const signIn = await currentSignIn(c);
  if (!signIn) return askSignIn(c, request, "Your sign-in has expired. Sign in again.");
  if (!sameSecret(form.get("proof") ?? "", signParameters(signIn.secret, request.parameters))) {
    const { workspaceId } = signIn.person;
    await auditFailure(c, { workspaceId, action: "grant.refused", targetId: request.client.id });
    await slowDown();
    return errorPage("The answer does not belong to the page that was shown.");
  }
  const source = await readSignInSource(database(c.env.DB), signIn.person);
  if (source === "ended") return askSignIn(c, request, "What you signed in with has ended. Sign in again.");
  const ticked = form.getAll("grant");
  // The key or the role may have been narrowed since the sign-in.
  const mayGive = (scope: Scope) => source.scopes.includes(scope);
  const scopes = grantable(request, signIn.person).filter((scope) => ticked.includes(scope) && mayGive(scope));
  const person = await endSignIn(c, signIn.secret);
  if (!person) return askSignIn(c, request, "This page was answered already. Sign in again.");
  const origin = requireIssuer(c);
  if (form.get("step") === "deny" || scopes.length === 0) {
    const { workspaceId, credentialId } = person;
    const actor = { kind: "person", credentialId };
    await audit(c, { workspaceId, actor, action: "grant.denied", targetId: request.client.id });
    const denied = { error: "access_denied", error_description: "The person did not allow it." };
    return redirect(c, responseAddress(request.redirectUri, origin, denied, request.state));
  }
  const code = await grant(c, request, person, scopes, source);
  if (code === undefined) return askSignIn(c, request, "What you signed in with has changed. Sign in again.");
  return redirect(c, responseAddress(request.redirectUri, origin, { code }, request.state));
}

/** Records the grant, which ends with its source, and returns its authorization code. Undefined when the source has changed. */
async function grant(
  c: Context<App>,
  request: AuthorizationRequest,
  person: SignInRow,
  scopes: Scope[],
  source: SignInSource,
): Promise<string | undefined> {
  const { client, redirectUri, challenge, resource } = request;
  const { workspaceId, credentialId } = person;
  const db = database(c.env.DB);
  const code = newSecret("weir_code_");
  const now = Date.now();
  const id = crypto.randomUUID();
  const inserted = await insertGrant(
    db,
    client,
    {
      id,
      clientId: client.id,
      workspaceId,
      credentialId,
      scopes,
      resource,
      createdAt: now,
      revokedAt: null,
      expiresAt: source.expiresAt,
    },
    {
      hash: sha256(code),
      grantId: id,
      clientId: client.id,
      redirectUri,
      challenge,
      resource,
      expiresAt: now + CODE_MS,
      successor: null,
    },
    source.unchanged,
  );
  if (!inserted) return undefined;
  await audit(c, {
    workspaceId,
    actor: { kind: "person", credentialId },
    action: "grant.created",
    targetId: id,
    detail: { client_id: client.id, client_name: client.name, redirect_uri: redirectUri, scopes, resource },
  });
  return code;
}

/** 303, so that the browser follows with GET and never repeats the form (RFC 9700 section 4.12). */
export function redirect(c: Context<App>, address: string): Response {
  c.header("cache-control", "no-store");
  c.header("referrer-policy", "no-referrer");
  return c.redirect(address, 303);
}

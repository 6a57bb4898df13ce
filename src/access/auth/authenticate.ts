/** From a request's headers to a Principal that may make this call, or an error that says what is missing. */
import type { Context, MiddlewareHandler } from "hono";
import { isKnownOrigin, serverAddress, type App, callerAddress, isWithin } from "../../http/context.ts";
import { guardedBy } from "../../lib/streams.ts";
import { isEventStream, sseFrame } from "../../http/sse.ts";
import { matchedRoutes } from "hono/route";
import { noteAdminKey, noteRefusal } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { Problem } from "../../lib/problem.ts";
import { principalOfOwnRequest } from "../../http/loopback.ts";
import { userRouteScope } from "../users/app.ts";
import { hasUsers, resolveUser } from "../users/handlers.ts";
import { isApiKeyShaped } from "./keys.ts";
import {
  isAdminKey,
  readKeyCredential,
  describeRequest,
  readSessionCredential,
  isStillValid,
  readTokenCredential,
} from "./credentials.ts";
import { type Credential, findWorkspace, noteKeyUse } from "./store.ts";
import { limitKey, countStream, isLong, type OpenStream, reserveStream, takeTurn } from "./limits.ts";
import { LOCAL_WORKSPACE_ID, may, ORGANIZATION_ID, type Principal, type Scope, SCOPES } from "../../http/principal.ts";
import {
  isPublic,
  changesState,
  mayCall,
  permissionsOfAccess,
  type RouteAccess,
  accessOf,
  scopeOfAccess,
} from "../../http/route.ts";
import { sha256 } from "../../lib/crypto.ts";
import { isFromOwnPage, sessionSecret, noteSessionUse } from "./sessions.ts";

/** Characters of the id of an assistant in an address. A longer one names none, and the header of a refusal has room for few. */
const LONGEST_ID = 300;
const RESOURCE = new RegExp(`^/(?:mcp(?:/traces)?|(?:a2a|agui)/[^/]{1,${LONGEST_ID}})(?=/|$)`);

/**
 * The resource with metadata of its own (RFC 9728) that a path is in: MCP, the traces over MCP, or an assistant over A2A or AG-UI.
 * Elsewhere "", the whole server.
 */
export function matchResource(path: string): string {
  return RESOURCE.exec(path)?.[0] ?? "";
}

/** Whether a token for this resource (RFC 8707) works at the path. A resource with metadata of its own has no other one below it. */
export function isInResource(path: string, resource: string): boolean {
  if (path !== resource && !path.startsWith(`${resource}/`)) return false;
  return matchResource(resource) !== resource || matchResource(path) === resource;
}

/** The `WWW-Authenticate` of a 401 or 403: where a client finds out how to get a token (RFC 6750, RFC 9728 section 5.1). */
export function challenge(c: Context<App>, parameters: Record<string, string> = {}): Record<string, string> {
  const { pathname, searchParams } = new URL(c.req.url);
  const metadata = `${serverAddress(c)}/.well-known/oauth-protected-resource${matchResource(pathname)}`;
  // Clients request this scope rather than those of the metadata, which are for reading (MCP, scope selection strategy).
  const writes = matchResource(pathname) === "/mcp/traces" && searchParams.get("write") === "true";
  const all = {
    ...(writes && { scope: "read write" }),
    ...parameters,
    ...(isKnownOrigin(c) && { resource_metadata: metadata }),
  };
  const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  return { "www-authenticate": `Bearer ${text.join(", ")}`.trim() };
}

// An answer that lasts longer than the check of its credential ends when the credential does.

const message = "The credential of this stream has ended.";
const ERROR_EVENT = sseFrame({ event: "error", data: JSON.stringify({ error: "Unauthorized", message }) });
/** What `/wait` and `/join` answer for a run that failed. */
const ERROR_RESULT = JSON.stringify({ __error__: { error: "Unauthorized", message } });

/**
 * The same answer, which ends with an error as soon as `holds`, called every five seconds, is false. `onEnd` is called once,
 * when the answer has ended, failed or lost its reader.
 */
export function endUnless(response: Response, holds: () => Promise<boolean>, onEnd: () => void): Response {
  const last = new TextEncoder().encode(isEventStream(response) ? ERROR_EVENT : ERROR_RESULT);
  return guardedBy(response, { holds, onEnd, last });
}

/** How Weir's own access tokens begin; other credentials go to the deployment's own `Auth`, if any. */
const TOKEN_PREFIX = "weir_at_";
const TRUNCATE = "/internal/truncate";
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Requires a Principal with the right scope on every route but the public ones. */
export const authenticate: MiddlewareHandler<App> = async (c, next) => {
  if (isPublic(c.req.path, c.req.method)) return next();
  const rule = accessOf(c.req.method, c.req.path, changesState(c.req.raw));
  if (rule?.access === "deployment") {
    c.set("principal", { ...EVERYTHING, workspaceId: "", hash: checkAdminKey(c) });
    noteAdminKey(c, null);
    return next();
  }
  const inner = principalOfOwnRequest(c.req.raw);
  // It is part of a run or a request that has already been counted.
  if (inner) {
    checkScope(c, inner, rule);
    c.set("principal", requireOwnWorkspace(c, inner, rule));
    return next();
  }
  const principal = await authenticateCaller(c, rule);
  await limitKey(c.env, principal);
  checkScope(c, principal, rule);
  c.set("principal", principal);
  const endTurn = await takeTurn(c.req.raw, principal);
  try {
    const stream = reserveStream(c.req.raw, principal);
    await next();
    // Such an answer lasts longer than the check above.
    if (isLong(c.req.raw, c.res)) watch(c, principal, stream ?? countStream(principal));
    else stream?.end();
  } finally {
    endTurn();
  }
};

/** Makes the answer end when the credential does. */
function watch(c: Context<App>, principal: Principal, stream: OpenStream): void {
  const presented = describeRequest(c.req.raw, principal);
  const holds = async () => {
    stream.seen();
    return isStillValid(c.env, principal, presented);
  };
  const answer = endUnless(c.res, holds, stream.end);
  if (answer !== c.res) c.res = answer;
}

/**
 * A header that names the caller. The Python SDK of LangSmith sends its key twice, in two spellings of the header's name, and a
 * platform joins the two values with a comma. The same value several times is one value; different values stay joined and fit nothing.
 */
function readHeader(c: Context<App>, name: string): string | undefined {
  const value = c.req.header(name);
  const [first, ...others] = value?.split(",").map((one) => one.trim()) ?? [];
  return others.every((one) => one === first) ? first : value;
}

/** Requires the deployment's admin key, with which workspaces and first keys are made. Returns its hash. */
function checkAdminKey(c: Context<App>): string {
  const key = readHeader(c, "x-api-key");
  if (key === undefined) throw new Problem(401, "Send the deployment's admin key in X-API-Key.");
  const hash = sha256(key);
  if (isAdminKey(hash, c.env)) return hash;
  noteRefusal(c);
  throw new Problem(403, "This call needs the deployment's admin key.");
}

function checkScope(c: Context<App>, principal: Principal, rule: RouteAccess | undefined): void {
  if (rule && rule.access !== "deployment" && mayCall(principal, rule.access)) return;
  if (rule) {
    const scope = scopeOfAccess(rule.access);
    if (principal.scopes.includes(scope as Scope) && rule.access !== "deployment") {
      const needed = permissionsOfAccess(rule.access).join(" or ");
      throw new Problem(403, `The role "${principal.role}" of this credential lacks the permission ${needed}.`);
    }
    throw new Problem(403, `This credential lacks the scope "${scope}".`, {
      headers: challenge(c, { error: "insufficient_scope", scope }),
    });
  }
  const access = userRouteScope(c);
  const ownRoutes = { read: "assistants.read", write: "runs.create" } as const;
  if ((access === "read" || access === "write") && may(principal, ownRoutes[access])) {
    c.set("appOnly", true);
    return;
  }
  // An unknown path gets a 404. A route that is missing from the table is refused.
  const routed = matchedRoutes(c).some(({ method, path }) => method !== "ALL" || path !== "/*");
  if (routed) throw new Problem(403, "No scope allows this call.");
}

async function authenticateCaller(c: Context<App>, rule: RouteAccess | undefined): Promise<Principal> {
  const bearer = c.req.header("authorization");
  const key = readHeader(c, "x-api-key");
  // Test suites empty a local server before they sign in, also one with an `Auth` of its own.
  const isBare = bearer === undefined && key === undefined;
  if (isBare && c.req.path === TRUNCATE && isOpen(c.req.raw, c.env)) return requireOwnWorkspace(c, OPEN, rule);
  // With an `Auth` of the deployment's own, a key that is not Weir's is for its handler, which may ignore it.
  if (key && (!(await hasUsers()) || (await isKnownKey(c.env, key)))) return authenticateKey(c, key, rule);
  const member = isBare ? await authenticateSession(c, rule) : undefined;
  if (member) return member;
  if ((await hasUsers()) && !bearer?.includes(TOKEN_PREFIX)) return authenticateUser(c, rule);
  if (bearer !== undefined) return authenticateToken(c, bearer, rule);
  if (isOpen(c.req.raw, c.env)) return requireOwnWorkspace(c, OPEN, rule);
  throw new Problem(401, "Send an API key in the X-API-Key header, or an access token in Authorization: Bearer.", {
    headers: challenge(c),
  });
}

async function isKnownKey(env: Env, key: string): Promise<boolean> {
  const hash = sha256(key);
  return isAdminKey(hash, env) || (await readKeyCredential(env, hash)) !== undefined;
}

async function authenticateKey(c: Context<App>, key: string, rule: RouteAccess | undefined): Promise<Principal> {
  const hash = sha256(key);
  if (isAdminKey(hash, c.env)) return adminPrincipal(c, rule, hash);
  const credential = isApiKeyShaped(key) ? await readKeyCredential(c.env, hash) : undefined;
  if (!credential) {
    noteRefusal(c);
    throw new Problem(401, "The API key is not known. It may have been deleted.", { headers: challenge(c) });
  }
  const { principal, expiresAt } = credential;
  if (expiresAt <= Date.now()) throw new Problem(401, "The API key has expired.", { headers: challenge(c) });
  if (principal.allowedIps && !isWithin(callerAddress(c), principal.allowedIps)) {
    noteRefusal(c, credential.principal);
    throw new Problem(403, "This API key does not work from this address.");
  }
  noteUse(c, credential);
  return requireOwnWorkspace(c, principal, rule);
}

/** The member whose browser has a session here. Undefined when it has none, or one that has ended. */
async function authenticateSession(c: Context<App>, rule: RouteAccess | undefined): Promise<Principal | undefined> {
  const secret = sessionSecret(c);
  const credential = secret && (await readSessionCredential(c.env, sha256(secret)));
  if (!credential || credential.expiresAt <= Date.now()) return undefined;
  if (!isFromOwnPage(c)) throw new Problem(403, "A session is for the pages of this server only. Use an API key.");
  noteUse(c, credential);
  return requireOwnWorkspace(c, credential.principal, rule);
}

const HOUR_MS = 3_600_000;

/** Records the use of a key or session, at most once an hour. The request does not wait for it. */
function noteUse(c: Context<App>, credential: Credential): void {
  const now = Date.now();
  if (now - (credential.lastUsedAt ?? 0) < HOUR_MS) return;
  credential.lastUsedAt = now;
  const { kind, credentialId, hash = "" } = credential.principal;
  const db = database(c.env.DB);
  const noted =
    kind === "member" ? noteSessionUse(db, hash, now, now - HOUR_MS) : noteKeyUse(db, credentialId, now, now - HOUR_MS);
  c.executionCtx.waitUntil(noted.catch((error: unknown) => logError(error, { while: "noting a use" })));
}

async function authenticateUser(c: Context<App>, rule: RouteAccess | undefined): Promise<Principal> {
  const user = await resolveUser(c.req.raw);
  const workspaceId = c.env.AUTH_WORKSPACE_ID?.toLowerCase() ?? LOCAL_WORKSPACE_ID;
  return requireOwnWorkspace(
    c,
    { workspaceId, scopes: ["read", "write"], kind: "user", credentialId: user.identity, user },
    rule,
  );
}

async function authenticateToken(c: Context<App>, header: string, rule: RouteAccess | undefined): Promise<Principal> {
  const refused = (detail: string) =>
    new Problem(401, detail, { headers: challenge(c, { error: "invalid_token", error_description: detail }) });
  const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(header)?.[1];
  if (!token) throw refused("Authorization must be: Bearer and an access token.");
  const hash = sha256(token);
  const credential = await readTokenCredential(c.env, hash);
  if (!credential) {
    noteRefusal(c);
    throw refused("The access token is not known. It may have been revoked.");
  }
  if (credential.expiresAt <= Date.now()) throw refused("The access token has expired.");
  const { principal, resource } = credential;
  if (principal.allowedIps && !isWithin(callerAddress(c), principal.allowedIps)) {
    noteRefusal(c, principal);
    throw new Problem(403, "This access token does not work from this address.");
  }
  if (resource !== null && !isInResource(c.req.path, resource)) {
    throw refused("The access token is for another resource of this server.");
  }
  requireWorkspaceHeader(c, rule);
  return requireOwnWorkspace(c, principal, rule);
}

/**
 * Specification section 5: a bearer token comes with `x-tenant-id`, or with `x-organization-id` for calls about the
 * organization. A token is for one workspace, so only the platform API requires the header: MCP and A2A clients send
 * neither.
 */
function requireWorkspaceHeader(c: Context<App>, rule: RouteAccess | undefined): void {
  if (!/^\/api\/v\d\//.test(c.req.path) || c.req.header("x-tenant-id") !== undefined) return;
  if (rule?.organization && c.req.header("x-organization-id") !== undefined) return;
  const names = rule?.organization ? "X-Organization-Id or X-Tenant-Id" : "X-Tenant-Id";
  throw new Problem(400, `With an access token, name what to act in with ${names}.`);
}

/** The principal, if the headers name its workspace or none. */
function requireOwnWorkspace(c: Context<App>, principal: Principal, rule: RouteAccess | undefined): Principal {
  const tenant = readHeader(c, "x-tenant-id")?.toLowerCase();
  if (tenant !== undefined && tenant !== principal.workspaceId.toLowerCase()) {
    throw new Problem(403, "X-Tenant-Id is not the workspace of this credential.");
  }
  checkOrganization(c, rule);
  return principal;
}

function checkOrganization(c: Context<App>, rule: RouteAccess | undefined): void {
  const organization = c.req.header("x-organization-id");
  if (!rule?.organization || organization === undefined || organization === ORGANIZATION_ID) return;
  throw new Problem(403, "X-Organization-Id is not the organization of this credential.");
}

/**
 * Keyless calls are for local development only: `AUTH=open` and a loopback host, both; and not from a page of
 * another site that a browser on this machine has open. A page on any loopback name is this machine's own: to a browser
 * `localhost` and `127.0.0.1` are two sites, so an `Origin` decides before `Sec-Fetch-Site`.
 */
export function isOpen(request: Request, env: Env): boolean {
  if (env.AUTH !== "open" || !LOOPBACK.has(new URL(request.url).hostname)) return false;
  const { headers } = request;
  const origin = headers.get("origin");
  if (origin !== null) return LOOPBACK.has(URL.parse(origin)?.hostname ?? "");
  return headers.get("sec-fetch-site") !== "cross-site" || headers.get("sec-fetch-mode") === "navigate";
}

const OPEN: Principal = { workspaceId: LOCAL_WORKSPACE_ID, scopes: SCOPES, kind: "open", credentialId: "open" };

const EVERYTHING = { scopes: SCOPES, kind: "admin", credentialId: "admin" } as const;

async function adminPrincipal(c: Context<App>, rule: RouteAccess | undefined, hash: string): Promise<Principal> {
  const everything = { ...EVERYTHING, hash };
  const tenant = readHeader(c, "x-tenant-id")?.toLowerCase();
  if (tenant === undefined) {
    if (!rule?.organization) {
      throw new Problem(403, "With the admin key, name the workspace to act in with X-Tenant-Id.");
    }
    checkOrganization(c, rule);
    return { ...everything, workspaceId: "" };
  }
  if (!(await findWorkspace(database(c.env.DB), tenant))) throw new Problem(403, "X-Tenant-Id names no workspace.");
  noteAdminKey(c, tenant);
  return { ...everything, workspaceId: tenant };
}

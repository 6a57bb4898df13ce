/** An authorization request (RFC 6749 section 4.1.1, RFC 7636, RFC 8707): parsed from its parameters. */
import { type Scope, SCOPES } from "../../http/principal.ts";
import { type OAuthErrorCode, OAuthError } from "./errors.ts";
import { isRegistered } from "./redirect-uri.ts";
import type { ClientRow } from "./store.ts";
import { readBody } from "../../http/validate.ts";

/** The parameters that make up a request; others are ignored. */
export const PARAMETERS = [
  "response_type",
  "response_mode",
  "client_id",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
  "resource",
] as const;

export type Parameters = Partial<Record<(typeof PARAMETERS)[number], string>>;

export interface AuthorizationRequest {
  client: ClientRow;
  redirectUri: string;
  state: string | undefined;
  challenge: string;
  scopes: Scope[];
  /** The path under which the tokens are to work; null is the whole server. */
  resource: string | null;
  /** As they came, to carry them through the pages. */
  parameters: Parameters;
}

/** A request that cannot be trusted to redirect: shown to the person, never sent on (RFC 6749 section 4.1.2.1). */
export class Untrusted extends Error {}

/** An error that is sent to the client at its (registered) redirect URI. */
export class RequestFault extends Error {
  constructor(
    readonly redirectUri: string,
    readonly code: OAuthErrorCode,
    readonly description: string,
    readonly state: string | undefined,
  ) {
    super(description);
  }
}

/**
 * Reads and checks a request. `origin` is this server's own; `find` returns the client with an id.
 * @throws Untrusted, RequestFault
 */
export async function readRequest(
  given: URLSearchParams,
  origin: string,
  find: (id: string) => Promise<ClientRow | undefined>,
): Promise<AuthorizationRequest> {
  const parameters: Parameters = {};
  const repeated = PARAMETERS.filter((name) => given.getAll(name).length > 1);
  for (const name of PARAMETERS) {
    const value = given.get(name);
    if (value) parameters[name] = value;
  }

  if (repeated.includes("client_id") || repeated.includes("redirect_uri")) {
    throw new Untrusted("The request names its client or redirect address twice.");
  }
  const client = parameters.client_id ? await find(parameters.client_id) : undefined;
  if (!client) throw new Untrusted("The application is not registered here. It may have to register again.");
  const redirectUri = parameters.redirect_uri;
  if (!redirectUri || !isRegistered(redirectUri, client.redirectUris)) {
    throw new Untrusted("The address to return to is not one that the application registered.");
  }

  const state = repeated.includes("state") ? undefined : parameters.state;
  const fault = (code: OAuthErrorCode, description: string) => new RequestFault(redirectUri, code, description, state);
  if (repeated.includes("resource")) throw fault("invalid_target", "Request one resource.");
  if (repeated.length > 0) throw fault("invalid_request", `${repeated[0]} is given twice.`);
  if ((state?.length ?? 0) > 4096) throw fault("invalid_request", "state is longer than 4096 characters.");
  if (parameters.response_type !== "code") throw fault("unsupported_response_type", "response_type must be code.");
  if ((parameters.response_mode ?? "query") !== "query") throw fault("invalid_request", "response_mode must be query.");
  const challenge = parameters.code_challenge;
  if (!challenge) throw fault("invalid_request", "PKCE is required: send code_challenge.");
  // An absent method means plain (RFC 7636 section 4.3), which is not offered.
  if (parameters.code_challenge_method !== "S256")
    throw fault("invalid_request", "code_challenge_method must be S256.");
  if (!/^[\w-]{43}$/.test(challenge)) throw fault("invalid_request", "code_challenge must be 43 base64url characters.");
  const scopes = readScopes(parameters.scope ?? client.scope ?? undefined);
  if (scopes.length === 0) throw fault("invalid_scope", `scope must name one of: ${SCOPES.join(" ")}.`);
  const resource = readResource(parameters.resource, origin);
  if (resource === undefined) throw fault("invalid_target", "resource must be an address of this server.");
  return { client, redirectUri, state, challenge, scopes, resource, parameters };
}

/** The known scopes among the requested ones; reading and writing when none are requested. */
function readScopes(scope = "read write"): Scope[] {
  const asked = new Set(scope.split(" "));
  return SCOPES.filter((name) => asked.has(name));
}

/** RFC 8707: the path of a resource on this server, null for all of it, undefined when it is not on this server. */
export function readResource(resource: string | undefined, issuer: string): string | null | undefined {
  if (resource === undefined) return null;
  const url = URL.parse(resource);
  const { origin, pathname: prefix } = new URL(`${issuer}/`);
  if (!url || url.origin !== origin || resource.includes("#") || url.username || url.password) return undefined;
  if (!`${url.pathname}/`.startsWith(prefix)) return undefined;
  return url.pathname.slice(prefix.length - 1).replace(/\/+$/, "") || null;
}

/** The redirect URI with an answer's parameters (RFC 6749 section 4.1.2; `iss` by RFC 9207 against mix-up). */
export function responseAddress(
  redirectUri: string,
  origin: string,
  answer: { code: string } | { error: string; error_description: string },
  state: string | undefined,
): string {
  const parameters = new URLSearchParams({ ...answer, ...(state === undefined ? {} : { state }), iss: origin });
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${parameters.toString()}`;
}

// Form bodies of the OAuth endpoints.

const LIMIT = 32 * 1024;

/** The body as form fields; 415 in OAuth's dialect for another type, 413 past 32 KB. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new OAuthError("invalid_request", "Send the parameters as application/x-www-form-urlencoded.");
  }
  return new URLSearchParams(new TextDecoder().decode(await readBody(request, LIMIT)));
}

/** One field: undefined when absent or empty; RFC 6749 section 3.2 refuses a repeated one. */
export function readField(form: URLSearchParams, name: string): string | undefined {
  if (form.getAll(name).length > 1) throw new OAuthError("invalid_request", `${name} is given twice.`);
  return form.get(name) || undefined;
}

export function readRequiredField(form: URLSearchParams, name: string): string {
  const value = readField(form, name);
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is missing.`);
  return value;
}

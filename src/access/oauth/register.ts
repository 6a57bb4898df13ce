/** RFC 7591: from what a client says about itself to a client, or the reason why not. Public clients only. */
import * as v from "valibot";
import { isObject, decodeJson } from "../../lib/json.ts";
import { newSecret } from "../../lib/crypto.ts";
import { OAuthError } from "./errors.ts";
import { judgeRedirectUri } from "./redirect-uri.ts";
import { ClientMetadata, RULES } from "./schema.ts";
import type { ClientRow } from "./store.ts";
import type { Context } from "hono";
import { limitAddress } from "../auth/limits.ts";
import { webhookFault } from "../../http/addresses.ts";
import { readWithin } from "../../lib/bytes.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { requireIssuer } from "./metadata.ts";
import { Untrusted } from "./request.ts";

/** Specification section 8: bytes of a registration's body. */
export const REGISTRATION_LIMIT = 8 * 1024;

const GRANTS = ["authorization_code", "refresh_token"];

/** The client that `body` (parsed JSON) describes, with the server's substitutions made. Throws OAuthError. */
export function newClient(body: unknown, now: number, id = newSecret("weir_client_")): ClientRow {
  const metadata = readMetadata(body);
  if (metadata.token_endpoint_auth_method !== "none") {
    throw invalid("Only public clients are registered: token_endpoint_auth_method must be none.");
  }
  // Clients that have read no metadata also request grant types of other servers. Unsupported types are left out.
  const grantTypes = GRANTS.filter((type) => metadata.grant_types.includes(type));
  if (!grantTypes.includes("authorization_code")) throw invalid("grant_types must include authorization_code.");
  if (!metadata.response_types.includes("code")) throw invalid("response_types must include code.");
  return {
    id,
    name: metadata.client_name || null,
    clientUri: metadata.client_uri || null,
    logoUri: metadata.logo_uri || null,
    policyUri: metadata.policy_uri || null,
    tosUri: metadata.tos_uri || null,
    scope: metadata.scope ?? null,
    redirectUris: usableRedirectUris(metadata.redirect_uris ?? []),
    grantTypes,
    responseTypes: ["code"],
    createdAt: now,
    usedAt: null,
  };
}

/** Specification section 2.2. Absent fields are left out: clients refuse null and empty strings. */
export function toWireClient(client: ClientRow) {
  return {
    client_id: client.id,
    client_id_issued_at: Math.floor(client.createdAt / 1000),
    client_name: client.name ?? undefined,
    client_uri: client.clientUri ?? undefined,
    logo_uri: client.logoUri ?? undefined,
    policy_uri: client.policyUri ?? undefined,
    tos_uri: client.tosUri ?? undefined,
    grant_types: client.grantTypes,
    redirect_uris: client.redirectUris,
    response_types: client.responseTypes,
    token_endpoint_auth_method: "none",
  };
}

function readMetadata(body: unknown): ClientMetadata {
  if (!isObject(body)) throw invalid("Send a JSON object.");
  // RFC 7591 section 2: null is the same as absent.
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const result = v.safeParse(ClientMetadata, given);
  if (result.success) return result.output;
  const field = result.issues[0].path?.[0]?.key as keyof typeof RULES;
  const rule = `${field} ${RULES[field]}.`;
  if (field === "redirect_uris") throw new OAuthError("invalid_redirect_uri", rule);
  throw invalid(rule);
}

/** Refuses the registration for one dangerous URI; leaves out harmless ones that cannot be used here. */
function usableRedirectUris(uris: string[]): string[] {
  if (uris.length === 0) throw new OAuthError("invalid_redirect_uri", "Give at least one redirect URI.");
  const judged = uris.map((uri, index) => ({ uri, index, ...judgeRedirectUri(uri) }));
  const allowed = judged.filter(({ verdict }) => verdict === "allowed");
  const fault = judged.find(({ verdict }) => verdict === "refused") ?? (allowed.length === 0 ? judged[0] : undefined);
  if (fault) throw new OAuthError("invalid_redirect_uri", `redirect_uris[${fault.index}] ${fault.reason}.`);
  return [...new Set(allowed.map(({ uri }) => uri))];
}

function invalid(description: string): OAuthError {
  return new OAuthError("invalid_client_metadata", description);
}

// Clients that register nowhere: a client id that is an https URL names a JSON document with the client's metadata
// (draft-ietf-oauth-client-id-metadata-document, "CIMD"). Anyone may send such an id, so fetches are limited in
// address, size and time, and nothing is stored before a person allows the client.

/** Bytes of a document, after decompression. The draft recommends at least 5 KB. */
const DOCUMENT_LIMIT = 8 * 1024;
/** From the request to the last byte. */
const FETCH_MS = 5_000;
/** How long a document without `Cache-Control: max-age` is kept, and how long any is kept at most. */
const DEFAULT_SECONDS = 300;
const MAX_SECONDS = 3600;
const MAX_KEPT = 500;

/** By client id. A document is the same for every workspace: its content depends on nothing but the URL. */
const kept = new Map<string, { client: ClientRow; expiresAt: number }>();

/** Whether a client id is the URL of a metadata document. Ids that this server makes never are. */
export const isDocumentId = (id: string): boolean => id.startsWith("https://");

/**
 * The client that the document at `id` describes.
 * @throws Untrusted when the URL or the document cannot be used. @throws Problem 429 past the limit of fetches.
 */
export async function documentClient(c: Context<App>, id: string): Promise<ClientRow> {
  const fault = idFault(id, new URL(requireIssuer(c)).origin, c.env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw new Untrusted(`The address that identifies the application ${fault}.`);
  const known = kept.get(id);
  if (known && known.expiresAt > Date.now()) return known.client;
  await limitAddress(c, "client-document");
  const { body, seconds } = await fetchDocument(id);
  const client = readDocument(id, body);
  cacheClient(id, client, seconds);
  return client;
}

/** What is wrong with the URL. The draft, section 3, and no URL that a parser would repair. */
function idFault(id: string, origin: string, allowPrivate: boolean): string | undefined {
  const url = URL.parse(id);
  if (id.length > 2048) return "is longer than 2048 characters";
  if (!url || id.includes("#")) return "must be a URL without a fragment";
  const fault = webhookFault(id, allowPrivate);
  if (fault) return fault;
  // Also excludes dot segments, which the parser resolves, and an "@" before the host.
  if (url.href !== id) return "must be written in its canonical form";
  if (url.pathname === "/") return "must have a path";
  return url.origin === origin ? "must not be on this server" : undefined;
}

async function fetchDocument(id: string): Promise<{ body: unknown; seconds: number }> {
  const signal = AbortSignal.timeout(FETCH_MS);
  const headers = { accept: "application/json" };
  // A redirect may lead to an address that was not checked.
  const response = await fetch(id, { headers, redirect: "manual", signal }).catch(() => undefined);
  if (!response) throw new Untrusted("The server that describes the application did not answer.");
  const isJson = /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(response.headers.get("content-type") ?? "");
  if (response.status !== 200 || !isJson) {
    await response.body?.cancel();
    throw new Untrusted("The address that identifies the application does not answer with a JSON document.");
  }
  const body = decode(await readDocumentBody(response, signal));
  if (body === undefined) throw new Untrusted("The document that describes the application is not valid JSON.");
  return { body, seconds: secondsToKeep(response.headers.get("cache-control") ?? "") };
}

async function readDocumentBody(response: Response, signal: AbortSignal): Promise<Uint8Array> {
  const bytes = await readWithin(response, DOCUMENT_LIMIT, signal).catch(() => {
    const what = signal.aborted ? "took too long" : "could not be read";
    throw new Untrusted(`The document that describes the application ${what}.`);
  });
  if (!bytes)
    throw new Untrusted(`The document that describes the application is larger than ${DOCUMENT_LIMIT} bytes.`);
  return bytes;
}

function decode(bytes: Uint8Array): unknown {
  try {
    return decodeJson(bytes);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** The draft, section 4: the document names its own URL, and holds no secret. The rest is as in a registration. */
function readDocument(id: string, body: unknown): ClientRow {
  const invalid = (rule: string) =>
    new Untrusted(`The document that describes the application cannot be used: ${rule}`);
  if (!isObject(body) || body.client_id !== id) throw invalid("its client_id must be its own address.");
  if ("client_secret" in body || "client_secret_expires_at" in body) throw invalid("it must hold no secret.");
  try {
    return newClient(body, Date.now(), id);
  } catch (error) {
    if (error instanceof OAuthError) throw invalid(error.description);
    throw error;
  }
}

/** RFC 9111, as far as it matters here. */
function secondsToKeep(cacheControl: string): number {
  if (/(^|[\s,])(no-store|no-cache)(?=[\s,=]|$)/i.test(cacheControl)) return 0;
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(cacheControl)?.[1];
  return Math.min(maxAge === undefined ? DEFAULT_SECONDS : Number(maxAge), MAX_SECONDS);
}

/** Only valid documents are kept: an error must not outlive its cause. */
function cacheClient(id: string, client: ClientRow, seconds: number): void {
  kept.delete(id);
  if (seconds === 0) return;
  const [oldest] = kept.keys();
  if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(id, { client, expiresAt: Date.now() + seconds * 1000 });
}

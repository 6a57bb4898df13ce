/** RFC 7591: from what a client says about itself to a client, or the reason why not. Public clients only. */
import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { newSecret } from "../../lib/crypto.ts";
import { OAuthError } from "./errors.ts";
import { judgeRedirectUri } from "./redirect-uri.ts";
import { ClientMetadata, RULES } from "./schema.ts";
import type { ClientRow } from "./store.ts";

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

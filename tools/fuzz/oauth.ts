/** Registration, authorization, tokens and metadata: calls that need no credential. */
import type { Dice } from "./dice.ts";
import { someHeaders } from "./headers.ts";
import { hostileObject, hostileText, hostileValue } from "./hostile.ts";
import { encodeBody } from "./operations.ts";
import type { FuzzRequest } from "./request.ts";
import { redirectUri } from "./texts.ts";
import type { Actor } from "./world.ts";

export function oauthRequest(dice: Dice, actor: Actor): FuzzRequest {
  const headers = { ...someHeaders(dice) };
  const request = { kind: "oauth", actor: actor.name };
  const path = dice.pick([
    "/oauth/register",
    "/oauth/authorize",
    "/oauth/authorize",
    "/oauth/token",
    "/oauth/revoke",
    "/oauth/introspect",
    "/oauth/openid/start",
    "/oauth/openid/callback",
    "/oauth/openid/sign-in",
    "/oauth/openid/sign-out",
    "/oauth/openid/invitation",
    "/.well-known/oauth-protected-resource/",
    "/.well-known/openid-configuration/",
  ]);
  if (path === "/oauth/register") {
    const client = {
      client_name: hostileText(dice),
      redirect_uris: dice.some(3, () => redirectUri(dice)),
      grant_types: dice.some(3, () =>
        dice.pick(["authorization_code", "refresh_token", "password", hostileText(dice)]),
      ),
      response_types: ["code"],
      token_endpoint_auth_method: dice.pick(["none", "client_secret_basic", hostileText(dice)]),
      scope: dice.pick(["read write", hostileText(dice)]),
      ...hostileObject(dice),
    };
    return {
      ...request,
      method: "POST",
      path,
      ...encodeBody(dice, dice.chance(0.1) ? hostileValue(dice) : client, headers),
    };
  }
  const fields = new URLSearchParams();
  const all: Record<string, () => string> = {
    response_type: () => dice.pick(["code", "token", hostileText(dice)]),
    client_id: () =>
      dice.pick([actor.known.id(dice, "client_id"), redirectUri(dice), "https://client.example/meta.json"]),
    redirect_uri: () => redirectUri(dice),
    code_challenge: () => dice.pick(["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", hostileText(dice)]),
    code_challenge_method: () => dice.pick(["S256", "plain"]),
    scope: () => dice.pick(["read", "read write admin", hostileText(dice)]),
    state: () => hostileText(dice),
    resource: () => dice.pick(["/mcp", redirectUri(dice)]),
    grant_type: () => dice.pick(["authorization_code", "refresh_token", "client_credentials", hostileText(dice)]),
    code: () => hostileText(dice),
    code_verifier: () => hostileText(dice),
    refresh_token: () => hostileText(dice),
    token: () => hostileText(dice),
    step: () => dice.pick(["key", "allow", "deny", hostileText(dice)]),
    api_key: () => hostileText(dice),
    proof: () => hostileText(dice),
    grant: () => dice.pick(["read", hostileText(dice)]),
    iss: () => redirectUri(dice),
  };
  for (const [name, make] of Object.entries(all)) if (dice.chance(0.6)) fields.append(name, make());
  if (dice.chance(0.1)) fields.append(dice.pick(Object.keys(all)), hostileText(dice));
  const text = fields.toString();
  if (/token|revoke|introspect|sign-out/.test(path) || (/authorize|invitation/.test(path) && dice.chance(0.5))) {
    const form = { "content-type": "application/x-www-form-urlencoded", ...headers };
    return {
      ...request,
      method: "POST",
      path,
      headers: {
        ...form,
        ...(dice.chance(0.2) && { authorization: `Basic ${hostileText(dice).replaceAll(/[^!-~]/g, "")}` }),
      },
      body: text,
    };
  }
  const suffix = path.endsWith("/") ? encodeURIComponent(hostileText(dice).toWellFormed()) : "";
  return { ...request, method: "GET", path: `${path}${suffix}?${text}`, headers };
}

/** OAuth: discovery under `/.well-known`, and `/oauth/*`. Errors in OAuth's own dialect. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { describeRoute } from "hono-openapi";
import type * as v from "valibot";
import { limitAddress } from "../auth/limits.ts";
import { audit } from "../audit/record.ts";
import { database } from "../../db/client.ts";
import { AnyObject } from "../../http/shapes.ts";
import { createDoc, eitherBody, json as jsonBody, media, PROBLEM } from "../../http/route.ts";
import { decodeJson } from "../../lib/json.ts";
import type { App } from "../../http/context.ts";
import { readCounted } from "../../http/validate.ts";
import { signOut, startConsole, showInvitation, startInvitation } from "./console.ts";
import { requireIssuer, resourceMetadata, serverMetadata } from "./metadata.ts";
import { submitAuthorize, showAuthorize } from "./authorize.ts";
import { readForm } from "./request.ts";
import { introspectToken, issueTokens, revokeToken } from "./token.ts";
import { finishOpenId, startOpenId } from "./openid.ts";
import { providerHost } from "./provider.ts";
import { oauthErrorResponse, NO_STORE, OAuthError } from "./errors.ts";
import { newClient, REGISTRATION_LIMIT, toWireClient } from "./register.ts";
import { ClientMetadata, Introspection, OAuthErrorBody, RegisteredClient, Tokens } from "./schema.ts";
import { insertClient } from "./store.ts";

const doc = (summary: string, answers: Parameters<ReturnType<typeof createDoc>>[1] & object) =>
  createDoc("OAuth")(summary, { default: OAuthErrorBody, ...answers });
/** Pages of a person, which lead back to the client. */
const PAGE = {
  200: media("text/html"),
  302: {},
  303: {},
  default: eitherBody(media("text/html"), jsonBody(OAuthErrorBody)),
};
const METADATA = { 200: jsonBody(AnyObject) };
const RESOURCE = "/.well-known/oauth-protected-resource";

/** JSON Schema has no word for some checks. The answer to a body that breaks one says which. */
const json = (schema: v.GenericSchema) => {
  const options = { target: "draft-2020-12", errorMode: "ignore", typeMode: "input" } as const;
  return { "application/json": { schema: toJsonSchema(schema, options) as object } };
};
const refusal = (description: string) => ({ description, content: json(OAuthErrorBody) });
const registration = describeRoute({
  tags: ["OAuth"],
  summary: "Register a public client (RFC 7591)",
  requestBody: { required: true, content: json(ClientMetadata) },
  responses: {
    201: { description: "The client. It has no secret.", content: json(RegisteredClient) },
    400: refusal("The metadata cannot be registered."),
    413: refusal(`The body is larger than ${REGISTRATION_LIMIT} bytes.`),
    default: refusal("The request failed."),
  },
});

/** Hono drops cookies that are set before a handler gives a Response of its own, unless there is an answer to merge them into. */
const keepCookies: MiddlewareHandler<App> = async (c, next) => {
  // The first read makes that answer.
  void c.res;
  await next();
};

function describeServer(c: Context<App>): Response {
  return c.json(serverMetadata(requireIssuer(c), providerHost(c.env)), 200, { "cache-control": "max-age=300" });
}

export const oauth = new Hono<App>()
  .onError(oauthErrorResponse)
  .use("/oauth/authorize/*", keepCookies)
  .use("/oauth/openid/*", keepCookies)
  .get(
    "/.well-known/oauth-authorization-server",
    doc("Authorization server metadata (RFC 8414)", METADATA),
    describeServer,
  )
  .get(
    "/.well-known/openid-configuration",
    doc("The same, where clients of OpenID Connect look for it (RFC 8414, section 5)", METADATA),
    describeServer,
  )
  .get(`${RESOURCE}/:path{.*}?`, createDoc("OAuth")("Protected resource metadata (RFC 9728)", METADATA), (c) => {
    const { pathname } = new URL(c.req.url);
    const metadata = resourceMetadata(requireIssuer(c), pathname.slice(RESOURCE.length).replace(/\/$/, ""));
    return metadata ? c.json(metadata, 200, { "cache-control": "max-age=300" }) : c.notFound();
  })
  .post("/oauth/register", registration, async (c) => {
    await limitAddress(c, "register");
    const client = newClient(await readRegistration(c.req.raw), Date.now());
    const db = database(c.env.DB);
    await insertClient(db, client);
    await audit(c, {
      workspaceId: null,
      actor: { kind: "anonymous", credentialId: "" },
      action: "client.registered",
      targetId: client.id,
      detail: { name: client.name, redirect_uris: client.redirectUris },
    });
    return c.json(toWireClient(client), 201, NO_STORE);
  })
  .get("/oauth/authorize", doc("The sign-in and consent pages (RFC 6749; PKCE S256)", PAGE), showAuthorize)
  .post("/oauth/authorize", doc("A person's answer on those pages", PAGE), submitAuthorize)
  .get("/oauth/openid/start", doc("Sign in through the configured OpenID provider", PAGE), startOpenId)
  .get("/oauth/openid/callback", doc("Where the OpenID provider returns to", PAGE), finishOpenId)
  .get("/oauth/openid/sign-in", doc("Sign in to the console through the OpenID provider", PAGE), startConsole)
  .post(
    "/oauth/openid/sign-out",
    doc("End the session of this browser", { 204: {}, default: media("text/html") }),
    signOut,
  )
  .get("/oauth/openid/invitation", doc("The page of an invitation", PAGE), showInvitation)
  .post("/oauth/openid/invitation", doc("Accept an invitation: sign in", PAGE), startInvitation)
  .post("/oauth/token", doc("Exchange a code or refresh token", { 200: Tokens }), async (c) => {
    await limitAddress(c, "token");
    const form = await readForm(c.req.raw);
    return c.json(await issueTokens(c, form), 200, NO_STORE);
  })
  .post("/oauth/revoke", doc("Revoke a token (RFC 7009)", { 200: {} }), async (c) => {
    await limitAddress(c, "revoke");
    await revokeToken(c, await readForm(c.req.raw));
    return c.body(null, 200, NO_STORE);
  })
  .post(
    "/oauth/introspect",
    doc("Describe an access token of the workspace (RFC 7662)", { 200: Introspection, 401: PROBLEM, 403: PROBLEM }),
    async (c) => c.json(await introspectToken(c, await readForm(c.req.raw)), 200, NO_STORE),
  )
  .all("/oauth/:endpoint{register|token|revoke}", () => {
    throw new OAuthError("invalid_request", "Use POST.", 405, { allow: "POST" });
  });

/** The body as JSON; at most 8 KB, counted while reading, because Content-Length can be wrong. */
async function readRegistration(request: Request): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new OAuthError("invalid_client_metadata", "Send the metadata as application/json.");
  }
  const bytes = await readCounted(request.body, REGISTRATION_LIMIT).catch(() => {
    throw new OAuthError("invalid_client_metadata", `The body is larger than ${REGISTRATION_LIMIT} bytes.`, 413);
  });
  const metadata = decodeJson(bytes);
  if (metadata !== undefined) return metadata;
  throw new OAuthError("invalid_client_metadata", "The body is not well-formed JSON in UTF-8.");
}

/** Signing in through the server's own OAuth: registration, PKCE, code, refresh (RFC 7591, 7636, 6749). */
import { resolveAddress, SERVER } from "./server.ts";
import { currentSession, type Session, setSession } from "./session.ts";

interface Metadata {
  authorization_endpoint: string;
  token_endpoint: string;
  registration_endpoint: string;
  revocation_endpoint?: string;
  /** Where members sign in by the OpenID provider, and its host. Left out: the server has none. */
  weir_sign_in_endpoint?: string;
  weir_sign_in_provider?: string;
}

interface TokenResponse {
  access_token: string;
  refresh_token?: string;
  expires_in?: number;
  workspace_id?: string;
}

const PENDING = "weir.signin";
const CLIENT = "weir.client";
const REDIRECT = "/signed-in";

/** The server's OAuth metadata, or undefined where it offers none. */
export async function discover(): Promise<Metadata | undefined> {
  const response = await fetch(resolveAddress("/.well-known/oauth-authorization-server")).catch(() => undefined);
  if (!response?.ok) return undefined;
  const metadata = (await response.json()) as Partial<Metadata>;
  return metadata.authorization_endpoint && metadata.token_endpoint && metadata.registration_endpoint
    ? (metadata as Metadata)
    : undefined;
}

/** Redirects to the server's consent page, which redirects back to /signed-in. */
export async function startSignIn(): Promise<void> {
  const metadata = await discover();
  if (!metadata) throw new Error("This server offers no sign-in. Use an API key.");
  // The last attempt did not return: the server may no longer know this client.
  if (sessionStorage.getItem(PENDING) !== null) forgetClient();
  const clientId = await registeredClient(metadata);
  const verifier = random();
  const state = random();
  sessionStorage.setItem(
    PENDING,
    JSON.stringify({ verifier, state, clientId, from: location.pathname + location.search }),
  );
  const to = new URL(metadata.authorization_endpoint, location.origin);
  const params = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: location.origin + REDIRECT,
    code_challenge: await challenge(verifier),
    code_challenge_method: "S256",
    state,
    scope: "read write",
  };
  for (const [name, value] of Object.entries(params)) to.searchParams.set(name, value);
  location.assign(to);
}

/** At /signed-in: exchanges the code, and says where the person was. */
export async function finishSignIn(search: string): Promise<string> {
  const params = new URLSearchParams(search);
  const stored = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  if (stored === null) throw new Error("This sign-in was not started in this tab.");
  const pending = JSON.parse(stored) as { verifier: string; state: string; clientId: string; from: string };
  if (params.get("state") !== pending.state) throw new Error("The answer does not belong to this sign-in.");
  // RFC 9207: an answer of another server must be rejected.
  if ((params.get("iss") ?? SERVER) !== SERVER) throw new Error("Another server answered.");
  const code = params.get("code");
  if (code === null) throw new Error(params.get("error_description") ?? "The server refused the sign-in.");
  const metadata = await discover();
  if (!metadata) throw new Error("The server no longer offers sign-in.");
  await exchange(metadata, {
    grant_type: "authorization_code",
    code,
    redirect_uri: location.origin + REDIRECT,
    client_id: pending.clientId,
    code_verifier: pending.verifier,
  });
  return pending.from === REDIRECT ? "/" : pending.from;
}

let refreshing: Promise<void> | undefined;

/** Renews an access token that ends within 30 s. One renewal at a time: a refresh token is used once. */
export async function freshen(): Promise<void> {
  const session = currentSession();
  if (!session?.refreshToken || !session.expiresAt || session.expiresAt - Date.now() > 30_000) return;
  refreshing ??= refresh(session).finally(() => {
    refreshing = undefined;
  });
  await refreshing;
}

async function refresh(session: Session): Promise<void> {
  const metadata = await discover();
  const clientId = localStorage.getItem(CLIENT);
  if (!metadata || clientId === null || !session.refreshToken) return;
  await exchange(metadata, {
    grant_type: "refresh_token",
    refresh_token: session.refreshToken,
    client_id: clientId,
  }).catch(() => setSession(undefined));
}

async function exchange(metadata: Metadata, params: Record<string, string>): Promise<void> {
  const response = await fetch(new URL(metadata.token_endpoint, location.origin), {
    method: "POST",
    body: new URLSearchParams(params),
  });
  const tokens = (await response.json()) as TokenResponse & { error?: string; error_description?: string };
  if (tokens.error === "invalid_client") forgetClient();
  if (!response.ok) throw new Error(tokens.error_description ?? "The server refused the sign-in.");
  setSession({
    kind: "oauth",
    secret: tokens.access_token,
    workspaceId: tokens.workspace_id,
    refreshToken: tokens.refresh_token,
    expiresAt: tokens.expires_in === undefined ? undefined : Date.now() + tokens.expires_in * 1000,
  });
}

async function registeredClient(metadata: Metadata): Promise<string> {
  const known = localStorage.getItem(CLIENT);
  if (known !== null) return known;
  const response = await fetch(new URL(metadata.registration_endpoint, location.origin), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Weir, the page",
      redirect_uris: [location.origin + REDIRECT],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    }),
  });
  if (!response.ok) throw new Error("The server did not register the page as a client. Use an API key.");
  const { client_id } = (await response.json()) as { client_id: string };
  localStorage.setItem(CLIENT, client_id);
  return client_id;
}

/** On to the OpenID provider, which leads back to this address with a session of the browser. */
export function signInAt(endpoint: string): void {
  setSession(undefined);
  const address = new URL(endpoint, location.origin);
  address.searchParams.set("from", location.pathname + location.search);
  location.assign(address);
}

/** Ends the session of this browser, in all its tabs. */
export async function endBrowserSession(): Promise<void> {
  await fetch(resolveAddress("/oauth/openid/sign-out"), { method: "POST" });
}

/** Ends this tab's session; the server ends its tokens too. */
export async function signOut(): Promise<void> {
  const token = currentSession()?.refreshToken ?? currentSession()?.secret;
  const clientId = localStorage.getItem(CLIENT);
  const byKey = currentSession()?.kind !== "oauth";
  setSession(undefined);
  if (byKey || !token || clientId === null) return;
  const metadata = await discover();
  if (!metadata?.revocation_endpoint) return;
  const body = new URLSearchParams({ token, client_id: clientId });
  await fetch(new URL(metadata.revocation_endpoint, location.origin), { method: "POST", body, keepalive: true });
}

/** Deletes the stored registration when the server no longer knows it. */
export function forgetClient(): void {
  localStorage.removeItem(CLIENT);
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

async function challenge(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

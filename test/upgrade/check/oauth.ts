/** Checks tokens and codes that an older release issued. */
import { expect } from "vitest";
import { Api } from "../../support/api.ts";
import { askTokens } from "../make/oauth.ts";
import type { OAuth } from "../manifest.ts";

interface Tokens {
  access_token: string;
  refresh_token: string;
}

export async function expectTokens(api: Api, oauth: OAuth): Promise<void> {
  const { client: client_id, tokens, rotated, revoked, code, redirect_uri, verifier, grants } = oauth;
  const status = async (token: string) => {
    const bearer = new Api(api.url, { authorization: `Bearer ${token}` });
    return (await bearer.send("POST", "/assistants/search", {})).status;
  };
  const ask = (form: Record<string, string>) => askTokens(api.url, { client_id, ...form });
  const refresh = (refresh_token: string) => ask({ grant_type: "refresh_token", refresh_token });
  expect(await api.get<unknown[]>("/api/v1/grants")).toHaveLength(grants);

  expect(await status(tokens.access_token)).toBe(200);
  const refreshed = await (await refresh(tokens.refresh_token)).json<Tokens>();
  expect(await status(refreshed.access_token)).toBe(200);
  expect((await refresh(refreshed.refresh_token)).status).toBe(200);

  expect(await status(revoked)).toBe(401);

  const next = await (await refresh(rotated.refresh_token)).json<Tokens>();
  expect(await status(next.access_token)).toBe(200);
  // Reuse of an exchanged refresh token revokes the grant.
  expect(await (await refresh(rotated.old)).json()).toMatchObject({ error: "invalid_grant" });
  expect(await (await refresh(next.refresh_token)).json()).toMatchObject({ error: "invalid_grant" });
  await expect.poll(() => status(next.access_token), { timeout: 15_000 }).toBe(401);

  const redeem = () => ask({ grant_type: "authorization_code", code, redirect_uri, code_verifier: verifier });
  const redeemed = await (await redeem()).json<Tokens>();
  expect(await status(redeemed.access_token)).toBe(200);
  expect(await (await redeem()).json()).toMatchObject({ error: "invalid_grant" });
}

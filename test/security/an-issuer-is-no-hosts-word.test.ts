/** The Host header that a caller sends does not decide who issues tokens. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../support/app.ts";

const get = (url: string, settings: Partial<Env> = {}, headers: Record<string, string> = {}) =>
  app.fetch(new Request(url, { redirect: "manual", headers }), { ...env, ...settings }, createExecutionContext());

const METADATA = "/.well-known/oauth-authorization-server";
const issuer = async (url: string, settings: Partial<Env> = {}, headers: Record<string, string> = {}) =>
  (await (await get(url + METADATA, settings, headers)).json<{ issuer?: string }>()).issuer;

describe("without PUBLIC_URL", () => {
  it.each([METADATA, "/.well-known/oauth-protected-resource/mcp", "/oauth/authorize?client_id=x"])(
    "a public name is no issuer: %s",
    async (path) => {
      const response = await get(`https://evil.example${path}`);
      expect(response.status).toBe(421);
      expect(await response.text()).toContain("PUBLIC_URL");
    },
  );

  it("a 401 names no metadata of a public name", async () => {
    const { status, headers } = await get("https://evil.example/mcp");
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  });

  it.each(["http://localhost:8787", "http://127.0.0.1:8787", "http://10.0.0.3", "https://weir.acme.workers.dev"])(
    "%s is one",
    async (origin) => {
      expect(await issuer(origin)).toBe(origin);
    },
  );
});

describe("with PUBLIC_URL", () => {
  const settings = { PUBLIC_URL: "https://agents.example/, https://agents.eu.example" };

  it.each([
    ["https://agents.example", "https://agents.example"],
    ["https://agents.eu.example", "https://agents.eu.example"],
    ["https://evil.example", "https://agents.example"],
    ["http://localhost:8787", "https://agents.example"],
  ])("the issuer at %s is %s", async (url, expected) => {
    expect(await issuer(url, settings)).toBe(expected);
  });

  it("X-Forwarded-Host is ignored, and X-Forwarded-Proto only for a listed address", async () => {
    expect(await issuer("https://agents.example", settings, { "x-forwarded-host": "evil.example" })).toBe(
      "https://agents.example",
    );
    expect(await issuer("http://agents.eu.example", settings, { "x-forwarded-proto": "https" })).toBe(
      "https://agents.eu.example",
    );
  });
});

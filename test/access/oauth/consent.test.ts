/** The sign-in and consent pages against forgery, injection and framing. */
import { describe, expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { Browser, CHALLENGE, newClient, newTokens, ORIGIN, request } from "./person.ts";

describe("consent", () => {
  it("cannot be forged by another site", async () => {
    const caller = await newCaller();
    const client = await newClient();
    const browser = new Browser();
    const form = await browser.consentForm(request(client), caller.key);
    for (const headers of [{}, { origin: "https://evil.com" }, { origin: "null" }] as Record<string, string>[]) {
      const answer = await browser.submit(form, headers);
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
    }
    expect((await browser.submit(form)).headers.get("location")).toContain("code=");
  });

  it("is for the request that was shown and no other", async () => {
    const caller = await newCaller();
    const browser = new Browser();
    const form = await browser.consentForm(request(await newClient()), caller.key);
    const changes: Record<string, string>[] = [
      { client_id: await newClient() },
      { scope: "read write admin" },
      { state: "other" },
      { code_challenge: CHALLENGE.replace("E", "F") },
      { resource: `${ORIGIN}/mcp` },
      { redirect_uri: "http://127.0.0.1:99/cb" },
      { proof: "" },
      { proof: "0".repeat(64) },
    ];
    // All at once: a failed attempt is answered a second later.
    const answers = await Promise.all(changes.map((change) => browser.submit({ ...form, ...change })));
    for (const answer of answers) expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  });

  it("is for the person who signed in, once", async () => {
    const caller = await newCaller();
    const [browser, other] = [new Browser(), new Browser()];
    const asked = request(await newClient());
    const form = await browser.consentForm(asked, caller.key);
    // Without the cookie, and with another person's.
    expect(await (await other.submit(form)).text()).toContain("Sign in");
    await other.signIn(asked, (await newCaller()).key);
    expect((await other.submit(form)).status).toBe(400);
    const { cookie } = browser;
    expect((await browser.submit(form)).status).toBe(303);
    browser.cookie = cookie;
    expect((await browser.submit(form)).headers.get("location")).toBeNull();
  });

  it("answered twenty times at once makes one code", async () => {
    const caller = await newCaller();
    const browser = new Browser();
    const form = await browser.consentForm(request(await newClient()), caller.key);
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.submit(form)));
    expect(answers.filter((answer) => answer.headers.get("location")?.includes("code="))).toHaveLength(1);
  });

  it("needs a real key: not a wrong one, not the deployment's, not another's token", async () => {
    const { access_token } = await newTokens(await newCaller());
    const asked = request(await newClient());
    const attempts = ["", "weir_wrong", "admin-key-of-the-tests", access_token].map(async (api_key) => {
      const browser = new Browser();
      const { status } = await browser.submit({ ...asked, step: "key", api_key });
      return [status, browser.cookie];
    });
    for (const attempt of await Promise.all(attempts)) expect(attempt).toEqual([401, ""]);
    expect((await new Browser().submit({ ...asked, step: "open" })).status).toBe(401);
  });

  it("pages run no scripts, cannot be framed, and show names as text", async () => {
    const caller = await newCaller();
    const client_name = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;
    const asked = request(await newClient({ client_name, logo_uri: "https://evil.com/track.png" }), {
      state: `"><script>alert(3)</script>`,
    });
    const browser = new Browser();
    const pages = [await browser.open(asked)];
    await browser.signIn(asked, caller.key);
    pages.push(await browser.open(asked));
    pages.push(await browser.open({ ...asked, redirect_uri: `https://evil.com/"><script>` }));
    for (const page of pages) {
      const policy = page.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("base-uri 'none'");
      expect(policy).not.toMatch(/unsafe|script-src/);
      expect(page.headers.get("x-frame-options")).toBe("DENY");
      expect(page.headers.get("cache-control")).toBe("no-store");
      expect(page.headers.get("referrer-policy")).toBe("same-origin");
      expect(page.headers.get("access-control-allow-origin")).toBeNull();
      const text = await page.text();
      expect(text).not.toMatch(/<script|<img|onerror=(?!alert\(2\)&gt;)|track\.png/);
      // The style's nonce is the policy's, and new on every page.
      const nonce = /<style nonce="([^"]+)"/.exec(text)?.[1] ?? "none";
      expect(policy).toContain(`'nonce-${nonce}'`);
    }
    expect(new Set(pages.map((page) => page.headers.get("content-security-policy"))).size).toBe(3);
  });

  it("keeps its cookie from scripts, other sites and plain http", async () => {
    const caller = await newCaller();
    const answer = await new Browser().submit({ ...request(await newClient()), step: "key", api_key: caller.key });
    const cookie = answer.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^__Host-weir_sign_in=[\w-]{43};/);
    for (const attribute of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/", "Max-Age=600"]) {
      expect(cookie).toContain(attribute);
    }
  });

  it("lets the browser follow its answer to every kind of address", async () => {
    const caller = await newCaller();
    const targets: [string, string][] = [
      ["http://127.0.0.1:5/cb", "form-action 'self' http://127.0.0.1:5;"],
      ["http://[::1]:5/cb", "form-action 'self' http:;"],
      ["https://example.com/cb", "form-action 'self' https://example.com;"],
      ["com.example.app:/cb", "form-action 'self' com.example.app:;"],
    ];
    for (const [redirect_uri, policy] of targets) {
      const asked = request(await newClient({ redirect_uris: [redirect_uri] }), { redirect_uri });
      const browser = new Browser();
      await browser.signIn(asked, caller.key);
      expect((await browser.open(asked)).headers.get("content-security-policy")).toContain(policy);
    }
  });
});

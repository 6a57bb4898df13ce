/** Clients whose id is the URL of a metadata document (CIMD): the whole way, and what such a URL could be abused for. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../support/app.ts";
import { newCaller, send } from "../../support/caller.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { Browser, CALLBACK, readError, ORIGIN, redeem, refresh, request, type Tokens, withToken } from "./person.ts";

type Answer = () => Response | Promise<Response>;
/** What the hosts of documents answer, by URL. */
let answers: Record<string, Answer>;
let fetched: { url: string; redirect: RequestInit["redirect"] }[];

beforeEach(() => {
  answers = {};
  fetched = [];
  stubFetch(async (url, { redirect, signal }) => {
    fetched.push({ url, redirect });
    const late = new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(new Error("late"))));
    return Promise.race([answers[url]?.() ?? new Response("none", { status: 404 }), late]);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const json = (body: unknown, headers: Record<string, string> = {}) => Response.json(body, { headers });
const metadata = (id: string, more: object = {}) => ({
  client_id: id,
  client_name: "Described client",
  redirect_uris: [CALLBACK],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
  ...more,
});
const newId = (host = "client.example") => `https://${host}/${crypto.randomUUID()}.json`;

/** An id whose document has these members beside the usual ones. */
function createDocument(more: object = {}, headers: Record<string, string> = {}): string {
  const id = newId();
  answers[id] = () => json(metadata(id, more), headers);
  return id;
}

async function openRequest(id: string, changes: Parameters<typeof request>[1] = {}): Promise<[number, string]> {
  const response = await new Browser().open(request(id, changes));
  return [response.status, (await response.text()).replaceAll(/\s+/g, " ")];
}

const readStored = (id: string) => env.DB.prepare("SELECT * FROM oauth_clients WHERE id = ?").bind(id).first();

describe("a client with a metadata document", () => {
  it("is found in discovery, allowed, and gets tokens that refresh, without registration", async () => {
    const discovery = await send("/.well-known/oauth-authorization-server");
    expect(await discovery.json()).toMatchObject({ client_id_metadata_document_supported: true });

    const caller = await newCaller();
    const id = createDocument();
    const browser = new Browser();
    const code = await browser.allow(request(id), caller);
    const tokens = await (await redeem(id, code)).json<Tokens>();
    expect((await withToken("/assistants/search", tokens.access_token, undefined, "POST")).status).toBe(200);
    expect((await refresh(id, tokens.refresh_token)).status).toBe(200);
    expect(fetched).toEqual([{ url: id, redirect: "manual" }]);
    const [grant] = await (await caller.fetch("/api/v1/grants")).json<object[]>();
    expect(grant).toMatchObject({ client_id: id, client_name: "Described client" });
  });

  it("is shown with the host that describes it, before and after signing in", async () => {
    const caller = await newCaller();
    const id = createDocument({ client_name: "<b>Trusted</b>" });
    const [status, signIn] = await openRequest(id);
    expect(status).toBe(200);
    expect(signIn).toContain("described by client.example");
    expect(signIn).toContain("&lt;b&gt;Trusted");
    const browser = new Browser();
    await browser.signIn(request(id), caller.key);
    const consent = (await (await browser.open(request(id))).text()).replaceAll(/\s+/g, " ");
    expect(consent).toContain("<dd>client.example</dd>");
    expect(consent).toContain("any program on this device can ask in its place");
    expect(consent).not.toContain("Anyone can register");
  });

  it("is stored only when a person allows it, and then as it was last shown", async () => {
    const caller = await newCaller();
    const id = createDocument({}, { "cache-control": "no-store" });
    await openRequest(id);
    expect(await readStored(id)).toBeNull();
    await new Browser().allow(request(id), caller);
    expect(await readStored(id)).toMatchObject({ name: "Described client", used_at: expect.any(Number) });
    answers[id] = () => json(metadata(id, { client_name: "Renamed" }));
    await new Browser().allow(request(id), caller);
    expect(await readStored(id)).toMatchObject({ name: "Renamed" });
  });

  it("has no tokens before a person allowed it: the token endpoint fetches nothing", async () => {
    expect(await readError(await redeem(createDocument(), "weir_code_guess"))).toEqual([401, "invalid_client"]);
    expect(fetched).toEqual([]);
  });

  it("returns only to an address of its document", async () => {
    const [status, page] = await openRequest(createDocument(), { redirect_uri: "http://127.0.0.1/other" });
    expect(status).toBe(400);
    expect(page).toContain("not one that the application registered");
  });
});

describe("a document is kept", () => {
  it.each([
    ["for five minutes without an instruction", {}, 299, 301],
    ["as long as it says", { "cache-control": "public, max-age=20" }, 19, 21],
    ["for an hour at most", { "cache-control": "max-age=9999999" }, 3599, 3601],
  ])("%s", async (_name, headers, before, after) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const start = Date.now();
    const id = createDocument({}, headers);
    for (const [seconds, times] of [
      [0, 1],
      [before, 1],
      [after, 2],
    ] as const) {
      vi.setSystemTime(start + seconds * 1000);
      expect((await openRequest(id))[0]).toBe(200);
      expect(fetched).toHaveLength(times);
    }
  });

  it.each(["no-store", "private, no-cache", "max-age=0"])("not at all with %s", async (directive) => {
    const id = createDocument({}, { "cache-control": directive });
    await openRequest(id);
    await openRequest(id);
    expect(fetched).toHaveLength(2);
  });

  it("only if it is valid: a repaired one works at once", async () => {
    const id = createDocument({ redirect_uris: ["javascript:alert(1)"] });
    expect((await openRequest(id))[0]).toBe(400);
    answers[id] = () => json(metadata(id));
    expect((await openRequest(id))[0]).toBe(200);
  });

  it("by its whole URL: a document cannot take another's place", async () => {
    const victim = createDocument();
    const thief = `${victim}?x`;
    answers[thief] = () => json(metadata(victim, { redirect_uris: ["https://thief.example/cb"] }));
    expect((await openRequest(thief, { redirect_uri: "https://thief.example/cb" }))[0]).toBe(400);
    expect((await openRequest(victim, { redirect_uri: "https://thief.example/cb" }))[1]).toContain("not one that");
    expect((await openRequest(victim))[0]).toBe(200);
  });
});

describe("an address that is not fetched", () => {
  it.each([
    ["https://127.0.0.1/c.json", "private"],
    ["https://[::ffff:a9fe:a9fe]/c.json", "private"],
    ["https://169.254.169.254/latest/meta-data", "private"],
    ["https://metadata.google.internal/c.json", "private"],
    ["https://localhost/c.json", "private"],
    ["https://2130706433/c.json", "private"],
    ["https://client.example:22/c.json", "port"],
    ["https://client.example:443/c.json", "canonical"],
    ["https://user@client.example/c.json", "credentials"],
    ["https://user:secret@client.example/c.json", "credentials"],
    ["https://@client.example/c.json", "canonical"],
    ["https://client.example/c.json#", "fragment"],
    ["https://client.example/c.json#x", "fragment"],
    ["https://client.example/a/../c.json", "canonical"],
    ["https://client.example/a/%2e%2e/c.json", "canonical"],
    ["https://CLIENT.example/c.json", "canonical"],
    ["https://client。example/c.json", "canonical"],
    ["https:\\\\client.example\\c.json", "not registered"],
    ["https://client.example/c d.json", "canonical"],
    ["https://client.example", "canonical"],
    ["https://client.example/", "path"],
    [`https://client.example/${"a".repeat(2048)}`, "2048"],
    [`${ORIGIN}/oauth/authorize?client_id=x`, "internal"],
    ["http://client.example/c.json", "not registered"],
    ["HTTPS://client.example/c.json", "not registered"],
  ])("%s", async (id, reason) => {
    answers[id] = () => json(metadata(id));
    const [status, page] = await openRequest(id);
    expect(status).toBe(400);
    expect(page).toContain(reason);
    expect(fetched).toEqual([]);
  });
});

it("an address on this server is not fetched", async () => {
  const id = newId("public.example");
  const query = new URLSearchParams(request(id) as Record<string, string>).toString();
  const response = await app.fetch(
    new Request(`https://public.example/oauth/authorize?${query}`),
    { ...env, PUBLIC_URL: "https://public.example" },
    createExecutionContext(),
  );
  expect(await response.text()).toContain("must not be on this server");
  expect(fetched).toEqual([]);
});

describe("a document that is refused", () => {
  it.each([
    ["of another client", { client_id: "https://client.example/other.json" }, "its own address"],
    ["without a client id", { client_id: undefined }, "its own address"],
    ["with a secret", { client_secret: "s" }, "no secret"],
    ["with a secret that is null", { client_secret: null }, "no secret"],
    ["with the end of a secret", { client_secret_expires_at: 0 }, "no secret"],
    ["of a client with a secret", { token_endpoint_auth_method: "client_secret_basic" }, "must be none"],
    ["of a client with a key", { token_endpoint_auth_method: "private_key_jwt" }, "must be none"],
    ["without redirect addresses", { redirect_uris: [] }, "redirect URI"],
    ["with a dangerous one", { redirect_uris: [CALLBACK, "javascript:alert(1)"] }, "redirect_uris[1]"],
    ["with an invisible name", { client_name: "\u3164" }, "client_name"],
  ])("%s", async (_name, more, reason) => {
    const [status, page] = await openRequest(createDocument(more));
    expect(status).toBe(400);
    expect(page).toContain(reason);
  });

  const large = "x".repeat(9000);
  const createEndless = (chunk: string, pause: () => Promise<void>) =>
    new ReadableStream({
      async pull(controller) {
        await pause();
        controller.enqueue(new TextEncoder().encode(chunk));
      },
    });
  const JSON_TYPE = { headers: { "content-type": "application/json" } };

  it.each<[string, Answer, string]>([
    ["a redirect", () => Response.redirect("https://127.0.0.1/", 302), "does not answer with a JSON"],
    ["an error", () => Response.json({}, { status: 500 }), "does not answer with a JSON"],
    [
      "a page",
      () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      "does not answer with a JSON",
    ],
    ["no JSON", () => new Response("{", JSON_TYPE), "not valid JSON"],
    ["a list", () => json([]), "its own address"],
    ["null", () => json(null), "its own address"],
    ["invalid UTF-8", () => new Response(new Uint8Array([0x22, 0xff, 0x22]), JSON_TYPE), "not valid JSON"],
    ["more than the limit", () => json({ large }), "larger than 8192 bytes"],
    [
      "without an end",
      () =>
        new Response(
          createEndless(" ".repeat(1000), async () => undefined),
          JSON_TYPE,
        ),
      "larger than",
    ],
    ["nothing", () => Promise.reject(new TypeError("connection refused")), "did not answer"],
  ])("is %s", async (_name, answer, reason) => {
    const id = newId();
    answers[id] = answer;
    const [status, page] = await openRequest(id);
    expect(status).toBe(400);
    expect(page).toContain(reason);
  });

  it.each([301, 302, 303, 307, 308])("is a redirect with status %i to a good document", async (status) => {
    const good = createDocument();
    const id = newId();
    answers[id] = () => new Response(JSON.stringify(metadata(id)), { status, headers: { location: good } });
    const [answered, page] = await openRequest(id);
    expect([answered, page]).toEqual([400, expect.stringContaining("does not answer with a JSON")]);
    // The address behind it is not fetched.
    expect(fetched.map(({ url }) => url)).toEqual([id]);
    expect(fetched[0]?.redirect).toBe("manual");
  });

  it("is an error without an end: nothing of it is read on", async () => {
    const id = newId();
    let read = 0;
    const error = new ReadableStream(
      { pull: (controller) => (read++, controller.enqueue(new Uint8Array(1_000))) },
      { highWaterMark: 0 },
    );
    answers[id] = () => new Response(error, { status: 500, ...JSON_TYPE });
    expect((await openRequest(id))[1]).toContain("does not answer with a JSON");
    expect(read).toBeLessThan(3);
  });

  it("is large by one byte, and is taken with one less", async () => {
    const padDocument = (id: string, bytes: number) => {
      const text = JSON.stringify(metadata(id));
      return new Response(text + " ".repeat(bytes - text.length), JSON_TYPE);
    };
    const [large, fits] = [newId(), newId()];
    answers[large] = () => padDocument(large, 8193);
    answers[fits] = () => padDocument(fits, 8192);
    expect((await openRequest(large))[1]).toContain("larger than 8192 bytes");
    expect((await openRequest(fits))[0]).toBe(200);
  });

  it("says that it is small and is not", async () => {
    const id = newId();
    const body = new TextEncoder().encode(JSON.stringify({ ...metadata(id), large }));
    answers[id] = () => new Response(body, { headers: { ...JSON_TYPE.headers, "content-length": "10" } });
    expect((await openRequest(id))[1]).toContain("larger than 8192 bytes");
  });

  it("takes longer than five seconds: from the beginning, within the body, byte by byte, or after its end", async () => {
    const [silent, pauses, drips, holds] = [newId(), newId(), newId(), newId()];
    const after = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms));
    answers[silent] = () => new Promise<never>(() => undefined);
    answers[pauses] = () => new Response(createEndless(" ", after(1_000)), JSON_TYPE);
    answers[drips] = () => new Response(createEndless("{", after(100)), JSON_TYPE);
    let cancelled = false;
    const held = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(JSON.stringify(metadata(holds)))),
      cancel: () => void (cancelled = true),
    });
    answers[holds] = () => new Response(held, JSON_TYPE);
    const pages = await Promise.all([silent, pauses, drips, holds].map((id) => openRequest(id)));
    const tooLong = expect.stringContaining("took too long");
    expect(pages.map(([, page]) => page)).toEqual([
      expect.stringContaining("did not answer"),
      tooLong,
      tooLong,
      tooLong,
    ]);
    expect(cancelled).toBe(true);
  });
});

it("an address that requests many documents is limited", async () => {
  const browser = new Browser();
  const statuses: number[] = [];
  while (statuses.length < 130 && statuses.at(-1) !== 429) {
    const query = new URLSearchParams(request(createDocument()) as Record<string, string>).toString();
    const headers = { "cf-connecting-ip": "192.0.2.99" };
    statuses.push((await browser.go(`/oauth/authorize?${query}`, { headers })).status);
  }
  expect(statuses.at(-1)).toBe(429);
});

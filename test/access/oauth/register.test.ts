import { describe, expect, it } from "vitest";
import { send } from "../../support/caller.ts";

const GOOD = { redirect_uris: ["http://127.0.0.1/cb"] };
type Answer = Record<string, unknown> & { redirect_uris: string[] };

/** Each call from an address of its own, so that the limit per address stays out of the way. */
async function register(body: unknown, headers: Record<string, string> = {}, method = "POST") {
  const response = await send("/oauth/register", {
    method,
    body: method === "POST" ? body : undefined,
    headers: { "cf-connecting-ip": crypto.randomUUID(), ...headers },
  });
  return { status: response.status, headers: response.headers, body: await response.json<Answer>() };
}

describe("client registration", () => {
  it("answers 201 with the specification's fields and no others", async () => {
    const { status, headers, body } = await register({
      ...GOOD,
      client_name: "Client",
      client_uri: "https://example.com",
      logo_uri: "https://example.com/logo.png",
      policy_uri: "https://example.com/policy",
      tos_uri: "https://example.com/tos",
      grant_types: ["authorization_code", "refresh_token"],
      scope: "read",
      application_type: "native",
      "client_name#de": "Klient",
      client_id: "mine",
      client_secret: "mine",
    });
    expect(status).toBe(201);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("pragma")).toBe("no-cache");
    expect(body).toEqual({
      client_id: expect.stringMatching(/^weir_client_[\w-]{43}$/),
      client_id_issued_at: expect.any(Number),
      client_name: "Client",
      client_uri: "https://example.com",
      logo_uri: "https://example.com/logo.png",
      policy_uri: "https://example.com/policy",
      tos_uri: "https://example.com/tos",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: GOOD.redirect_uris,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
    expect(Number.isInteger(body.client_id_issued_at)).toBe(true);
  });

  it("fills in defaults and leaves out what is absent, null or empty", async () => {
    const { status, body } = await register({
      ...GOOD,
      client_name: null,
      client_uri: "",
      logo_uri: null,
      scope: null,
    });
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual([
      "client_id",
      "client_id_issued_at",
      "grant_types",
      "redirect_uris",
      "response_types",
      "token_endpoint_auth_method",
    ]);
    expect(body.grant_types).toEqual(["authorization_code"]);
  });

  it("gives every registration an id of its own", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await register(GOOD)).body.client_id));
    expect(new Set(ids).size).toBe(20);
  });

  const clients: [name: string, body: object, redirectUris: string[]][] = [
    [
      "VS Code",
      {
        client_name: "Visual Studio Code",
        client_uri: "https://code.visualstudio.com",
        application_type: "native",
        grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        response_types: ["code"],
        redirect_uris: [
          "https://insiders.vscode.dev/redirect",
          "https://vscode.dev/redirect",
          "http://127.0.0.1/",
          "http://127.0.0.1:33418/",
        ],
        token_endpoint_auth_method: "none",
      },
      [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
    ],
    [
      "Cursor",
      {
        client_name: "Cursor",
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: [
          "cursor://anysphere.cursor-mcp/oauth/callback",
          "https://www.cursor.com/agents/mcp/oauth/callback",
          "http://localhost:8787/callback",
        ],
      },
      [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
    ],
    ["an editor alone", { redirect_uris: ["vscode://publisher.extension/cb"] }, ["vscode://publisher.extension/cb"]],
    [
      "an extension with its https address",
      { redirect_uris: ["chrome-extension://abc/cb", "https://abc.chromiumapp.org/cb"] },
      ["https://abc.chromiumapp.org/cb"],
    ],
    ["a local server with TLS", { redirect_uris: ["https://localhost:3000/cb"] }, ["https://localhost:3000/cb"]],
    ["Claude Code", { redirect_uris: ["http://localhost:54212/callback"] }, ["http://localhost:54212/callback"]],
    [
      "OpenCode",
      { redirect_uris: ["http://127.0.0.1:19876/mcp/oauth/callback"] },
      ["http://127.0.0.1:19876/mcp/oauth/callback"],
    ],
    ["a client that repeats itself", { redirect_uris: ["http://[::1]/", "http://[::1]/"] }, ["http://[::1]/"]],
  ];
  it.each(clients)("takes what %s sends", async (_, body, redirectUris) => {
    const answer = await register(body);
    expect(answer.status).toBe(201);
    expect(answer.body.redirect_uris).toEqual(redirectUris);
  });

  it.each([
    "\u{1f468}\u200d\u{1f469}\u200d\u{1f467} family",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0915\u094d\u200d\u0937",
    "x".repeat(255),
  ])("takes the name %s", async (client_name) => {
    const answer = await register({ ...GOOD, client_name });
    expect([answer.status, answer.body.client_name]).toEqual([201, client_name]);
  });

  const uris = "invalid_redirect_uri";
  const metadata = "invalid_client_metadata";
  const faults: [why: string, body: unknown, error: string][] = [
    ["no redirect_uris", {}, uris],
    ["redirect_uris null", { redirect_uris: null }, uris],
    ["redirect_uris empty", { redirect_uris: [] }, uris],
    ["redirect_uris a string", { redirect_uris: "http://127.0.0.1/" }, uris],
    ["redirect_uris with a number", { redirect_uris: [1] }, uris],
    ["redirect_uris with null", { redirect_uris: ["http://127.0.0.1/", null] }, uris],
    ["redirect_uris too many", { redirect_uris: Array.from({ length: 51 }, (_, i) => `http://127.0.0.1/${i}`) }, uris],
    ["only a browser extension", { redirect_uris: ["chrome-extension://abc/cb"] }, uris],
    ["only a scheme that starts programs", { redirect_uris: ["ms-msdt://x/y"] }, uris],
    ["a dangerous URI beside a good one", { redirect_uris: [...GOOD.redirect_uris, "javascript:alert(1)"] }, uris],
    ["client_name a number", { ...GOOD, client_name: 1 }, metadata],
    ["client_name too long", { ...GOOD, client_name: "x".repeat(256) }, metadata],
    ["client_name with a control character", { ...GOOD, client_name: "a\u0007b" }, metadata],
    ["client_name with bidi override", { ...GOOD, client_name: "a\u202eb" }, metadata],
    ["client_name with a zero-width character", { ...GOOD, client_name: "Cur\u200bsor" }, metadata],
    ["client_name with a joiner between Latin letters", { ...GOOD, client_name: "Cur\u200dsor" }, metadata],
    ["client_name that ends in a joiner", { ...GOOD, client_name: "\u0645\u200c" }, metadata],
    ...["\u3164", "\u2800", "\u115f", "\uffa0"].map((filler): [string, unknown, string] => [
      `client_name of the filler ${filler.codePointAt(0)?.toString(16)}`,
      { ...GOOD, client_name: filler },
      metadata,
    ]),
    ["client_uri javascript:", { ...GOOD, client_uri: "javascript:alert(1)" }, metadata],
    ["logo_uri data:", { ...GOOD, logo_uri: "data:image/svg+xml,x" }, metadata],
    ["tos_uri with user", { ...GOOD, tos_uri: "https://a@b.com" }, metadata],
    ["policy_uri a list", { ...GOOD, policy_uri: [] }, metadata],
    ["grant_types a string", { ...GOOD, grant_types: "authorization_code" }, metadata],
    ["grant_types empty", { ...GOOD, grant_types: [] }, metadata],
    ["grant_types only refresh_token", { ...GOOD, grant_types: ["refresh_token"] }, metadata],
    ["grant_types implicit", { ...GOOD, grant_types: ["implicit"] }, metadata],
    ["grant_types password", { ...GOOD, grant_types: ["password"] }, metadata],
    ["grant_types client_credentials", { ...GOOD, grant_types: ["client_credentials"] }, metadata],
    ["response_types token", { ...GOOD, response_types: ["token"] }, metadata],
    ["response_types id_token", { ...GOOD, response_types: ["id_token"] }, metadata],
    ["response_types code token", { ...GOOD, response_types: ["code token"] }, metadata],
    ["response_types empty", { ...GOOD, response_types: [] }, metadata],
    ["client_secret_basic", { ...GOOD, token_endpoint_auth_method: "client_secret_basic" }, metadata],
    ["client_secret_post", { ...GOOD, token_endpoint_auth_method: "client_secret_post" }, metadata],
    ["private_key_jwt", { ...GOOD, token_endpoint_auth_method: "private_key_jwt" }, metadata],
    ["auth method a number", { ...GOOD, token_endpoint_auth_method: 0 }, metadata],
    ["scope a list", { ...GOOD, scope: ["read"] }, metadata],
    ["a list", "[]", metadata],
    ["null", "null", metadata],
    ["a string", '"x"', metadata],
    ["nothing", "", metadata],
    ["malformed JSON", '{"redirect_uris":', metadata],
    ["deep nesting", "[".repeat(4000), metadata],
    ["invalid UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), metadata],
    ["keys of the prototype", '{"__proto__":{"redirect_uris":["http://127.0.0.1/"]},"constructor":1}', uris],
  ];
  it.each(faults)("refuses %s", async (_, body, error) => {
    const answer = await register(body);
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(Object.keys(answer.body)).toEqual(["error", "error_description"]);
    expect(answer.body.error).toBe(error);
    expect(answer.body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(answer.body.error_description).not.toMatch(/alert|cursor/);
  });

  it("takes JSON only, by POST only", async () => {
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "application/jsonx", ";", ""]) {
      const answer = await register(JSON.stringify(GOOD), { "content-type": type });
      expect([type, answer.status, answer.body.error]).toEqual([type, 400, metadata]);
    }
    expect((await register(JSON.stringify(GOOD), { "content-type": "application/json; charset=utf-8" })).status).toBe(
      201,
    );
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const answer = await register(undefined, {}, method);
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  it("reads a body with a byte order mark, and keeps the last of duplicate keys as JSON does", async () => {
    expect((await register(`\ufeff${JSON.stringify(GOOD)}`)).status).toBe(201);
    const twice = await register('{"redirect_uris":["javascript:x"],"redirect_uris":["http://127.0.0.1/"]}');
    expect(twice.body.redirect_uris).toEqual(["http://127.0.0.1/"]);
  });
});

describe("a registration's size", () => {
  /** A good registration of exactly `size` bytes. */
  function createSized(size: number, filler = "x"): Uint8Array {
    const encoder = new TextEncoder();
    const empty = encoder.encode(JSON.stringify({ ...GOOD, padding: "" })).byteLength;
    const unit = encoder.encode(filler).byteLength;
    const rest = size - empty;
    const padding = filler.repeat(Math.floor(rest / unit)) + "x".repeat(rest % unit);
    const bytes = encoder.encode(JSON.stringify({ ...GOOD, padding }));
    expect(bytes.byteLength).toBe(size);
    return bytes;
  }
  const streamChunks = (bytes: Uint8Array) =>
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.byteLength; at += 1000) controller.enqueue(bytes.slice(at, at + 1000));
        controller.close();
      },
    });

  const lengths: [string, Record<string, string>][] = [
    ["its true length", {}],
    ["a length too small", { "content-length": "10" }],
    ["a length too large", { "content-length": "99999" }],
    ["a length that is no number", { "content-length": "many" }],
  ];
  it.each(lengths)("is 8192 bytes at most, with %s", async (_, headers) => {
    expect((await register(createSized(8192), headers)).status).toBe(201);
    const answer = await register(createSized(8193), headers);
    expect(answer.status).toBe(413);
    expect(answer.body.error).toBe("invalid_client_metadata");
  });

  it("is counted in bytes and without any length", async () => {
    expect((await register(createSized(8192, "é"))).status).toBe(201);
    expect((await register(createSized(8193, "é"))).status).toBe(413);
    expect((await register(streamChunks(createSized(8192)))).status).toBe(201);
    expect((await register(streamChunks(createSized(8193)))).status).toBe(413);
    expect((await register(streamChunks(createSized(2_000_000)))).status).toBe(413);
  });
});

it("is limited per address", async () => {
  const address = { "cf-connecting-ip": "192.0.2.7" };
  const answers: Awaited<ReturnType<typeof register>>[] = [];
  // Twice the limit: a new minute may begin in between.
  while (answers.length < 125 && answers.at(-1)?.status !== 429) answers.push(await register(GOOD, address));
  const refused = answers.pop();
  expect(answers.length).toBeGreaterThanOrEqual(60);
  expect(answers.every(({ status }) => status === 201)).toBe(true);
  expect(refused?.status).toBe(429);
  expect(refused?.body.error).toBe("too_many_requests");
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await register(GOOD, { "cf-connecting-ip": "192.0.2.8" })).status).toBe(201);
});

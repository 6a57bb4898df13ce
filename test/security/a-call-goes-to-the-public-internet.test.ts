/** A workspace cannot make the server call a private network: webhooks, push notifications and exports, by one check. */
import { beforeAll, describe, expect, it } from "vitest";
import { addressFault, endpointFault, webhookFault } from "../../src/http/addresses.ts";
import { type Caller, newCaller } from "../support/caller.ts";

const PRIVATE = [
  // IPv6 forms of 127.0.0.1, 169.254.169.254 and 10.0.0.1, and of a public address.
  "[::127.0.0.1]",
  "[::a9fe:a9fe]",
  "[::ffff:127.0.0.1]",
  "[::ffff:0:7f00:1]",
  "[::ffff:8.8.8.8]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b:1::7f00:1]",
  "[64:ff9b:1:ffff::a00:1]",
  "[2002:7f00:1::]",
  "[2002:a9fe:a9fe::1]",
  "[2001:0:a00:1::1]",
  "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
  "[2606:4700::5efe:7f00:1]",
  "[2606:4700::200:5efe:a00:1]",
  "[fe80::5efe:a00:1]",
  // Not of the public internet.
  "[::2]",
  "[100::1]",
  "[fec0::1]",
  "[fd00:ec2::254]",
  "[4000::1]",
  "[5f00::1]",
  "[2001:db8::1]",
  "[3fff::1]",
  "168.63.129.16",
  "169.254.169.254",
  "100.100.100.200",
  "0x7f.1",
  "127.1",
  "localhost",
  "localhost..",
  "hooks.localhost",
  "api.default.svc",
  "api.default.svc.cluster",
  "api.default.svc.cluster.local",
  "vault.service.consul",
  "vault.service.consul.",
  "server.nomad",
  "host.docker",
  "hooks.test",
  "hooks.invalid",
  "abcdefghij234567.onion",
  "metadata.google.internal",
  "METADATA.GOOGLE.INTERNAL",
  "printer.local",
  "router.lan",
  "minio",
];
const PUBLIC = ["hooks.example.com", "1.1.1.1", "[2606:4700::1111]", "test.example.com", "svc.example.com"];
const URLS: [url: string, fault: RegExp][] = [
  ...PRIVATE.map((host): [string, RegExp] => [`https://${host}/hook`, /private, link-local or internal/]),
  ["https://user:secret@hooks.example.com/", /credentials/],
  ["https://user@hooks.example.com/", /credentials/],
  ["http://hooks.example.com/", /https/],
];

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

describe.each(URLS)("%s", (url, fault) => {
  it("is refused as a webhook, a push notification and a destination", () => {
    for (const check of [addressFault, webhookFault, endpointFault]) expect(check(url, false)).toMatch(fault);
  });
});

it.each(PUBLIC)("%s is accepted", (host) => {
  for (const port of ["", ":443", ":8443"])
    expect(webhookFault(`https://${host}${port}/hook?x=1`, false)).toBeUndefined();
  expect(endpointFault(`https://${host}:9000/`, false)).toBeUndefined();
});

it.each(["22", "25", "80", "2375", "3306", "6379", "9200"])("port %s is none for a webhook", (port) => {
  expect(webhookFault(`https://hooks.example.com:${port}/`, false)).toMatch(/port/);
});

const REFUSED = [
  "https://[::7f00:1]/",
  "https://a.b.svc/",
  "https://u:p@hooks.example.com/",
  "https://example.com:22/",
];

describe.each(REFUSED)("the API refuses %s", (url) => {
  it.each([
    ["/runs/wait", { assistant_id: "echo", input: {}, webhook: url }],
    ["/runs/crons", { assistant_id: "echo", input: {}, schedule: "0 0 * * *", webhook: url }],
  ])("as a webhook: %s", async (path, body) => {
    const response = await caller.fetch(path, { body });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ detail: expect.stringMatching(/^Invalid body\.webhook: must /) });
  });

  it("as the receiver of push notifications", async () => {
    const message = { messageId: "m", role: "user", kind: "message", parts: [{ kind: "text", text: "hi" }] };
    const params = { message, configuration: { pushNotificationConfig: { url } } };
    const body = { jsonrpc: "2.0", id: 1, method: "message/send", params };
    const { error } = await (
      await caller.fetch("/a2a/echo", { body })
    ).json<{ error: { code: number; message: string } }>();
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/url must /) });
  });
});

/** Guessing is slow, is counted per network and in total, and leaves entries in the audit trail that name its origin. */
import { describe, expect, it, vi } from "vitest";
import { callerAddress, toNetwork } from "../../src/http/context.ts";
import { limitAddress } from "../../src/access/auth/limits.ts";
import { Browser, newClient, ORIGIN, post, request } from "../access/oauth/person.ts";
import { ADMIN_KEY, type Caller, newCaller, send, reach } from "../support/caller.ts";

interface Entry {
  action: string;
  actor: { kind: string; id: string };
  detail: Record<string, unknown>;
  address: string | null;
  user_agent: string | null;
}

const listEntries = async (caller: Caller, action: string) =>
  (await caller.fetch(`/api/v1/audit-log?action=${action}`)).json<Entry[]>();

async function listAnonymous(action: string): Promise<Entry[]> {
  const { workspaceId } = await newCaller();
  const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": workspaceId };
  return (await send(`/api/v1/audit-log?limit=1000&action=${action}`, { headers })).json<Entry[]>();
}

describe("a network", () => {
  it.each([
    ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::1", "2001:db8:1:3::/64"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["192.0.2.1", "192.0.2.1"],
  ])("of %s is %s", (address, network) => expect(toNetwork(address)).toBe(network));

  it("has one limit for all the addresses of its /64", async () => {
    const answers: number[] = [];
    for (let i = 0; i < 125 && answers.at(-1) !== 429; i += 1) {
      const address = `2001:db8:7:7:${(i * 7919).toString(16).slice(-4)}::${i.toString(16)}`;
      answers.push((await post("/oauth/revoke", { token: "guess", client_id: "absent" }, address)).status);
    }
    expect(answers.at(-1)).toBe(429);
    const other = await post("/oauth/revoke", { token: "guess", client_id: "absent" }, "2001:db8:7:8::1");
    expect(other.status).not.toBe(429);
  });
});

describe("all networks together", () => {
  const createContext = (env: object, address: string) =>
    ({ env, req: { header: (name: string) => (name === "cf-connecting-ip" ? address : undefined) } }) as never;
  const createLimiter = () =>
    vi.fn<(options: { key: string }) => Promise<{ success: boolean }>>(async () => ({ success: true }));

  it("have a limit for each purpose, which a refused network does not use up", async () => {
    const [mine, total] = [createLimiter(), createLimiter()];
    const env = { ADDRESS_LIMIT: { limit: mine }, TOTAL_LIMIT: { limit: total } };
    const context = createContext(env, "2001:db8::1");
    expect(callerAddress(context)).toBe("2001:db8::1");
    await limitAddress(context, "sign-in");
    expect(mine.mock.calls).toEqual([[{ key: "sign-in 2001:db8:0:0::/64" }]]);
    expect(total.mock.calls).toEqual([[{ key: "sign-in" }]]);
    total.mockResolvedValueOnce({ success: false });
    await expect(limitAddress(context, "sign-in")).rejects.toMatchObject({ status: 429 });
    mine.mockResolvedValueOnce({ success: false });
    await expect(limitAddress(context, "sign-in")).rejects.toMatchObject({ status: 429 });
    expect(total).toHaveBeenCalledTimes(2);
  });
});

describe("the audit trail", () => {
  it("has sign-ins and what was decided, with address and user agent", async () => {
    const caller = await newCaller();
    const browser = new Browser();
    const asked = request(await newClient());
    await browser.submit(await browser.consentForm(asked, caller.key));
    const again = await browser.consentForm(asked, caller.key);
    await browser.submit({ ...again, step: "deny" });
    const [signedIn] = await listEntries(caller, "sign_in.succeeded");
    expect(signedIn?.actor.kind).toBe("person");
    expect(signedIn?.address).toMatch(/^[0-9a-f-]{36}$/);
    expect(await listEntries(caller, "grant.denied")).toHaveLength(1);
    expect(await listEntries(caller, "grant.created")).toHaveLength(1);
  });

  it("has failed attempts to sign in, and answers them slowly", async () => {
    const client = await newClient();
    const fields = { ...request(client), step: "key", api_key: "weir_guess" };
    const body = new URLSearchParams(fields as Record<string, string>);
    const headers = { origin: ORIGIN, "cf-connecting-ip": "192.0.2.99", "user-agent": "guesser/1.0" };
    const timers = vi.spyOn(globalThis, "setTimeout");
    const response = await reach(new Request(`${ORIGIN}/oauth/authorize`, { method: "POST", body, headers }));
    expect(response.status).toBe(401);
    expect(timers.mock.calls.some(([, wait]) => Number(wait) >= 1_000)).toBe(true);
    timers.mockRestore();
    const failed = (await listAnonymous("sign_in.failed")).find(({ detail }) => detail["client_id"] === client);
    expect(failed).toMatchObject({ actor: { kind: "anonymous" }, address: "192.0.2.99", user_agent: "guesser/1.0" });
    expect(JSON.stringify(failed)).not.toContain("weir_guess");
  });

  it("has answers to a consent page that was not shown", async () => {
    const caller = await newCaller();
    const browser = new Browser();
    const form = await browser.consentForm(request(await newClient()), caller.key);
    expect((await browser.submit({ ...form, proof: "0".repeat(64) })).status).toBe(400);
    expect(await listEntries(caller, "grant.refused")).toHaveLength(1);
  });

  it("has keys and tokens that are not known", async () => {
    const mark = `/threads/${crypto.randomUUID()}`;
    const headers = { "cf-connecting-ip": "192.0.2.98" };
    await send(mark, { headers: { ...headers, "x-api-key": "weir_unknown" } });
    await send(mark, { headers: { ...headers, authorization: "Bearer weir_at_unknown" } });
    const countRefused = async () =>
      (await listAnonymous("credential.refused")).filter(({ detail }) => detail["path"] === mark).length;
    await expect.poll(countRefused).toBe(2);
  });

  it("has the failures of a network, also while another one fails all the time", async () => {
    const fail = (address: string, path: string) =>
      send(path, { headers: { "x-api-key": "weir_unknown", "cf-connecting-ip": address } });
    const [loud, quiet] = [`/${crypto.randomUUID()}`, `/${crypto.randomUUID()}`];
    for (let i = 0; i < 30; i += 1) await fail(`2001:db8:9:9::${i}`, loud);
    await fail("2001:db8:9:a::1", quiet);
    const count = async (path: string) =>
      (await listAnonymous("credential.refused")).filter(({ detail }) => detail["path"] === path).length;
    await expect.poll(() => count(quiet)).toBe(1);
    // A new minute may begin in between.
    expect([10, 20]).toContain(await count(loud));
  });

  it("has uses of the admin key", async () => {
    const caller = await newCaller();
    await expect.poll(async () => (await listEntries(caller, "admin_key.used")).length).toBe(1);
    const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
    for (let i = 0; i < 3; i += 1) await send("/api/v1/api-keys", { headers });
    expect(await listEntries(caller, "admin_key.used")).toHaveLength(1);
  });

  it("has exports", async () => {
    const caller = await newCaller();
    const made = await caller.fetch("/api/v1/bulk-exports/destinations", {
      body: { destination_type: "r2", display_name: "d", config: {} },
    });
    expect(made.status).toBe(200);
    const { id } = await made.json<{ id: string }>();
    const body = {
      bulk_export_destination_id: id,
      session_id: (await (await caller.fetch("/api/v1/sessions", { body: { name: "p" } })).json<{ id: string }>()).id,
      start_time: "2026-01-01T00:00:00Z",
      end_time: "2026-01-02T00:00:00Z",
    };
    expect((await caller.fetch("/api/v1/bulk-exports", { body })).status).toBe(200);
    expect(await listEntries(caller, "destination.created")).toHaveLength(1);
    expect(await listEntries(caller, "export.created")).toHaveLength(1);
  });

  it("cannot be changed over the API", async () => {
    const caller = await newCaller();
    const status = async (method: string) => (await caller.fetch("/api/v1/audit-log", { method })).status;
    expect(await Promise.all(["DELETE", "PATCH", "PUT", "POST"].map(status))).toEqual([405, 405, 405, 405]);
  });
});

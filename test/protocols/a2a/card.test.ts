import "../../support/graphs.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import { DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import { exportJWK, generateKeyPair } from "jose";
import * as v from "valibot";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../support/app.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { type Json, message1, result, rpc } from "./rpc.ts";
import { Card03, Card1 } from "./shapes.ts";

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

const now = { "a2a-version": "1.0" };
const read = async (path: string, headers: Record<string, string> = {}) => {
  const response = await send(path, { headers });
  return { response, card: await response.json<Json>() };
};
const toCardPath = (id: string) => `/.well-known/agent-card.json?assistant_id=${id}`;

async function newAssistant(body: Json): Promise<string> {
  const made = await caller.fetch("/assistants", { body: { graph_id: "actor", ...body } });
  return (await made.json<Json>()).assistant_id;
}

describe("an agent card", () => {
  it("is found without a credential, at both addresses, by the requested version", async () => {
    for (const path of [
      toCardPath("echo"),
      "/a2a/echo/.well-known/agent-card.json",
      "/a2a/echo/.well-known/agent.json",
    ]) {
      const { card } = await read(path, now);
      v.parse(Card1, card);
      for (const headers of [{}, { "a2a-version": "0.3" }]) {
        const old = (await read(path, headers as Record<string, string>)).card;
        v.parse(Card03, old);
        expect(old.supportedInterfaces).toEqual(card.supportedInterfaces);
        expect(old.url).toBe(card.supportedInterfaces[0].url);
      }
      expect(card.supportedInterfaces[0].url).toMatch(/^https:\/\/weir\.test\/a2a\/[0-9a-f-]{36}$/);
    }
  });

  it("describes the assistant, from its own metadata and its graph", async () => {
    const skills = [{ id: "s", name: "Sum", description: "Adds.", tags: ["math"], examples: ["1+1"] }];
    const a2a = { skills, input_modes: ["text/plain"], output_modes: ["text/plain", "image/png"] };
    const id = await newAssistant({ name: "Adder", description: "It adds.", metadata: { a2a } });
    const { card } = await read(toCardPath(id), now);
    v.parse(Card1, card);
    expect(card).toMatchObject({ name: "Adder", description: "It adds.", skills, defaultInputModes: ["text/plain"] });
    const plain = await newAssistant({
      name: "Plain",
      metadata: { a2a: { skills: [], input_modes: [], output_modes: 7 } },
    });
    const fallback = (await read(toCardPath(plain), now)).card;
    v.parse(Card1, fallback);
    expect(fallback.skills).toMatchObject([{ id: "actor", tags: ["actor"] }]);
  });

  it("offers what the graph's state can hold: without messages there is no place for text", async () => {
    const own = await newAssistant({ graph_id: "scales" });
    const named = await newAssistant({ graph_id: "scales", metadata: { a2a: { input_modes: ["application/cbor"] } } });
    const modes = async (id: string) => (await read(toCardPath(id), now)).card.defaultInputModes;
    expect(await modes("scales")).toEqual(["application/json"]);
    expect(await modes(own)).toEqual(["application/json"]);
    expect(await modes(named)).toEqual(["application/cbor"]);
    expect(await modes("actor")).toContain("text/plain");
    const extended = await result(caller, "GetExtendedAgentCard", {}, { agent: "scales" });
    expect(extended.defaultInputModes).toEqual(["application/json"]);
  });

  it("may be kept, and is not sent again unchanged", async () => {
    const id = await newAssistant({ name: "Cached" });
    const { response } = await read(toCardPath(id));
    expect(response.headers.get("cache-control")).toMatch(/max-age=\d+/);
    expect(response.headers.get("vary")?.toLowerCase()).toContain("a2a-version");
    expect(Date.parse(response.headers.get("last-modified") ?? "")).not.toBeNaN();
    const etag = response.headers.get("etag") ?? "";
    expect((await send(toCardPath(id), { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await send(toCardPath(id), { headers: { "if-none-match": etag, ...now } })).status).toBe(200);
    await caller.fetch(`/assistants/${id}`, { method: "PATCH", body: { name: "Changed" } });
    expect((await send(toCardPath(id), { headers: { "if-none-match": etag } })).status).toBe(200);
  });

  it("has addresses of this server, with any header of a proxy or an attacker", async () => {
    const get = async (bindings: Partial<Env>, url: string, headers: Record<string, string>) => {
      const request = new Request(url + toCardPath("echo"), { headers: { ...now, ...headers } });
      const response = await app.fetch(request, { ...env, ...bindings }, createExecutionContext());
      return (await response.json<Json>()).supportedInterfaces[0].url as string;
    };
    expect(await get({}, "http://agents.example", { "x-forwarded-proto": "https" })).toMatch(
      /^https:\/\/agents\.example\/a2a\//,
    );
    expect(await get({}, "https://agents.example", { "x-forwarded-host": "evil.example" })).toMatch(
      /^https:\/\/agents\.example\//,
    );
    expect(await get({ PUBLIC_URL: "https://public.example/" }, "http://inner:8787", {})).toMatch(
      /^https:\/\/public\.example\/a2a\//,
    );
  });

  it("of an unknown assistant is not found; without a name it is a 400, and none are listed", async () => {
    expect((await send(toCardPath(crypto.randomUUID()))).status).toBe(404);
    const { response, card } = await read("/.well-known/agent-card.json");
    expect(response.status).toBe(400);
    expect(card.detail).toContain("assistant_id");
  });

  describe("is signed where a key is configured", () => {
    let bindings: Env;
    let verify: ReturnType<typeof verifyAgentCardSignature>;
    beforeAll(async () => {
      const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
      bindings = { ...env, A2A_SIGNING_KEY: JSON.stringify({ ...(await exportJWK(privateKey)), kid: "k1" }) };
      verify = verifyAgentCardSignature(async (kid, jku) => {
        if (kid === "k1" && jku === "https://weir.test/.well-known/jwks.json") return publicKey;
        throw new Error("The signature names another key.");
      });
    });
    const fetchCard: typeof fetch = (input, init) =>
      app.fetch(new Request(input, init), bindings, createExecutionContext()) as Promise<Response>;
    const get = async (path: string, headers: Record<string, string> = {}) =>
      (await fetchCard(`https://weir.test${path}`, { headers })).json<Json>();
    /** The SDK's resolver requests a card of 1.0. Behind a cache that does not vary by the version it gets the other one. */
    const resolve = (path: string, fetchImpl = fetchCard) =>
      new DefaultAgentCardResolver({ fetchImpl }).resolve("https://weir.test", path);
    const fetchHybrid: typeof fetch = (input) => fetchCard(input);

    it("so that the SDK verifies it, read by itself or by its resolver, in both forms", async () => {
      const keys = await get("/.well-known/jwks.json");
      expect(keys.keys).toMatchObject([{ kid: "k1", kty: "EC" }]);
      expect(keys.keys[0]).not.toHaveProperty("d");
      const card = await get(toCardPath("echo"), now);
      v.parse(Card1, card);
      const hybrid = await get(toCardPath("echo"));
      v.parse(Card03, hybrid);
      for (const one of [
        card,
        hybrid,
        await resolve(toCardPath("echo")),
        await resolve(toCardPath("echo"), fetchHybrid),
      ]) {
        await verify(one as never);
        await expect(verify({ ...one, name: "Forged" } as never)).rejects.toThrow("No valid signatures");
      }
    });

    it("also where an extension has a parameter that is false, null or empty", async () => {
      const params = { one: false, two: null, three: "", four: [], five: { six: {} }, seven: 0, eight: [""] };
      const extensions = [{ uri: "https://x.example/e", description: "", required: false, params }];
      const id = await newAssistant({ name: "Extended", metadata: { a2a: { extensions } } });
      const cards = [await get(toCardPath(id), now), await get(toCardPath(id)), await resolve(toCardPath(id))];
      for (const card of cards) await expect(verify(card as never)).resolves.toBeUndefined();
    });
  });

  it("for callers with a credential is that of their own workspace", async () => {
    const found = await caller.fetch("/assistants/search", { body: { graph_id: "echo" } });
    const [{ assistant_id }] = await found.json<[{ assistant_id: string }]>();
    await caller.fetch(`/assistants/${assistant_id}`, { method: "PATCH", body: { name: "Our echo" } });
    expect(await result(caller, "GetExtendedAgentCard", {}, { agent: "echo" })).toMatchObject({ name: "Our echo" });
    const old = await result(caller, "agent/getAuthenticatedExtendedCard", undefined, { agent: "echo" });
    expect(old).toMatchObject({ name: "Our echo", protocolVersion: "0.3.0" });
    expect((await read(toCardPath("echo"), now)).card.name).toBe("echo");
  });
});

it("media types that an assistant does not take or give are refused where it names some", async () => {
  const agent = await newAssistant({
    metadata: { a2a: { input_modes: ["text/plain", "image/*"], output_modes: ["text/plain"] } },
  });
  const code = async (part: Json, acceptedOutputModes: string[] = []) => {
    const params = { message: message1("", { parts: [{ text: "hi" }, part] }), configuration: { acceptedOutputModes } };
    return (await rpc(caller, "SendMessage", params, { agent })).error?.code;
  };
  expect(await code({ url: "https://x.example/a.png", mediaType: "image/png" })).toBeUndefined();
  expect(await code({ url: "https://x.example/a.pdf", mediaType: "application/pdf" })).toBe(-32005);
  expect(await code({ text: "x" }, ["text/*"])).toBeUndefined();
  expect(await code({ text: "x" }, ["image/png"])).toBe(-32005);
});

it("the card of a default assistant says when it last changed", async () => {
  const response = await send("/a2a/actor/.well-known/agent-card.json");
  const changed = Date.parse(response.headers.get("last-modified") ?? "");
  expect(changed).toBeGreaterThan(Date.parse("2020-01-01"));
  expect(changed).toBeLessThanOrEqual(Date.now());
});

/** What users of a project's `auth` may do in the Store, when the handler's filter names namespaces and keys. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Auth } from "@langchain/langgraph-sdk/auth";
import { beforeEach, expect, it } from "vitest";
import { isObject } from "../../../src/lib/json.ts";
import { projectExports } from "../../../src/deployment.ts";
import { app } from "../../support/app.ts";
import { newCaller, send } from "../../support/caller.ts";

type Rules = Record<string, unknown>;

/** An `Auth` whose users are the bearer tokens, with this handler of the Store. */
function deploy(handler: (given: { namespace: string[] }, identity: string) => Rules | undefined): void {
  const auth = new Auth()
    .authenticate((request: Request) => {
      const identity = decodeURIComponent((request.headers.get("authorization") ?? "").replace("Bearer ", ""));
      return { identity, permissions: [] };
    })
    .on("store", ({ value, user }) => handler(value as { namespace: string[] }, user.identity) as never);
  Object.assign(projectExports, { auth });
}

let workspace: string;
let key: string;
beforeEach(async () => {
  const caller = await newCaller();
  workspace = caller.workspaceId;
  key = caller.key;
});

/** The answer to a user, or to the workspace's API key. */
async function call(user: string | undefined, method: string, path: string, body?: object) {
  const headers = {
    "content-type": "application/json",
    ...(user === undefined ? { "x-api-key": key } : { authorization: `Bearer ${encodeURIComponent(user)}` }),
  };
  const request = new Request(`https://weir.test/store${path}`, {
    method,
    headers,
    body: body && JSON.stringify(body),
  });
  const answer = await app.fetch(request, { ...env, AUTH_WORKSPACE_ID: workspace }, createExecutionContext());
  return { status: answer.status, body: answer.status === 204 ? null : await answer.json<Rules>() };
}

const put = (user: string | undefined, namespace: string[], value: object, name = "k") =>
  call(user, "PUT", "/items", { namespace, key: name, value });
const get = async (user: string, namespace: string[]) =>
  (await call(user, "GET", `/items?namespace=${encodeURIComponent(JSON.stringify(namespace))}&key=k`)).body;
async function findItems(user: string, prefix: string[] = []) {
  const { body } = await call(user, "POST", "/items/search", { namespace_prefix: prefix });
  return (body as { items: { namespace: string[] }[] }).items.map(({ namespace }) => namespace.join("/")).sort();
}
async function namespaces(user: string, prefix: string[] = []) {
  const { body } = await call(user, "POST", "/namespaces", { prefix });
  return (body as { namespaces: string[][] }).namespaces.map((labels) => labels.join("/"));
}

const ALL = [["ada"], ["ada", "notes"], ["ada.b"], ["bob"], ["shared", "ada"], ["bo", "b"]];
async function fill() {
  for (const namespace of ALL) expect((await put(undefined, namespace, { of: namespace.join("/") })).status).toBe(204);
}

it.each<[string, (identity: string) => Rules, string[]]>([
  ["a list is how namespaces begin", (identity) => ({ namespace: [identity] }), ["ada", "ada/notes"]],
  ["a text is a list of one label", (identity) => ({ namespace: identity }), ["ada", "ada/notes"]],
  ["$eq is the whole namespace", (identity) => ({ namespace: { $eq: [identity] } }), ["ada"]],
  [
    "$contains is a label anywhere",
    (identity) => ({ namespace: { $contains: identity } }),
    ["ada", "ada/notes", "shared/ada"],
  ],
  ["each label of $contains", (identity) => ({ namespace: { $contains: [identity, "notes"] } }), ["ada/notes"]],
  ["with members of the value", (identity) => ({ namespace: [identity], of: "ada/notes" }), ["ada/notes"]],
  ["with the key", (identity) => ({ namespace: [identity], key: "other" }), []],
])("a filter of namespaces: %s", async (_, rules, seen) => {
  deploy((_given, identity) => rules(identity));
  await fill();
  expect(await findItems("ada")).toEqual(seen);
  expect((await namespaces("ada")).sort()).toEqual(seen);
  for (const namespace of ALL) {
    const name = namespace.join("/");
    const item = await get("ada", namespace);
    expect([name, isObject(item)]).toEqual([name, seen.includes(name)]);
    const written = await put("ada", namespace, { of: name, by: "ada" });
    expect([name, written.status]).toEqual([name, seen.includes(name) ? 204 : 403]);
    await call("ada", "DELETE", "/items", { namespace, key: "k" });
  }
  // What ada does not see she has not deleted.
  deploy(() => undefined);
  expect(await findItems("anyone")).toEqual(
    ALL.map((one) => one.join("/"))
      .filter((one) => !seen.includes(one))
      .sort(),
  );
});

it("a label with a dot is not two labels", async () => {
  deploy((_given, identity) => ({ namespace: [identity] }));
  await fill();
  expect(await findItems("ada.b")).toEqual(["ada.b"]);
  expect(await findItems("bo.b")).toEqual([]);
  expect((await call("a\u001Fb", "POST", "/items/search", { namespace_prefix: [] })).status).toBe(403);
});

it.each([
  { namespace: 7 },
  { namespace: { $in: ["ada"] } },
  { namespace: [7] },
  { key: { $contains: "k" } },
  { of: ["x"] },
])("a rule that is not known shows nothing: %j", async (rules) => {
  deploy(() => rules);
  await fill();
  expect((await call("ada", "POST", "/items/search", { namespace_prefix: [] })).status).toBe(403);
  expect((await put("ada", ["ada"], {})).status).toBe(403);
});

it.each<[string, (given: { namespace: string[] }, identity: string) => undefined]>([
  [
    "puts it first",
    (given, identity) => {
      given.namespace = [identity, ...given.namespace];
    },
  ],
  [
    "compares it",
    (given, identity) => {
      if (given.namespace[0] !== identity) given.namespace = [identity];
    },
  ],
])("a user whose identity is * sees no namespace of others where the handler %s", async (_, handler) => {
  deploy(handler);
  await fill();
  expect(await namespaces("*")).toEqual([]);
  expect(await namespaces("*", ["*"])).toEqual([]);
  expect((await put("*", ["*"], {})).status).toBe(204);
  expect((await namespaces("*")).every((name) => name.startsWith("*"))).toBe(true);
  expect(await namespaces("ada")).not.toContain("*");
});

it("a user replaces an item whose encryption key is destroyed", async () => {
  deploy((_, identity) => ({ namespace: identity }));
  const keys = async (path: string, body?: object) => {
    const answer = await send(`/api/v1/encryption-keys${path}`, {
      headers: { "x-api-key": key },
      method: "POST",
      body,
    });
    return (await answer.json<{ id: string }>()).id;
  };
  const first = await keys("");
  expect(await put("ada", ["ada"], { n: 1 })).toMatchObject({ status: 204 });
  await keys("");
  await keys(`/${first}/destroy`, { confirm: first });
  expect(await put("ada", ["ada"], { n: 2 })).toMatchObject({ status: 204 });
  expect(await get("ada", ["ada"])).toMatchObject({ value: { n: 2 } });
});

/** The Store shows a user only what the handlers' filters and namespaces allow, for any user name. */
import { beforeEach, describe, expect, it } from "vitest";
import { newCaller } from "../support/caller.ts";
import { deployUsers, type Json, ownAuth, type User, userCalled } from "./users.ts";

const item = (user: User, key: string, owner = user.name, namespace = ["notes"]) =>
  user.fetch("/store/items", { namespace, key, value: { owner, text: `secret of ${user.name}` } }, "PUT");
const get = async (user: User, key: string, namespace = "notes") =>
  (await user.fetch(`/store/items?namespace=${encodeURIComponent(namespace)}&key=${key}`)).json<Json | null>();
const remove = (user: User, key: string) => user.fetch("/store/items", { namespace: ["notes"], key }, "DELETE");
const findItems = async (user: User, more: Json = {}) => {
  const answer = await user.json<{ items: Json[] }>("/store/items/search", { namespace_prefix: [], ...more });
  return answer.items.map(({ key }) => key);
};
const namespaces = async (user: User) =>
  (await user.json<{ namespaces: string[][] }>("/store/namespaces", {})).namespaces;

const ada = userCalled("ada");
const bob = userCalled("bob");

describe("with a handler that gives a filter", () => {
  beforeEach(async () => {
    deployUsers(ownAuth().on("store", ({ user }) => ({ owner: user.identity })));
    await item(ada, "k");
  });

  it("a user does not get, search, list, replace or delete another's item", async () => {
    expect(await get(bob, "k")).toBeNull();
    expect(await findItems(bob)).toEqual([]);
    expect(await findItems(bob, { query: "secret" })).toEqual([]);
    expect(await findItems(bob, { filter: { owner: "ada" } })).toEqual([]);
    expect(await namespaces(bob)).toEqual([]);
    expect((await item(bob, "k")).status).toBe(409);
    expect((await remove(bob, "k")).status).toBe(204);
    expect(await get(ada, "k")).toMatchObject({ value: { owner: "ada", text: "secret of ada" } });
  });

  it("a user reaches their own, and writes none in another's name", async () => {
    expect(await findItems(ada)).toEqual(["k"]);
    expect(await findItems(ada, { query: "secret" })).toEqual(["k"]);
    expect(await namespaces(ada)).toEqual([["notes"]]);
    expect((await item(ada, "k")).status).toBe(204);
    expect((await item(bob, "other", "ada")).status).toBe(403);
    expect((await remove(ada, "k")).status).toBe(204);
    expect(await get(ada, "k")).toBeNull();
  });
});

describe.each([
  ["a text", "owner"],
  ["a number", 1],
  ["an array", ["owner"]],
  ["an operator that is not known", { owner: { $ne: "ada" } }],
  ["two operators", { owner: { $eq: "ada", $contains: "ada" } }],
  ["a member that is undefined", { owner: undefined }],
  ["a plain object as a rule", { owner: { name: "ada" } }],
])("with a handler that gives %s", (_name, answer) => {
  it("every event is refused", async () => {
    deployUsers(
      ownAuth()
        .on("store", () => answer as never)
        .on("threads", () => answer as never),
    );
    expect((await item(ada, "k")).status).toBe(403);
    expect((await ada.fetch("/store/items?namespace=notes&key=k")).status).toBe(403);
    expect((await ada.fetch("/store/items/search", { namespace_prefix: [] })).status).toBe(403);
    expect((await ada.fetch("/store/namespaces", {})).status).toBe(403);
    expect((await remove(ada, "k")).status).toBe(403);
    expect((await ada.fetch("/threads/search", {})).status).toBe(403);
  });
});

describe("with a handler that puts the user's name before the namespace", () => {
  beforeEach(() => {
    deployUsers(
      ownAuth().on("store", ({ value, user }) => {
        const given = value as { namespace: string[] };
        given.namespace = [user.identity, ...given.namespace];
      }),
    );
  });

  it("a dot in the name leads to no other user", async () => {
    const a = userCalled("a");
    const ab = userCalled("a.b");
    expect((await item(a, "k", "a", ["b", "notes"])).status).toBe(204);
    expect(await get(ab, "k")).toBeNull();
    expect(await findItems(ab)).toEqual([]);
    expect(await namespaces(ab)).toEqual([]);
    expect((await remove(ab, "k")).status).toBe(204);
    expect(await get(a, "k", "b.notes")).toMatchObject({ namespace: ["a", "b", "notes"] });
  });

  it("a user whose name is an e-mail address has items of their own", async () => {
    const eve = userCalled("eve@mail.example");
    expect((await item(eve, "k")).status).toBe(204);
    expect(await get(eve, "k")).toMatchObject({ namespace: ["eve@mail.example", "notes"] });
    expect(await findItems(eve)).toEqual(["k"]);
    expect(await namespaces(eve)).toEqual([["eve@mail.example", "notes"]]);
    expect((await remove(eve, "k")).status).toBe(204);
    expect(await findItems(eve)).toEqual([]);
  });
});

it("labels hold dots: as repeated parameters, and in a JSON array", async () => {
  const caller = await newCaller();
  const put = (namespace: string[]) =>
    caller.fetch("/store/items", { method: "PUT", body: { namespace, key: "k", value: { namespace } } });
  for (const namespace of [["a.b"], ["a", "b"], ["a.b", "c"], ["a", "b.c"]]) {
    expect((await put(namespace)).status).toBe(204);
  }
  const read = async (query: string) =>
    (await (await caller.fetch(`/store/items?key=k&${query}`)).json<{ namespace: string[] } | null>())?.namespace;
  expect(await read("namespace=a.b")).toEqual(["a", "b"]);
  expect(await read('namespace=["a.b"]')).toEqual(["a.b"]);
  expect(await read("namespace=a.b&namespace=c")).toEqual(["a.b", "c"]);
  expect(await read("namespace=a&namespace=b.c")).toEqual(["a", "b.c"]);
  const under = await caller.fetch("/store/namespaces", { body: { prefix: ["a.b"], max_depth: 1 } });
  expect(await under.json()).toEqual({ namespaces: [["a.b"]] });
  expect((await put(["a\u001fb"])).status).toBe(422);
});

/** Items whose names hold what a database does not keep as it was given: in a workspace that encrypts they are read as in any other. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { makeKey } from "../../support/encryption.ts";

const NAMES = [
  "\ud800",
  "a\udfffb",
  "\u0000",
  "a\u0000b",
  "\u0001",
  "\u0002",
  "\ufeff",
  "é",
  "e\u0301",
  "a.b",
  "😀",
  "a/b",
];

interface Item {
  key: string;
  namespace: string[];
  value: unknown;
}

describe("an item with an odd name", () => {
  let sealed: Caller;
  let plain: Caller;
  beforeAll(async () => {
    [sealed, plain] = [await newCaller(), await newCaller()];
    await makeKey(sealed);
  });

  it.each(NAMES.map((name) => [JSON.stringify(name), name] as const))("%s", async (_, name) => {
    const answers = [];
    for (const caller of [plain, sealed]) {
      const body = { namespace: ["odd", name], key: name, value: { name: 1 } };
      const put = await caller.fetch("/store/items", { method: "PUT", body });
      const query = new URLSearchParams({ namespace: `odd.${name}`, key: name });
      const one = await caller.fetch(`/store/items?${query.toString()}`);
      const search = await caller.fetch("/store/items/search", { body: { namespace_prefix: ["odd"], limit: 100 } });
      const { items = [] } = await search.json<{ items?: Item[] }>();
      const listed = items.map(({ key, namespace, value }) => JSON.stringify([key, namespace, value])).toSorted();
      answers.push({ put: put.status, one: one.status, search: search.status, listed });
      await one.text();
    }
    expect(answers[1]).toEqual(answers[0]);
    expect([200, 422]).toContain(answers[0]?.search);
  });
});

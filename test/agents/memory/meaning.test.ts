import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { database } from "../../../src/db/client.ts";
import { searchItems } from "../../../src/agents/memory/search.ts";
import { deleteItem, putItems } from "../../../src/agents/memory/store.ts";
import { Ring } from "../../../src/access/encryption/ring.ts";

/** Texts as points: how much each is about animals, food and cars. */
const SUBJECTS = [/dog|cat|pet/, /bread|cake|pet food/, /car|wheel/];
const embed = async (texts: string[]) =>
  texts.map((text) => SUBJECTS.map((subject) => (subject.test(text) ? 1 : 0.01)));

it("with an embeddings function, a query ranks by meaning", async () => {
  const db = database(env.DB);
  const countStored = async () =>
    (await env.DB.prepare("SELECT count(*) AS n FROM store_vectors").first<number>("n")) ?? 0;
  const before = await countStored();
  const workspace = crypto.randomUUID();
  const put = (key: string, value: object, index?: string[] | false) =>
    putItems(db, new Ring(workspace), [{ namespace: ["m"], key, value: { ...value }, index }], { embed });
  await put("dog", { text: "a dog", note: "likes the car" }, ["text"]);
  await put("bread", { text: "some bread" });
  await put("both", { text: "a car", also: "a pet" });
  await put("hidden", { text: "a cat" }, false);
  const search = async (query: string, offset = 0) => {
    const found = await searchItems(
      db,
      new Ring(workspace),
      { prefix: ["m"], query, limit: 10, offset, refreshTtl: false },
      { embed },
    );
    return found.map(({ key, score }) => [key, Math.round((score ?? 0) * 10) / 10]);
  };
  expect(await search("cat")).toEqual([
    ["both", 1],
    ["dog", 1],
    ["bread", 0],
  ]);
  expect(await search("wheel", 1)).toEqual([
    ["bread", 0],
    ["dog", 0],
  ]);
  await put("dog", { text: "cake" });
  await deleteItem(db, workspace, ["m"], "both");
  expect((await search("cake")).map(([key]) => String(key)).toSorted()).toEqual(["bread", "dog"]);
  expect((await countStored()) - before).toBe(2);
});

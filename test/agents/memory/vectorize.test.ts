/** Search by meaning on a stand-in of a Vectorize index: late, full of deleted items, or away. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { database } from "../../../src/db/client.ts";
import { searchItems } from "../../../src/agents/memory/search.ts";
import { deleteItem, putItems } from "../../../src/agents/memory/store.ts";
import { Ring } from "../../../src/access/encryption/ring.ts";
import type { VectorIndex } from "../../../src/agents/memory/vectors.ts";

const db = database(env.DB);
let workspace: string;
beforeEach(() => {
  workspace = crypto.randomUUID();
});

/** A text such as "0.6 0.8" is its own vector. */
const embed = async (texts: string[]) => texts.map((text) => text.split(" ").map(Number));

/** An index that holds what is upserted, and answers from it by cosine, as Vectorize does. */
function standIn() {
  const vectors = new Map<string, { values: number[]; namespace: string }>();
  const dot = (a: number[], b: number[]) => a.reduce((sum, value, n) => sum + value * (b[n] ?? 0), 0);
  const index = {
    upsert: vi.fn<VectorIndex["upsert"]>(async (given) => {
      for (const { id, values, namespace } of given) vectors.set(id, { values, namespace });
    }),
    query: vi.fn<VectorIndex["query"]>(async (target, { topK, namespace }) => {
      const own = [...vectors].filter(([, one]) => one.namespace === namespace);
      const near = own.toSorted(([, a], [, b]) => dot(target, b.values) - dot(target, a.values));
      return { matches: near.slice(0, topK).map(([id]) => ({ id })) };
    }),
    deleteByIds: vi.fn<VectorIndex["deleteByIds"]>(async (ids) => {
      for (const id of ids) vectors.delete(id);
    }),
  };
  return { index, vectors };
}

const put = (index: VectorIndex | undefined, items: Record<string, string>, namespace = ["m"]) =>
  putItems(
    db,
    new Ring(workspace),
    Object.entries(items).map(([key, text]) => ({ namespace, key, value: { text } })),
    { embed, index },
  );
async function search(index: VectorIndex, query: string, limit: number, prefix = ["m"]): Promise<string[]> {
  const asked = { prefix, query, limit, offset: 0, refreshTtl: false };
  return (await searchItems(db, new Ring(workspace), asked, { embed, index })).map(({ key }) => key);
}
/** Statements in which D1 compares with vectors page by page. */
const scans = (prepare: { mock: { calls: unknown[][] } }) =>
  prepare.mock.calls.filter(([sql]) => /rowid > \?.*order by/is.test(String(sql))).length;

describe("with a Vectorize index", () => {
  it("a search reads what the index proposes, of its own workspace, and ranks it exactly", async () => {
    const { index, vectors } = standIn();
    await put(index, { a: "1 0", b: "0.8 0.6", c: "0 1" });
    expect([...vectors.values()].map(({ namespace }) => namespace)).toEqual([workspace, workspace, workspace]);
    const prepare = vi.spyOn(env.DB, "prepare");
    expect(await search(index, "1 0.1", 2)).toEqual(["a", "b"]);
    expect(scans(prepare)).toBe(0);
    prepare.mockRestore();
    expect(index.query).toHaveBeenCalledWith([1, 0.1], { topK: 100, namespace: workspace });
  });

  it("an item that the index does not know yet is found", async () => {
    const { index } = standIn();
    await put(index, { a: "0.9 0.1", b: "0.8 0.6" });
    index.upsert.mockResolvedValueOnce(undefined);
    await put(index, { fresh: "1 0" });
    expect(await search(index, "1 0", 2)).toEqual(["fresh", "a"]);
  });

  it("a narrow search whose items the index does not propose compares with all of them", async () => {
    const { index } = standIn();
    await put(index, { far: "0 1" }, ["other"]);
    await put(index, Object.fromEntries(Array.from({ length: 620 }, (_, n) => [`near${n}`, "1 0"])));
    const prepare = vi.spyOn(env.DB, "prepare");
    expect(await search(index, "1 0", 1, ["other"])).toEqual(["far"]);
    expect(scans(prepare)).toBeGreaterThan(0);
    prepare.mockRestore();
  });

  it("vectors of deleted items leave the index with the search that meets them", async () => {
    const { index, vectors } = standIn();
    await put(index, { a: "1 0", b: "0 1" });
    await deleteItem(db, workspace, ["m"], "a");
    expect(await search(index, "1 0", 1)).toEqual(["b"]);
    expect(vectors.size).toBe(1);
  });

  it.each(["upsert", "query", "deleteByIds"] as const)(
    "an index whose %s fails loses and hides nothing",
    async (method) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const { index } = standIn();
      index[method].mockRejectedValue(new Error("VECTOR_QUERY_ERROR"));
      await put(index, { a: "1 0", b: "0 1", gone: "0.9 0.1" });
      await deleteItem(db, workspace, ["m"], "gone");
      expect(await search(index, "1 0", 2)).toEqual(["a", "b"]);
      vi.restoreAllMocks();
    },
  );
});

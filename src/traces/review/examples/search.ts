/** Examples that are alike, and copies of examples. */
import { database } from "../../../db/client.ts";
import { openSealedBlobs } from "../../../access/encryption/blobs.ts";
import { parseJson, JsonObject } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { blobKey } from "./bodies.ts";
import { countMatching, type ExampleRow, type ExampleQuery, listExamples, findExamples } from "./store.ts";
import { type DatasetRow, existingDataset, LATEST, resolveVersion } from "../datasets/store.ts";
import { Id, Time, choosing, optional, Uuid } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { createDoc } from "../../../http/route.ts";
import { serverAddress, type App, idempotentId } from "../../../http/context.ts";
import { body, param } from "../../../http/validate.ts";
import { runsResponse } from "../../query/responses.ts";
import { cloneExamples } from "./source.ts";
import { Example, examplesResponse, exampleValue } from "./row.ts";
import { AsOf, DatasetId, Splits } from "./schema.ts";

// How well texts match a query: Okapi BM25 with the usual constants.

const K1 = 1.2;
const B = 0.75;

export interface ScoredExample {
  id: string;
  score: number;
}

/** Counts the words of a query in texts, one at a time. A text itself is not kept. */
export class WordRanking {
  readonly #query: Set<string>;
  readonly #texts: { id: string; length: number; counts: Map<string, number> }[] = [];
  readonly #textsWith = new Map<string, number>();
  #words = 0;

  constructor(query: string) {
    this.#query = new Set(splitWords(query));
  }

  add(id: string, text: string): void {
    const words = splitWords(text);
    const counts = new Map<string, number>();
    for (const word of words) if (this.#query.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const word of counts.keys()) this.#textsWith.set(word, (this.#textsWith.get(word) ?? 0) + 1);
    this.#words += words.length;
    this.#texts.push({ id, length: words.length, counts });
  }

  /** The texts that share a word with the query, the best first. Equal ones keep the order in which they were added. */
  best(limit: number): ScoredExample[] {
    const mean = this.#words / Math.max(1, this.#texts.length);
    const scored = this.#texts.flatMap(({ id, length, counts }) => {
      if (counts.size === 0) return [];
      const norm = K1 * (1 - B + (B * length) / mean);
      const score = [...counts].reduce(
        (sum, [word, count]) => sum + (this.#weight(word) * count * (K1 + 1)) / (count + norm),
        0,
      );
      return [{ id, score }];
    });
    return scored.sort((a, b) => b.score - a.score).slice(0, limit);
  }

  /** A word that few texts have says more. */
  #weight(word: string): number {
    const having = this.#textsWith.get(word) ?? 0;
    return Math.log(1 + (this.#texts.length - having + 0.5) / (having + 0.5));
  }
}

/** Letters and digits of any script, in lower case. */
function splitWords(text: string): string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

// The examples of a dataset whose inputs are like the given ones.

/** A search reads all examples. */
const MAX_EXAMPLES = 10_000;
const MAX_LARGE = 200;
const PAGE = 200;

type SearchedExamples = Pick<ExampleQuery, "filter" | "asOf">;

/** The best first. @throws Problem 422 when the dataset is too large to be searched */
export async function searchExamples(
  env: Env,
  { workspaceId, id: dataset }: DatasetRow,
  inputs: object,
  which: SearchedExamples,
  limit: number,
): Promise<ScoredExample[]> {
  const db = database(env.DB);
  const count = await countMatching(db, workspaceId, { ...which, dataset });
  if (count > MAX_EXAMPLES) {
    throw new Problem(422, `More than ${MAX_EXAMPLES} examples cannot be searched. Give a filter.`);
  }
  const ranking = new WordRanking(textsIn(inputs));
  let large = 0;
  let after: ExampleRow | undefined;
  for (;;) {
    const rows = await listExamples(db, workspaceId, {
      ...which,
      dataset,
      limit: PAGE,
      offset: 0,
      ...(after && { after }),
    });
    for (const row of rows) {
      if (row.inputsHash && ++large > MAX_LARGE) {
        throw new Problem(422, `More than ${MAX_LARGE} examples with large inputs cannot be searched. Give a filter.`);
      }
      const json = row.inputsHash
        ? await (await openSealedBlobs(env).get(blobKey(row, row.inputsHash)))?.text()
        : row.inputs;
      ranking.add(row.id, textsIn(parseJson(json ?? "null")));
    }
    after = rows.at(-1);
    if (rows.length < PAGE) return ranking.best(limit);
  }
}

/** The texts, numbers and so on in a value, without the names of its members. */
function textsIn(value: unknown): string {
  const texts: string[] = [];
  const waiting: unknown[] = [value];
  for (let at = 0; at < waiting.length; at++) {
    const next = waiting[at];
    // A long list as arguments would overflow the stack.
    if (typeof next === "object" && next !== null) for (const member of Object.values(next)) waiting.push(member);
    else if (next !== null) texts.push(typeof next === "string" ? next : JSON.stringify(next));
  }
  return texts.join("\n");
}

const doc = createDoc("Examples");

const Search = choosing({
  inputs: JsonObject,
  limit: optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
  filter: optional(v.pipe(v.string(), v.maxLength(20_000))),
  as_of: optional(AsOf),
  debug: optional(v.boolean()),
});
const Index = choosing({ tag: optional(v.string()) });
const Clone = choosing({
  source_dataset_id: Uuid,
  target_dataset_id: Uuid,
  as_of: optional(AsOf),
  examples: optional(v.pipe(v.array(Uuid), v.maxLength(10_000))),
  split: optional(Splits),
});

const FoundExamples = v.object({
  examples: v.array(v.object({ ...Example.entries, score: v.number() })),
});
const Indexed = v.object({ dataset_id: Id, tag: v.string(), last_updated_version: Time });

export const exampleSearch = new Hono<App>()
  .post("/datasets/clone", doc("Copy examples to another dataset", v.array(Example)), body(Clone), async (c) => {
    const { source_dataset_id, target_dataset_id, as_of, examples: id, split: splits } = c.req.valid("json");
    const source = await existingDataset(c, source_dataset_id);
    const target = await existingDataset(c, target_dataset_id);
    const asOf = await resolveVersion(database(c.env.DB), source.workspaceId, source.id, as_of);
    const which = { ...(id && { id }), ...(splits && { splits }), ...(asOf !== undefined && { asOf }) };
    const newId = (place: number) => idempotentId(c, String(place));
    const ids = await cloneExamples(c.env, source, target, which, newId);
    return examplesResponse(c.env, serverAddress(c), await findRows(c, ids));
  })
  .post(
    "/datasets/:dataset_id/search",
    doc("Find examples by their inputs", FoundExamples),
    param(DatasetId),
    body(Search),
    async (c) => {
      const { inputs, limit = 10, filter, as_of } = c.req.valid("json");
      const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
      const asOf = await resolveVersion(database(c.env.DB), dataset.workspaceId, dataset.id, as_of);
      const which = { ...(filter && { filter }), ...(asOf !== undefined && { asOf }) };
      const best = await searchExamples(c.env, dataset, inputs, which, limit);
      const rows = await findRows(
        c,
        best.map(({ id }) => id),
        asOf,
      );
      const scores = new Map(best.map(({ id, score }) => [id, score]));
      const shown = rows.map(async (row) => ({
        ...(await exampleValue(c.env, serverAddress(c), row)),
        score: scores.get(row.id),
      }));
      return runsResponse(openSealedBlobs(c.env), { examples: await Promise.all(shown) });
    },
  )
  .post(
    "/datasets/:dataset_id/index",
    doc("Allow searches in a dataset", Indexed),
    param(DatasetId),
    body(Index),
    async (c) => requireIndexed(c, c.req.valid("param").dataset_id, c.req.valid("json").tag),
  )
  .post(
    "/datasets/:dataset_id/index/sync",
    doc("Update the index of a dataset", Indexed),
    param(DatasetId),
    async (c) => requireIndexed(c, c.req.valid("param").dataset_id),
  );

/** Older SDKs make an index before they search. A search reads the examples themselves, so there is nothing to make. */
async function requireIndexed(c: Context<App>, id: string, tag: string = LATEST): Promise<Response> {
  const dataset = await existingDataset(c, id);
  if (tag !== LATEST) throw new Problem(501, "Weir searches the newest version. Give as_of with the search.");
  return c.json({ dataset_id: id, tag, last_updated_version: new Date(dataset.examplesAt).toISOString() });
}

/** The examples with these ids, in their order. */
async function findRows(c: Context<App>, ids: string[], asOf?: number) {
  const rows = await findExamples(database(c.env.DB), c.get("principal").workspaceId, ids, asOf);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

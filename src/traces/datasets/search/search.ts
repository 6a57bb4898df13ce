/** The examples of a dataset whose inputs are like the given ones. */
import { database } from "../../../db/client.ts";
import { openBlobs } from "../../../access/encryption/blobs.ts";
import { parseJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { blobKey } from "../../review/examples/bodies.ts";
import { countMatching, type ExampleRow, type ExamplesWanted, listExamples } from "../../review/examples/store.ts";
import type { DatasetRow } from "../store.ts";
import { Ranking, type Scored } from "./score.ts";

/** A search reads all examples. */
const MOST_EXAMPLES = 10_000;
const MOST_LARGE = 200;
const PAGE = 200;

type Which = Pick<ExamplesWanted, "filter" | "asOf">;

/** The best first. @throws Problem 422 when the dataset is too large to be searched */
export async function searchExamples(
  env: Env,
  { workspaceId, id: dataset }: DatasetRow,
  inputs: object,
  which: Which,
  limit: number,
): Promise<Scored[]> {
  const db = database(env.DB);
  const count = await countMatching(db, workspaceId, { ...which, dataset });
  if (count > MOST_EXAMPLES) {
    throw new Problem(422, `More than ${MOST_EXAMPLES} examples cannot be searched. Give a filter.`);
  }
  const ranking = new Ranking(textsIn(inputs));
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
      if (row.inputsHash && ++large > MOST_LARGE) {
        throw new Problem(422, `More than ${MOST_LARGE} examples with large inputs cannot be searched. Give a filter.`);
      }
      const json = row.inputsHash ? await (await openBlobs(env).get(blobKey(row, row.inputsHash)))?.text() : row.inputs;
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

/**
 * Whole columns of runs, each as one value of SQLite. A row of a query costs an array with a string, or a buffer and its view,
 * for each of its columns, and later their collection.
 */
import { joinPayloads } from "./store/packs.ts";
import { joinTexts, layOut, type Texts } from "../texts.ts";

/** A run whose columns are read. No column of it has more bytes than `weight`. */
export interface Weighed {
  n: number;
  weight: number;
}

/** The most bytes of a value. SQLite takes 2 MB, and a part ends after the run that passes this (limits.ts). */
const JOINED_BYTES = 1024 * 1024;

/** Room for the length that precedes each text. */
const ROOM = "'    '";

/**
 * The columns that these SQL expressions on `runs r` and the tables of `joinPayloads` name: `texts` as they are in the database,
 * `light` as JSON arrays.
 */
export function readColumns(
  sql: SqlStorage,
  runs: Weighed[],
  { texts, light }: { texts: string[]; light: string[] },
): { texts: Texts[]; light: string[] } {
  const parts = [...splitRuns(runs)].map((numbers) => readPart(sql, numbers, texts, light));
  return {
    texts: texts.map((_, index) => joinTexts(parts.map((part) => part.texts[index] as Texts))),
    light: light.map((_, index) => `[${parts.map((part) => part.light[index]?.slice(1, -1)).join()}]`),
  };
}

/** The numbers of the runs that are read at once. */
function* splitRuns(runs: Weighed[]): Generator<number[]> {
  let numbers: number[] = [];
  let size = 0;
  for (const { n, weight } of runs) {
    numbers.push(n);
    size += weight;
    if (size < JOINED_BYTES) continue;
    yield numbers;
    numbers = [];
    size = 0;
  }
  if (numbers.length > 0) yield numbers;
}

function readPart(
  sql: SqlStorage,
  numbers: number[],
  texts: string[],
  light: string[],
): { texts: Texts[]; light: string[] } {
  const inner = texts.map((expression, index) => `${expression} AS t${index}`);
  const columns = [
    // As bytes, for JavaScript would make a string of them.
    ...texts.map((_, i) => `CAST(group_concat(${ROOM} || t${i}, '') AS BLOB), json_group_array(octet_length(t${i}))`),
    ...light.map((_, i) => `json_group_array(l${i})`),
  ];
  if (columns.length === 0) return { texts: [], light: [] };
  // LIMIT keeps SQLite from evaluating an expression again at each place of its name.
  const [values = []] = sql
    .exec(
      `SELECT ${columns.join()} FROM (
         SELECT ${[...inner, ...light.map((expression, i) => `${expression} AS l${i}`)].join()}
         FROM json_each(?) k CROSS JOIN runs r ON r.n = k.value ${joinPayloads()} LIMIT -1
       )`,
      JSON.stringify(numbers),
    )
    .raw();
  return {
    texts: texts.map((_, index) => {
      const [joined, lengths] = values.slice(2 * index) as [ArrayBuffer | null, string];
      return layOut(new Uint8Array(joined ?? new ArrayBuffer(0)), JSON.parse(lengths) as (number | null)[]);
    }),
    light: values.slice(2 * texts.length) as string[],
  };
}

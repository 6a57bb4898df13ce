/** Which blocks can have runs that match a filter, according to their grams and bounds. */
import { BLOCK_RUNS, blockSql, blocksWith, runsOfBlocks } from "./blocks.ts";
import { withinBounds } from "./bounds.ts";
import { splitGrams, hasGrams, SLICE_ROWS } from "./grams.ts";
import type { Wanted } from "./wanted.ts";

/** The slices that are read for one text. */
const MOST_SLICES = 6;
/** So few blocks are read as a whole; of more, the runs are read in the order of their start. */
const FEW = 40;

/** Where the runs are that can pass: a FROM clause, a condition, and their bound values, which go before all others. */
export interface Source {
  from: string;
  sql: string;
  values: string[];
  /** Whether only a few runs have to be read. */
  isSmall: boolean;
}

/** The runs that can pass the filter. */
export function selectSource(sql: SqlStorage, wanted: Wanted, alias = "r"): Source {
  const everywhere = { from: `runs ${alias}`, sql: "1", values: [], isSmall: false };
  if (!wanted) return everywhere;
  const { sealed, open } = blocksWith(sql, "has_grams");
  if (sealed.length === 0) return everywhere;
  const blocks = [...selectPassing(sql, wanted, sealed), ...open];
  if (blocks.length === sealed.length + open.length) return everywhere;
  const values = [JSON.stringify(blocks)];
  if (blocks.length <= FEW) return { from: runsOfBlocks(alias), sql: "1", values, isSmall: true };
  // Every index has the number, so that the row of a run in another block is not read.
  const among = `${blockSql(`${alias}.n`)} IN (SELECT value FROM json_each(?))`;
  return { ...everywhere, sql: among, values };
}

/** The same runs, read block by block, and how many they are at most. */
export function narrowByBlock(
  sql: SqlStorage,
  { values, ...source }: Source,
): { source: Source; blocks: number[]; runs: number } {
  const all = () => Object.values(blocksWith(sql, "has_grams")).flat();
  const blocks = values[0] === undefined ? all() : (JSON.parse(values[0]) as number[]);
  return {
    source: { ...source, from: runsOfBlocks(), sql: "1", values: [JSON.stringify(blocks)] },
    blocks,
    runs: blocks.length * BLOCK_RUNS,
  };
}

function selectPassing(sql: SqlStorage, wanted: Wanted, blocks: number[]): number[] {
  if (wanted === undefined || blocks.length === 0) return blocks;
  if ("text" in wanted) return havingText(sql, wanted.text, blocks);
  if ("bounded" in wanted) return withinBounds(sql, wanted.bounded, blocks);
  if ("all" in wanted) return wanted.all.reduce((left, part) => selectPassing(sql, part, left), blocks);
  const found = new Set<number>();
  for (const part of wanted.any) {
    for (const block of selectPassing(
      sql,
      part,
      blocks.filter((block) => !found.has(block)),
    ))
      found.add(block);
  }
  return blocks.filter((block) => found.has(block));
}

function havingText(sql: SqlStorage, text: string, blocks: number[]): number[] {
  // The slices with most grams are the most selective.
  const slices = [...splitGrams(text)].sort(([, a], [, b]) => b.length - a.length).slice(0, MOST_SLICES);
  let left = blocks;
  for (const [slice, bits] of slices) {
    if (left.length === 0) break;
    const rows = sql.exec(
      "SELECT value, bits FROM json_each(?) b CROSS JOIN grams ON n = value + ?",
      JSON.stringify(left),
      slice * SLICE_ROWS,
    );
    left = [...rows.raw()].flatMap(([block, stored]) =>
      hasGrams(new Uint8Array(stored as ArrayBuffer), bits) ? [block as number] : [],
    );
  }
  return left;
}

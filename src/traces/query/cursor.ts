/** Where a page ended, as the opaque text that clients send back. */
import * as v from "valibot";
import { parseJson } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import type { RankPosition } from "../rank-order.ts";
import type { RunPosition } from "../types.ts";

const Position = v.tuple([v.pipe(v.number(), v.integer()), v.pipe(v.string(), v.maxLength(40))]);

const encode = (cursor: unknown[]) => Buffer.from(JSON.stringify(cursor)).toString("base64url");
const invalid = () => new Problem(422, "Invalid cursor: send the one from the page before, unchanged.");

function decode<S extends v.GenericSchema>(schema: S, text: string): v.InferOutput<S> {
  const result = v.safeParse(schema, parseJson(Buffer.from(text, "base64url").toString()));
  if (!result.success) throw invalid();
  return result.output;
}

export function writeCursor(position: RunPosition | null): string | null {
  return position && encode([position.start_time, position.id]);
}

/** Parses a cursor; null without one. 422 for an invalid cursor. */
export function readCursor(text: string | null | undefined): RunPosition | null {
  if (!text) return null;
  const [start_time, id] = decode(Position, text);
  return { start_time, id };
}

const Ranked = v.tuple([v.string(), v.nullable(v.number()), v.pipe(v.string(), v.maxLength(40))]);

/** `by`: the figure by which the page is sorted, and in which order. */
export function writeRankCursor(by: string, position: RankPosition | null): string | null {
  return position && encode([by, position.figure, position.id]);
}

/** 422 for the cursor of another order, too. */
export function readRankCursor(by: string, text: string | undefined): RankPosition | null {
  if (!text) return null;
  const [order, figure, id] = decode(Ranked, text);
  if (order !== by) throw invalid();
  return { figure, id };
}

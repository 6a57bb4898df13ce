/** Where a page ended, as the opaque text that clients send back. */
import * as v from "valibot";
import { parseJson } from "../../http/json.ts";
import { Problem } from "../../http/problem.ts";
import type { RunPosition } from "../types.ts";

const Position = v.tuple([v.pipe(v.number(), v.integer()), v.pipe(v.string(), v.maxLength(40))]);

export function writeCursor(position: RunPosition | null): string | null {
  return position ? Buffer.from(JSON.stringify([position.start_time, position.id])).toString("base64url") : null;
}

/** Parses a cursor; null without one. 422 for an invalid cursor. */
export function readCursor(text: string | null | undefined): RunPosition | null {
  if (!text) return null;
  const result = v.safeParse(Position, parseJson(Buffer.from(text, "base64url").toString()));
  if (!result.success) throw new Problem(422, "Invalid cursor: send the one from the page before, unchanged.");
  const [start_time, id] = result.output;
  return { start_time, id };
}

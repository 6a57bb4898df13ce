/** Each known error that `npm run oracle -- --mutations` introduces has its place in the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Mutation, MUTATIONS, applyPatch } from "../oracle/mutations.ts";
import { TRACE_MUTATIONS } from "../oracle/traces/mutations.ts";

const ROOT = join(import.meta.dirname, "..", "..");

it.each(([...MUTATIONS, ...TRACE_MUTATIONS] as Mutation[]).map((one) => [one.name, one] as const))("%s", (_, one) => {
  for (const patch of one.patches) {
    const text = readFileSync(join(ROOT, patch.file), "utf8");
    expect(applyPatch(text, patch)).not.toBe(text);
  }
});

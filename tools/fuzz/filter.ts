/** The filter language of traces: trees of its calls, fields and values, with faults now and then. */
import { FIELDS, PAIR_FIELDS } from "../../src/traces/fields.ts";
import type { Dice } from "./dice.ts";
import { damageText, pickHostileNumber, hostileText } from "./hostile.ts";

const NAMES = [...Object.keys(FIELDS), ...Object.keys(PAIR_FIELDS), "tags", "nothing", "__proto__"];
const COMPARISONS = ["eq", "neq", "gt", "gte", "lt", "lte", "like", "has", "search", "in", "nothing", "constructor"];

export function filterText(dice: Dice): string {
  const text = call(dice, 0);
  return dice.chance(0.1) ? damageText(dice, text) : text;
}

function call(dice: Dice, depth: number): string {
  if (depth < 4 && dice.chance(0.35)) {
    const parts = Array.from({ length: dice.int(1, 4) }, () => call(dice, depth + 1));
    return `${dice.pick(["and", "or", "not"])}(${parts.join(", ")})`;
  }
  if (dice.chance(0.02)) return `${"not(".repeat(30)}eq(name, 1)${")".repeat(30)}`;
  const args = [dice.chance(0.9) ? dice.pick(NAMES) : value(dice), ...dice.some(2, () => value(dice))];
  return `${dice.pick(COMPARISONS)}(${args.join(", ")})`;
}

function value(dice: Dice, inList = false): string {
  if (dice.chance(inList ? 0.005 : 0.15)) {
    return `[${dice.some(dice.pick([3, 90]), () => value(dice, true)).join(", ")}]`;
  }
  return dice.pick([
    () => JSON.stringify(hostileText(dice)),
    () => `'${hostileText(dice)}'`,
    () => String(pickHostileNumber(dice)),
    () => dice.pick(["true", "false", "null", "x", '"2026-01-01T00:00:00Z"', '"5m"', '"1e400s"', '"llm"']),
    () => `"${dice.uuid()}"`,
  ])();
}

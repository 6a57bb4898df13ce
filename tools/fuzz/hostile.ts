/** Values that break parsers, queries, renderers and limits. */
import type { Dice } from "./dice.ts";

const TEXTS = [
  "",
  " ",
  "\0",
  "a\0b",
  "\u001f",
  "\ud800",
  "\udc00x",
  "\u202e\u200b",
  "😀".repeat(200),
  "é".repeat(600),
  "e\u0301",
  "İ",
  "'",
  "' or '1'='1",
  '"; drop table threads; --',
  "%",
  "_%_",
  "[a-z]*",
  "*",
  "(a+)+$",
  "..",
  "../../etc/passwd",
  "%2e%2e%2f",
  "%00",
  "%",
  "%zz",
  "//evil.example",
  "javascript:alert(1)",
  "<script>alert(1)</script>",
  "${7*7}",
  "{{7*7}}",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "$eq",
  "$.a",
  '$."a"',
  "a.b.c",
  "[0]",
  "null",
  "undefined",
  "NaN",
  "Infinity",
  "-0",
  "1e400",
  "0x10",
  "9007199254740993",
  "18446744073709551616",
  "2026-13-45T25:61:61Z",
  "0000-00-00T00:00:00Z",
  "-271821-04-20T00:00:00Z",
  "+275760-09-13T00:00:00.000001Z",
  "2026-01-01T00:00:00+99:99",
  "9999-12-31T23:59:59.999999Z",
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "00000000-0000-4000-8000-000000000001",
  "default",
  "a".repeat(5_000),
  // JSON that nests deeper than a stack.
  "[".repeat(5_000) + "]".repeat(5_000),
  `{"a":${'{"a":'.repeat(8_000)}0${"}".repeat(8_001)}`,
  "a|b:c",
  "|",
  "__start__",
  "__interrupt__",
  "\r\nx-injected: 1",
  "data: x\n\nevent: y\n\n",
];
const NUMBERS = [0, -0, -1, 1, 0.5, -0.1, 1e-320, 1e21, 1e308, 2 ** 31, 2 ** 53, 2 ** 53 - 1, -(2 ** 63), 1_000_001];
const KEYS = [
  "__proto__",
  "constructor",
  "toString",
  "",
  "$eq",
  "$gt",
  "$contains",
  "a.b",
  "a'b",
  'a"b',
  "\0",
  "id",
  "x",
];

export const hostileText = (dice: Dice): string => dice.pick(TEXTS);
export const pickHostileNumber = (dice: Dice): number => dice.pick(NUMBERS);

/** Any JSON value, rarely a plain one. */
export function hostileValue(dice: Dice, depth = 0): unknown {
  const kind = dice.int(0, depth > 2 ? 4 : 8);
  if (kind <= 1) return hostileText(dice);
  if (kind === 2) return pickHostileNumber(dice);
  if (kind === 3) return dice.pick([null, true, false]);
  if (kind === 4) return dice.pick([[], {}]);
  if (kind === 5) return nestValue(dice.pick([5, 60, 150, 2_000]), dice.chance(0.5));
  if (kind === 6) return Array.from({ length: dice.pick([1, 3, 101, 1_001]) }, () => dice.pick(NUMBERS));
  if (kind === 7) return dice.some(4, () => hostileValue(dice, depth + 1));
  return hostileObject(dice, depth);
}

/** An object whose own member may be called `__proto__`. */
export function hostileObject(dice: Dice, depth = 0): object {
  const entries = dice.some(4, () => [dice.pick(KEYS), hostileValue(dice, depth + 1)] as const);
  const made = {};
  for (const [key, value] of entries) {
    Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return made;
}

function nestValue(depth: number, lists: boolean): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i += 1) value = lists ? [value] : { a: value };
  return value;
}

/** The text of a body with a fault in it: cut, with a byte changed, or with something behind it. */
export function damageText(dice: Dice, text: string): string {
  const at = dice.int(0, text.length);
  const kind = dice.int(0, 3);
  if (kind === 0) return text.slice(0, at);
  if (kind === 1) return text + dice.pick(["}", "]", ",", "\0", text, "//"]);
  if (kind === 2)
    return text.slice(0, at) + dice.pick(['"', "\\", "\\u12", "{", "[", "\0", "1e999", "-"]) + text.slice(at + 1);
  return text.replace(/:/, dice.pick(["::", "=", ""]));
}

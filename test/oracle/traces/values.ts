/** Hostile values by kind, as JSON texts, and hostile names of members. */

export const VALUES = {
  plain: ['"answer"', "42", '"another answer"'],
  unicode: [
    '"é été 水 🌊"',
    '"👩‍👩‍👧"',
    '"nul\\u0000inside"',
    '"\\ud800 alone"',
    '"alone \\udc00"',
    '"a\\u0301"',
    '"\u2028\u2029 lines"',
    '"\\ufeffmark"',
    '"ı İ ß ſ"',
    '"\u202eright to left"',
  ],
  escapes: [
    '"a\\/b"',
    '"\\u0022quoted\\u0022"',
    '"say \\"hi\\""',
    '"back\\\\slash"',
    '"line\\nbreak\\ttab"',
    '"\\b\\f\\r"',
    '"it\'s"',
    '"100% of_it"',
    '"*[a]?"',
    '"\\u00e9t\\u00E9"',
    '"\\\\u0041"',
  ],
  numbers: [
    "0.30000000000000004",
    "1e21",
    "1E-7",
    "0.1",
    "1.0",
    "2.5",
    "9007199254740993",
    "-9223372036854775808",
    "18446744073709551615",
    "123456789012345678901234567890",
    "5e-324",
    "1.7976931348623157e308",
  ],
  nested: [
    "{}",
    "[]",
    "null",
    "true",
    '""',
    "[[1,[2]],null]",
    '{"a":{"b":[1,{"c":null}]}}',
    '{"":""}',
    '{"a.b":1,"a":{"b":2}}',
    `${"[".repeat(30)}1${"]".repeat(30)}`,
  ],
  names: [
    '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":1}}',
    '{"toString":"x"}',
    '"__proto__"',
    '"constructor"',
    '{"$ne":1,"length":2}',
    `{"${"n".repeat(300)}":1}`,
  ],
  long: [
    `"${"x".repeat(249)}🌊${"y".repeat(60)}"`,
    `"${"🌊".repeat(200)}"`,
    `"${"word ".repeat(90)}end"`,
    `"${"long".repeat(70_000)}"`,
  ],
} as const satisfies Record<string, readonly string[]>;

export type ValueKind = keyof typeof VALUES;

/** Names of metadata. */
export const KEYS: readonly string[] = ["k", "a.b", "__proto__", "constructor", 'key "quoted"', "k🌊"];

/** Names of runs by kind of value, where those are not texts. Series tell them apart by their first 200 characters. */
export const NAMES: Partial<Record<ValueKind, readonly string[]>> = {
  names: ["__proto__", "constructor", "toString", "hasOwnProperty"],
  long: ["n".repeat(240), "m".repeat(250)],
};

/** Members that a query may select. Unknown ones are ignored, as on the platform. */
export const SELECTED: readonly string[][] = [
  ["name", "start_time"],
  ["__proto__"],
  ["constructor", "toString", "name"],
  ["id", "inputs", "outputs", "extra", "error", "tags"],
  ["none such"],
];

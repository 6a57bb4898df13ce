/** What each set finds and leaves, paths, and patterns from outside. */
import { describe, expect, it } from "vitest";
import { Masker } from "../../../src/traces/masking/masker.ts";
import { neededBy } from "../../../src/traces/masking/expressions.ts";
import { parsePath, type MaskRule } from "../../../src/traces/masking/schema.ts";
import { MASKS, type SetName } from "../../../src/traces/masking/sets.ts";
import { itThorough } from "../../support/thorough-test.ts";

const masker = async (...rules: MaskRule[]) => (await Masker.of(rules, "secret")) as Masker;
const mask = (set: SetName, text: string) => MASKS[set](text, "#");

const FOUND: [set: SetName, text: string, masked: string][] = [
  ["email", "write to jane.o'neil+x@mail.example.co.uk.", "write to #."],
  ["email", "jürgen@müller.example and a@b.io", "# and #"],
  ["phone", "call +1 (415) 555-2671 now", "call # now"],
  ["phone", "+4915112345678, 0049 151 1234567 or 030/1234567", "#, # or #"],
  ["phone", "(415) 555-2671 and 415-555-2671", "# and #"],
  ["iban", "DE89 3704 0044 0532 0130 00 and GB29NWBK60161331926819", "# and #"],
  ["iban", "de89370400440532013000, FR1420041010050500013M02606 is mine", "#, # is mine"],
  ["card", "4111 1111 1111 1111, 378282246310005 or 5555-5555-5555-4444", "#, # or #"],
  ["card", "exp 4111111111111111 12/29", "exp # 12/29"],
  ["card", "12 4111 1111 1111 1111 2029", "12 # 2029"],
  ["card", "1 2 3 4 5 6 4111111111111111 7 8 9", "1 2 3 4 5 6 # 7 8 9"],
  ["card", `${"0 ".repeat(50_000)}4111-1111-1111-1111`, `${"0 ".repeat(50_000)}#`],
  ["key", "sk-proj-abcdefghijklmnop1234 ghp_abcdefghijklmnopqrstuvwxyz0123456789", "# #"],
  ["key", "AKIAIOSFODNN7EXAMPLE; weir_key_0123456789abcdefghijklmn", "#; #"],
  ["key", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "Bearer #"],
  ["key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----!", "#!"],
];
const LEFT: [set: SetName, text: string][] = [
  ["email", "@handle, a@b, user@ host.example"],
  ["phone", "2026-11-25 12:30:00, 192.168.10.10, 1732550000000, 3.14159265358, order 123456789"],
  ["phone", "id 01a1f9a6-65cd-7000-8000-ebd552fc950b"],
  ["iban", "DE88 3704 0044 0532 0130 00, XX89370400440532013000, DE893704004405320130001"],
  ["card", "4111 1111 1111 1112, 1732550000000, 0000000000000000, 41111111111111111111"],
  ["key", "sk-short, risk-management-of-the-project, gh_, eyJ.eyJ.x, AKIA"],
];

describe("a set", () => {
  it.for(FOUND)("%s masks %j", ([set, text, masked]) => {
    expect(mask(set, text)).toBe(masked);
  });
  it.for(LEFT)("%s leaves %j", ([set, text]) => {
    expect(mask(set, text)).toBe(text);
  });
  it("takes time that grows with the text alone", () => {
    const unit = [
      "a@",
      "eyJ-",
      "1 ",
      "DE89 ",
      "sk-",
      "(1)",
      "a.",
      "@a.",
      "-----BEGIN PRIVATE KEY-----",
      "eyJaaaaaaaaa.",
      "+1",
    ];
    for (const text of unit.map((one) => one.repeat(400_000 / one.length))) {
      const before = performance.now();
      for (const set of Object.keys(MASKS) as SetName[]) mask(set, text);
      // The clock of workerd stands still while code runs: the timeout of the test is the check.
      expect(performance.now() - before).toBeLessThan(60_000);
    }
  }, 20_000);
});

describe("a path", () => {
  const PATHS: [path: string, masked: object][] = [
    ["$.inputs.user.ssn", { user: { ssn: "#", name: "n" }, list: [{ ssn: 1 }, { ssn: 2 }] }],
    ["$.inputs.list[*].ssn", { user: { ssn: 0, name: "n" }, list: [{ ssn: "#" }, { ssn: "#" }] }],
    ["$.inputs.list[1]", { user: { ssn: 0, name: "n" }, list: [{ ssn: 1 }, "#"] }],
    ["$..ssn", { user: { ssn: "#", name: "n" }, list: [{ ssn: "#" }, { ssn: "#" }] }],
    ["$.*.user['name']", { user: { ssn: 0, name: "#" }, list: [{ ssn: 1 }, { ssn: 2 }] }],
    ["$.outputs.user", { user: { ssn: 0, name: "n" }, list: [{ ssn: 1 }, { ssn: 2 }] }],
  ];
  it.for(PATHS)("%s", async ([path, masked]) => {
    const value = { user: { ssn: 0, name: "n" }, list: [{ ssn: 1 }, { ssn: 2 }] };
    const text = JSON.stringify((await masker({ type: "path", path })).field("inputs", value));
    expect(JSON.parse(text.replaceAll("[masked:path]", "#"))).toEqual(masked);
  });
  it("of metadata is that of extra", async () => {
    const own = await masker({ type: "path", name: "m", path: "$.metadata.user" });
    expect(own.field("extra", { metadata: { user: "u", x: 1 } })).toEqual({ metadata: { user: "[masked:m]", x: 1 } });
  });
  it.each(["inputs", "$", "$.", "$[", "$.a[?(@.b)]", "$.a..", "$['a", "$.a b"])("%s is none", (path) => {
    expect(parsePath(path)).toBeUndefined();
  });
});

describe("a value", () => {
  it("that is not masked is the same object, and one that is keeps its other members and order", async () => {
    const own = await masker({ type: "set", set: "email" });
    const value = { b: [1, { c: "x" }], a: null, n: 1e21 };
    expect(own.field("inputs", value)).toBe(value);
    const masked = own.field("inputs", { z: 1, a: ["a@b.io", 2], m: true });
    expect(JSON.stringify(masked)).toBe('{"z":1,"a":["[masked:email]",2],"m":true}');
  });
  it("is masked in the names of members, which stay apart, and in long numbers", async () => {
    const own = await masker({ type: "set", set: "email" }, { type: "set", set: "card" });
    expect(own.field("inputs", { "a@b.io": 1, "c@d.io": 2, n: 4111111111111111 })).toEqual({
      "[masked:email]": 1,
      "[masked:email] (2)": 2,
      n: "[masked:card]",
    });
    expect(Object.keys(own.field("inputs", JSON.parse('{"__proto__":"a@b.io"}')) as object)).toEqual(["__proto__"]);
  });
  it("has members whose names are masked alike, in time that grows with their number", async () => {
    const own = await masker({ type: "set", set: "email" });
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`n${i}@b.io`, i]));
    const names = Object.keys(own.field("inputs", many) as object);
    expect([names.length, names.at(-1)]).toEqual([50_000, "[masked:email] (50000)"]);
  }, 20_000);
  itThorough(
    "of ten million digits is masked or left, and never fails",
    async () => {
      const own = await masker(
        ...(["email", "phone", "iban", "card", "key"] as const).map((set): MaskRule => ({ type: "set", set })),
      );
      for (const text of ["1".repeat(9_900_000), "0 12 ".repeat(1_900_000), `sk-${"a".repeat(9_900_000)}`])
        expect(typeof own.field("inputs", text)).toBe("string");
    },
    60_000,
  );
  it("names of attachments that are masked alike stay apart, and are the same when sent again", async () => {
    const own = await masker({ type: "set", set: "email" });
    const names = ["a@b.io", "c@d.io", "a@b.io", "plain.txt"].map((name) => own.attachment(name));
    expect(names[0]).toMatch(/^\[masked:email\]-[0-9a-f]{8}$/);
    expect(names[1]).not.toBe(names[0]);
    expect(names.slice(2)).toEqual([names[0], "plain.txt"]);
  });
});

describe("what each match contains", () => {
  it.each([
    ["[[:alnum:]_-]{20,}", undefined],
    ["[[:xdigit:]-]{32,}", undefined],
    ["[]a-z]{5}", undefined],
    ["[^]x]y", undefined],
    ["EMP-[0-9]+", "EMP-"],
    ["\\[x\\]ab", "ab"],
  ])("%s: %s", (pattern, needed) => expect(neededBy(pattern)).toBe(needed));
});

describe("a pattern from outside", () => {
  const regex = (pattern: string, more = {}): MaskRule => ({ type: "regex", pattern, ignore_case: false, ...more });
  it("masks what it matches, beside others", async () => {
    const own = await masker(regex("EMP-\\d+", { name: "employee" }), regex("secret=\\S+", { ignore_case: true }));
    const text = own.field("error", "EMP-12 and EMP-7: SECRET=x$1 ok");
    expect(text).toBe("[masked:employee] and [masked:employee]: [masked:regex] ok");
  });
  it("masks with a class of POSIX", async () => {
    const own = await masker(regex("[[:alnum:]_-]{20,}"));
    expect(own.field("error", "token abcdefghijklmnopqrstuvwx")).toBe("token [masked:regex]");
  });
  it("finds the same in a long text as in a short one, also where pieces meet", async () => {
    const own = await masker(regex("<[a-z]+>"), regex("k=\\S+"));
    for (const before of [16_000, 16_380, 16_384, 30_000]) {
      const text = `${".".repeat(before)}<abc> k=${"s".repeat(40_000)} <d>${".".repeat(20_000)}<e>`;
      expect(own.field("error", text)).toBe(
        `${".".repeat(before)}[masked:regex] [masked:regex] [masked:regex]${".".repeat(20_000)}[masked:regex]`,
      );
    }
  });
  it("that reads to the end for each match ends", async () => {
    const own = await masker(regex("x(?:[^y]*y)?"));
    expect(own.field("error", "x".repeat(1_000_000))).toMatch(/^(?:\[masked:regex\])+$/);
  }, 20_000);
  it.each([
    "(a)\\1",
    "(?=a)",
    "(?<!a)b",
    "(",
    "a{2000}",
    "[z-a]",
    "*",
    "((a{1,99}){1,99}){1,99}",
    "a*",
    "x?",
    "^",
    "\\b",
  ])("%s is refused", async (pattern) => {
    await expect(Masker.of([regex(pattern)], "")).rejects.toMatchObject({ status: 422 });
  });
  it.each(["(a+)+$", "(a|a)*b", "(a|aa)+c", "(.*)(.*)(.*)(.*)x", "(a?){50}a{50}b", "([a-z]+)*[0-9]"])(
    "%s cannot hang",
    async (pattern) => {
      const own = await masker(regex(pattern));
      const text = "a".repeat(300_000);
      expect(own.field("error", text)).toHaveLength(pattern === "(a+)+$" ? "[masked:regex]".length : text.length);
    },
    20_000,
  );
});

describe("what every match of a pattern contains", () => {
  const CASES: [pattern: string, needed: string | undefined][] = [
    ["EMP-[0-9]+", "EMP-"],
    ["\\b[0-9]{3}-[0-9]{2}-x", "-x"],
    ["secret=\\S+", "secret="],
    ["colou?r", "colo"],
    ["ab{0,2}cd", "cd"],
    ["ab{1,2}", "ab"],
    ["a*", undefined],
    ["[abc]", undefined],
    ["cat|dog", undefined],
    ["(?i)abc", undefined],
    ["a\\|bc", "bc"],
    ["\\.example", "example"],
    ["x\\dab?", "x"],
    ["\\x41BC", undefined],
    ["\\Qab\\E?", undefined],
    ["\\pLab", undefined],
    ["a\u{1f600}?", "a"],
  ];
  it.for(CASES)("%s: %s", ([pattern, needed]) => {
    expect(neededBy(pattern)).toBe(needed);
  });
  it("is in each match", () => {
    for (const [pattern, needed] of CASES.filter(([, part]) => part !== undefined)) {
      const found = new RegExp(pattern, "u").exec(
        "EMP-12 123-45-x secret=1 color ab abcd a|bc .example x1a abbcd acd a\u{1f600}",
      );
      expect([pattern, found?.[0]]).toEqual([pattern, expect.stringContaining(needed ?? "")]);
    }
  });
});

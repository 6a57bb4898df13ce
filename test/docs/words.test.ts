/** The texts of the repository use plain technical English: the words and phrases below do not come into it again. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const FILES = "{src,test,scripts,docs,examples,packages,types}/**/*.{ts,tsx,mts,mjs,js,md,css,html,py,sh}";
const SINGLE = ["README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "wrangler.toml"];
/** Generated files, the state of an older release, and the list itself. */
const LEFT_OUT = /(^|\/)(node_modules|dist|cache|fixtures)\/|docs\/words\.test\.ts$/;

/** A regular expression of the words (a space is any white space), and what to write instead. */
const WORDS: [words: string, instead: string][] = [
  ["nobody|nobody's", "no user, no caller, absent"],
  ["whoever|somebody|anybody|everybody|unasked", "the caller, the user, a person, anyone"],
  ["wherever|whatever", "in all places, any, for every value"],
  ["told|tells? of", "sent, notified, reported, distinguished"],
  ["lets? go", "release, end, stop"],
  ["go on|goes on|went on|going on", "continue, resume"],
  ["comes? back|came back", "return, is restored, reconnect"],
  ["at hand", "available, in memory"],
  ["for good", "permanently"],
  ["anew", "again"],
  ["for ever|any more", "permanently, without end, no longer"],
  ["meanwhile", "in the meantime"],
  ["so many", "this many, a limited number"],
  ["knows? of|by heart", "has, stores, caches"],
  ["hears?|heard", "receive, is notified"],
  ["speaks?|spoken", "use, support, implement"],
  ["asleep", "idle, hibernated"],
  ["lie|lies", "is, is stored"],
  ["stands? for", "mean, represent, match, refer to"],
  ["die|dies|died", "stop, crash, fail"],
  ["lives", "is stored, runs, is valid"],
  ["mend|mends|mended|mending", "fix, repair"],
  ["worth", "state the benefit or the limit"],
  ["one's", "name the owner; localhost, local development"],
  ["(?:is|are|was|were|be) asked", "is called, is read, is required, is requested"],
  ["asks? for|asked for|asking for", "request, require"],
  ["in vain", "without effect"],
  ["remembers?|remembered", "store, record, cache"],
  ["forgets?|forgotten", "delete, evict, clear"],
];
const PATTERN = new RegExp(
  `(?<![\\w-])(?:${WORDS.map(([words]) => words.replaceAll(" ", "\\s+")).join("|")})(?![\\w-])`,
  "gi",
);

const blank = (text: string): string => text.replace(/\S/g, "|");

/**
 * A line of a program with all but its prose blanked out: comments, texts of several words, and lines of a longer text.
 * Names in code may be any word.
 */
function proseOf(line: string): string {
  const comment = line.search(/^\s*\/?\*|(?<!\S)(?:\/\/|\/\*\*?|\{\/\*) /);
  const code = comment < 0 ? line : line.slice(0, comment);
  const isText = /^\s*[^\s=;:(){}[\]<>|&]+ [^=;:(){}[\]<>|&]*$/.test(code);
  const kept = isText
    ? code
    : code.replace(/"[^"]*"|'[^']*'|`[^`]*`|>[^<>{}]*<|[^"'`>]+|./g, (part) =>
        /^["'`>].*\s/.test(part) && part.length > 1 ? part : blank(part),
      );
  // The marks at the beginning of a comment's lines separate no words.
  return kept + line.slice(code.length).replace(/^\s*(?:\/\*\*?|\*|\/\/)/, (mark) => " ".repeat(mark.length));
}

/** `file:line: words` for each use of the words in a file's text. */
function found(file: string, text: string): string[] {
  const prose = /\.[mc]?[jt]sx?$/.test(file) ? text.split("\n").map(proseOf).join("\n") : text;
  // Code in a sentence that is one word is a name or a value.
  const checked = prose.replace(/`[^`\s]+`|\$\{[^}]*\}|@param \w+/g, blank);
  return [...checked.matchAll(PATTERN)].map(({ 0: words, index }) => {
    const line = checked.slice(0, index).split("\n").length;
    return `${file}:${line}: ${words.replace(/\W+/g, " ")}`;
  });
}

it("finds the words in comments, texts and sentences of several lines, and not in names", () => {
  const source = [
    "/** The run goes",
    " * on. `told` is a name. */",
    "const told = heard(told.die, 'lies'); // Nobody reads it.",
    'throw new Error("The thread is told.");',
    "  return <p>Asks for a key</p>;",
  ].join("\n");
  expect(found("a.tsx", source)).toEqual(["a.tsx:1: goes on", "a.tsx:3: Nobody", "a.tsx:4: told", "a.tsx:5: Asks for"]);
  expect(found("a.md", "A reader that\ncomes\nback. Fine: `anew`.")).toEqual(["a.md:2: comes back"]);
});

it("no text uses the words", () => {
  const files = [...globSync(FILES, { cwd: ROOT }), ...SINGLE].filter((file) => !LEFT_OUT.test(file)).sort();
  expect(files.length).toBeGreaterThan(1_000);
  const uses = files.flatMap((file) => found(file, readFileSync(join(ROOT, file), "utf8")));
  const instead = WORDS.map(([words, better]) => `${words} → ${better}`).join("\n");
  expect(uses, `Rewrite the sentences. Words to use instead:\n${instead}`).toEqual([]);
});

/** A passed run of the tests in workerd counts for these files, these settings and this Node only. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Report } from "../../scripts/tests/reporter.ts";
import { fingerprint, passedBefore, writeStamp } from "../../scripts/tests/stamp.ts";

const REPORT: Report = { passed: 5, failed: 0, skipped: 1, success: true, files: [{ name: "a.test.ts", ms: 12 }] };

let root: string;
const write = (file: string, text: string) => writeFileSync(join(root, file), text);
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "weir-stamp-"));
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  write(".gitignore", "node_modules/\n.dev.vars\n*.log\nstamp.json\n");
  write("tracked.ts", "one");
  write("untracked.ts", "one");
  mkdirSync(join(root, "node_modules"));
  execFileSync("git", ["add", ".gitignore", "tracked.ts"], { cwd: root });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const changes: [string, () => unknown][] = [
  ["a tracked file", () => write("tracked.ts", "two")],
  ["an untracked file", () => write("untracked.ts", "two")],
  ["a new file", () => write("new.ts", "")],
  ["a file that was deleted", () => rmSync(join(root, "tracked.ts"))],
  ["a new link", () => symlinkSync("tracked.ts", join(root, "link.ts"))],
  ["what npm installed", () => write("node_modules/.package-lock.json", "{}")],
  ["the local secrets", () => write(".dev.vars", "AUTH=open")],
];

describe("the fingerprint", () => {
  it.each(changes)("is another after a change of %s", (_, change) => {
    const before = fingerprint(root, {});
    expect(fingerprint(root, {})).toBe(before);
    change();
    expect(fingerprint(root, {})).not.toBe(before);
  });

  it.each(["SEED", "SOAK", "SEQUENCES", "EXPORT_MATRIX", "OPERATIONS"])("is another with another %s", (name) => {
    expect(fingerprint(root, { [name]: "1" })).not.toBe(fingerprint(root, {}));
    expect(fingerprint(root, { [name]: "1" })).not.toBe(fingerprint(root, { [name]: "2" }));
  });

  it("does not depend on ignored files, on times or on what is staged", () => {
    const before = fingerprint(root, {});
    write("a.log", "text");
    write("tracked.ts", "one");
    execFileSync("git", ["add", "untracked.ts"], { cwd: root });
    expect(fingerprint(root, { OTHER: "1" })).toBe(before);
  });

  it("is undefined outside of a repository", () => {
    rmSync(join(root, ".git"), { recursive: true });
    expect(fingerprint(root, {})).toBeUndefined();
  });
});

describe("the stamp", () => {
  it("gives the report of the run, skipped tests included, for the same fingerprint only", () => {
    const file = join(root, "stamp.json");
    expect(passedBefore(file, "a")).toBeUndefined();
    writeStamp(file, "a", REPORT);
    expect(passedBefore(file, "a")).toEqual(REPORT);
    expect(passedBefore(file, "b")).toBeUndefined();
  });

  it("is none without a fingerprint, of a failed run, or when it cannot be read", () => {
    const file = join(root, "stamp.json");
    writeStamp(file, undefined, REPORT);
    expect(passedBefore(file, undefined)).toBeUndefined();
    writeStamp(file, "a", { ...REPORT, failed: 1, success: false });
    expect(passedBefore(file, "a")).toBeUndefined();
    write("stamp.json", '{"fingerprint":"a"');
    expect(passedBefore(file, "a")).toBeUndefined();
  });
});

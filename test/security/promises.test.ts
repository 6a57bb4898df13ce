/** docs/security.md links each test of this folder, and no test that does not exist. */
import { expect, it } from "vitest";
import document from "../../docs/security.md?raw";

const FILES = Object.keys(import.meta.glob("../**/*.test.ts")).map((path) =>
  path.replace(/^\.\.?\//, path.startsWith("./") ? "security/" : ""),
);
const LINKED = [...document.matchAll(/\]\(\.\.\/test\/([^)]+\.test\.ts)\)/g)].map(([, path]) => path);

it("each promise has a test that exists", () => {
  expect(LINKED.length).toBeGreaterThan(20);
  expect(LINKED.filter((path) => !FILES.includes(path ?? ""))).toEqual([]);
});

it("each test of this folder proves a promise", () => {
  const own = FILES.filter((path) => path.startsWith("security/") && !path.includes("promises"));
  expect(own.filter((path) => !LINKED.includes(path))).toEqual([]);
});

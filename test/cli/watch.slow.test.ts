/** Which changes of the file system make `weir dev` build again. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Watch } from "../../src/cli/dev/builder.ts";

/** Longer than changes are gathered. */
const QUIET_MS = 400;

let folder: string;
let watch: Watch;
const changed = vi.fn<() => void>();
const at = (path: string) => join(folder, path);
const write = (path: string, text: string) => writeFileSync(at(path), text);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-watch-"));
  for (const path of ["src", "src/.prompts", ".weir"]) mkdirSync(at(path));
  for (const path of ["src/agent.ts", "src/notes.txt", "src/.prompts/more.md", ".env", ".env.swp"]) write(path, "1");
  watch = new Watch(changed);
  watch.set(new Set([at("src/agent.ts"), at("src/.prompts/more.md"), at(".env")]));
  await sleep(QUIET_MS);
  changed.mockClear();
});
afterEach(() => {
  watch.close();
  rmSync(folder, { recursive: true, force: true });
});

it.each<[string, () => void]>([
  ["a file that was read changes", () => write("src/agent.ts", "2")],
  ["a hidden file that was read changes", () => write(".env", "2")],
  ["a file in a hidden folder changes", () => write("src/.prompts/more.md", "2")],
  ["a file comes, which an import may now mean", () => write("src/agent.js", "2")],
  ["a file goes", () => rmSync(at("src/agent.ts"))],
])("builds when %s", async (_, change) => {
  change();
  await expect.poll(() => changed.mock.calls.length, { timeout: 10_000 }).toBe(1);
});

it("builds each time an editor writes a file beside and renames it", async () => {
  for (const n of [1, 2, 3]) {
    write("src/.agent.ts.part", `new ${n}`);
    renameSync(at("src/.agent.ts.part"), at("src/agent.ts"));
    await expect.poll(() => changed.mock.calls.length, { timeout: 10_000 }).toBe(n);
    await sleep(QUIET_MS);
  }
});

it("builds once for changes that come together", async () => {
  for (let n = 0; n < 5; n += 1) write("src/agent.ts", `${n}`);
  write(".env", "2");
  await sleep(QUIET_MS);
  expect(changed).toHaveBeenCalledTimes(1);
});

it.each<[string, () => void]>([
  ["a file changes that was not read", () => write("src/notes.txt", "2")],
  ["a hidden file changes that was not read", () => write(".env.swp", "2")],
  ["a hidden file comes", () => write("src/.agent.ts.swp", "2")],
  ["Weir writes its own files", () => write(".weir/worker.ts", "2")],
])("does not build when %s", async (_, change) => {
  change();
  await sleep(QUIET_MS);
  expect(changed).not.toHaveBeenCalled();
});

it("watches the folders of the newest files only", async () => {
  watch.set(new Set([at(".env")]));
  write("src/agent.ts", "2");
  await sleep(QUIET_MS);
  expect(changed).not.toHaveBeenCalled();
  write(".env", "2");
  await expect.poll(() => changed.mock.calls.length, { timeout: 10_000 }).toBe(1);
});

/** `weir audit verify` of files: what it says, and its exit code. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type AuditEntryWire, GENESIS, hashOfEntry } from "../../src/access/audit/verify.ts";
import { run } from "../../src/cli/audit.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-audit-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function entries(count: number): AuditEntryWire[] {
  let prev_hash = GENESIS;
  return Array.from({ length: count }, (_, place) => {
    const actor = { kind: "key", id: "k" };
    const at = new Date(Date.UTC(2026, 0, 1 + place)).toISOString();
    const said = { id: `e${place}`, workspace_id: "w", at, actor, action: "api_key.created", target_id: "t" };
    const entry = { ...said, detail: { name: "é" }, address: null, user_agent: null };
    const hash = hashOfEntry(entry, place + 1, prev_hash);
    const whole = { ...entry, seq: place + 1, prev_hash, hash };
    prev_hash = hash;
    return whole;
  });
}

function write(name: string, values: object[]): string {
  const file = join(folder, name);
  writeFileSync(file, values.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return file;
}

async function verify(...argv: string[]): Promise<[code: number, text: string]> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const code = await run(["verify", ...argv]);
  const text = log.mock.calls.flat().join("\n");
  log.mockRestore();
  return [code, text];
}

test("an export, newest first, with its roots in folders", async () => {
  const all = entries(5);
  const file = write("audit-log.ndjson", all.toReversed());
  mkdirSync(join(folder, "roots/w"), { recursive: true });
  const root = { workspace_id: "w", day: "2026-01-03", seq: 3, hash: all[2]?.hash };
  write("roots/w/2026-01-03.json", [root]);
  expect(await verify(file)).toEqual([0, "workspace w: 5 entries (1 to 5) and 0 roots are intact."]);
  expect(await verify(file, "--roots", join(folder, "roots"))).toEqual([
    0,
    "workspace w: 5 entries (1 to 5) and 1 roots are intact.",
  ]);
  write("roots/w/2026-01-06.json", [{ ...root, day: "2026-01-06", seq: 6 }]);
  const [code, text] = await verify(file, "--roots", join(folder, "roots"));
  expect([code, text]).toEqual([1, expect.stringContaining("an entry 6: it is missing")]);
});

test("a changed entry is named", async () => {
  const all = entries(3).map((one) => (one.seq === 2 ? { ...one, target_id: "another" } : one));
  const [code, text] = await verify(write("x.ndjson", all));
  expect(code).toBe(1);
  expect(text).toBe("workspace w: NOT INTACT\n  entry 2 (e1) was changed");
});

test("what is no export is refused with its line", async () => {
  await expect(verify(join(folder, "none"))).rejects.toThrow("cannot be read");
  await expect(verify(write("empty", []))).rejects.toThrow("no entries");
  const file = join(folder, "broken");
  writeFileSync(file, `${JSON.stringify(entries(1)[0])}\n{"seq":`);
  await expect(verify(file)).rejects.toThrow("line 2");
  await expect(run(["list"])).rejects.toThrow("weir audit verify");
});

/** `weir keys` and the first key of a deploy, against a running server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { firstKey, waitUntilOk, writeStoredSecrets } from "../../src/cli/deploy/secrets.ts";
import { run } from "../../src/cli/keys.ts";
import { SECRETS, type TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { runPrinted } from "./support/printed.ts";

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-keys-"));
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  vi.stubEnv("WEIR_API_KEY", undefined);
  vi.stubEnv("WEIR_ADMIN_KEY", undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `weir keys` at the server and gives what it printed. */
async function keys(...argv: string[]): Promise<string> {
  const [code, printed] = await runPrinted(() => run([...argv, "--url", server.url]));
  expect(code).toBe(0);
  return printed;
}
const statusWith = async (key: string) =>
  (
    await fetch(`${server.url}/threads/search`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: "{}",
    })
  ).status;

test("the first key of a deployment is made once, and works", async () => {
  await waitUntilOk(server.url, fetch);
  const key = await firstKey(server.url, SECRETS.WEIR_ADMIN_KEY, fetch);
  expect(await statusWith(key ?? "")).toBe(200);
  expect(await firstKey(server.url, SECRETS.WEIR_ADMIN_KEY, fetch)).toBeUndefined();
});

test("a key is created, listed and revoked", async () => {
  vi.stubEnv("WEIR_API_KEY", server.key);
  const made = await keys(
    "create",
    "--name",
    "nightly",
    "--scopes",
    "read, write",
    "--expires",
    "2999-01-31T00:00:00Z",
  );
  const [, key = "", id = ""] = /^(\S+)\n {2}id (\S+), scopes read, write\./.exec(made) ?? [];
  expect(await statusWith(key)).toBe(200);
  const listed = await keys("list");
  expect(listed).toMatch(new RegExp(`^${id} .*nightly {2}read,write {2}expires 2999-01-31T00:00`, "m"));
  expect(listed).not.toContain(key);
  expect(await keys("revoke", id)).toBe(`${id} is revoked.`);
  expect(await keys("list")).not.toContain(id);
});

test("the admin key that a deploy kept in this folder is used for its address only", async () => {
  await expect(keys("list")).rejects.toThrow(/refused with status 401/);
  writeStoredSecrets(join(folder, ".weir"), "other", { url: "https://other.example", WEIR_ADMIN_KEY: "of-another" });
  writeStoredSecrets(join(folder, ".weir"), "agent", { url: server.url, WEIR_ADMIN_KEY: SECRETS.WEIR_ADMIN_KEY });
  await firstKey(server.url, SECRETS.WEIR_ADMIN_KEY, fetch);
  expect(await keys("list")).toContain("first");
  expect(await keys("list", "--workspace", server.workspaceId)).toContain("local");
});

test.each([
  [["create", "--scopes", "everything"], /status 422/],
  [["revoke", "no-such-key"], /status 404: API key not found/],
  [["revoke"], /weir keys revoke <id>/],
  [["rotate"], /weir keys create/],
])("weir keys %j is refused with a sentence", async (argv, sentence) => {
  vi.stubEnv("WEIR_API_KEY", server.key);
  await expect(keys(...argv)).rejects.toThrow(sentence);
});

test("an address that nothing listens at is named", async () => {
  await expect(run(["list", "--url", "http://127.0.0.1:9"])).rejects.toThrow("http://127.0.0.1:9 does not answer");
  await expect(run(["list", "--url", "agent.example"])).rejects.toThrow('"agent.example" is no address');
});

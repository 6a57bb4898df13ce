/** `weir deploy` of examples/starter, from the command's arguments to the answer of the deployed Worker. */
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { run } from "../../src/cli/deploy.ts";
import { ACCOUNT, type CloudflareApi, startCloudflareApi, TOKEN } from "./support/cloudflare-api.ts";
import { deployedWorkers } from "./support/deployed.ts";

const ROOT = join(import.meta.dirname, "../..");
const NAMES = [
  "D1 database  weir-starter",
  "R2 bucket    weir-starter-blobs",
  "R2 bucket    weir-starter-exports",
  "queue        weir-starter-exports",
  "queue        weir-starter-crons",
  "secret       ENCRYPTION_KEY",
  "secret       WEIR_ADMIN_KEY",
  "secret       OPENAI_API_KEY",
];

let api: CloudflareApi;
let project: string;
beforeEach(async () => {
  project = mkdtempSync(join(tmpdir(), "weir-deploy-"));
  cpSync(join(ROOT, "examples", "starter"), project, { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"));
  writeFileSync(join(project, ".env"), 'OPENAI_API_KEY="sk-secret"\nOPENAI_MODEL=\n');
  api = await startCloudflareApi();
  const { fetch } = deployedWorkers(api);
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", (input: string, init?: RequestInit) =>
    new URL(input).hostname.endsWith(".workers.dev") ? fetch(input, init) : real(input, init),
  );
  vi.stubEnv("CLOUDFLARE_API_BASE_URL", api.url);
  vi.stubEnv("CLOUDFLARE_API_TOKEN", TOKEN);
  vi.stubEnv("CLOUDFLARE_ACCOUNT_ID", ACCOUNT);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  await api.close();
  rmSync(project, { recursive: true, force: true });
});

async function deploy(...argv: string[]): Promise<string> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  try {
    expect(await run([project, ...argv])).toBe(0);
    return log.mock.calls.flat().join("\n");
  } finally {
    log.mockRestore();
  }
}
const created = () => api.calls.filter((call) => /^POST \/(d1\/database|r2\/buckets|queues)$/.test(call));

test("a dry run names everything, the first run creates it, and the second creates nothing", async () => {
  const planned = await deploy("--dry-run");
  for (const name of NAMES) expect(planned).toMatch(new RegExp(`${name} +would be created`));
  expect(created()).toEqual([]);

  const first = await deploy();
  for (const name of NAMES) expect(first).toMatch(new RegExp(`${name} +created`));
  expect(first).toContain("weir_key_of_weir-starter.stand-in.workers.dev");
  expect(first).not.toContain("sk-secret");
  const { bindings, secrets, schedules } = api.workers.find("weir-starter");
  expect(bindings).toContainEqual(expect.objectContaining({ name: "AI", type: "ai" }));
  expect(bindings).toContainEqual(
    expect.objectContaining({ name: "EXPORTS_BUCKET_NAME", text: "weir-starter-exports" }),
  );
  expect(secrets.get("OPENAI_API_KEY")).toBe("sk-secret");
  expect(schedules).toEqual([{ cron: "* * * * *" }]);
  expect([...api.queues.values()].map(({ consumers }) => consumers.length)).toEqual([1, 1, 1]);
  expect(created()).toHaveLength(6);

  api.calls.length = 0;
  const second = await deploy();
  expect(created()).toEqual([]);
  expect(second).not.toContain("created");
  expect(second).not.toContain("weir_key_of");
  // Three builds and four runs of Wrangler.
}, 400_000);

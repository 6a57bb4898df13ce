/**
 * The Python SDK, unmodified: `python/sdk.py`. It runs where `python3` (or PYTHON) can import `langgraph_sdk`; PYTHONPATH
 * may name the folder of its sources, `langchain_protocol`, httpx and orjson.
 */
import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

const PYTHON = process.env.PYTHON ?? "python3";
const SCRIPT = join(import.meta.dirname, "python", "sdk.py");
const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };

interface Sdk {
  version: string;
  stand_ins: string[];
  checks: string[];
}

/** What can be imported here, or why nothing can. */
function sdk(): Sdk | string {
  try {
    return JSON.parse(execFileSync(PYTHON, [SCRIPT, "--version"], { env, stdio: "pipe", encoding: "utf8" })) as Sdk;
  } catch (error) {
    const { stderr = String(error) } = error as { stderr?: string };
    return stderr.trim().split("\n").at(-1) ?? "it failed";
  }
}

const found = sdk();

const importable = typeof found === "string" ? `cannot be tested here: ${found}` : "can be imported";
it.skipIf(typeof found === "string")(`the Python SDK ${importable}`, () => {
  expect(found).toMatchObject({ version: expect.any(String) });
});

describe.runIf(typeof found !== "string")("the Python SDK", () => {
  const { version, stand_ins, checks } = typeof found === "string" ? { version: "", stand_ins: [], checks: [] } : found;
  const results = new Map<string, string | null>();
  let server: TestServer;
  beforeAll(async () => {
    server = await sharedServer("graphs");
    const { promise, resolve } = Promise.withResolvers<string>();
    execFile(PYTHON, [SCRIPT, server.url, server.key], { env }, (_error, stdout, stderr) => resolve(stdout || stderr));
    for (const line of (await promise).trim().split("\n")) {
      const { check, error } = JSON.parse(line) as { check: string; error: string | null };
      results.set(check, error);
    }
  }, 600_000);
  afterAll(() => server.stop());

  const without = stand_ins.length > 0 ? ` with stand-ins for ${stand_ins.join(", ")}` : "";
  it.each(checks)(`${version}${without}: %s`, (check) => {
    expect(results.get(check)).toBeNull();
  });
});

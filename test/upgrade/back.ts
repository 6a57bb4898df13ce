/**
 * `npm run rollback -- <commit>`: opens state that this release wrote with the code of an older commit, as
 * `wrangler rollback` does, and says what that code reads. docs/upgrade.md has the result for the release before.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newKey, serve } from "../../scripts/local-server.ts";
import { quietPort } from "../support/ports.ts";
import { Api, human } from "../support/api.ts";
import { SECRETS, startOn } from "../support/server.ts";
import { turn } from "./make/threads.ts";
import { sendProject } from "./make/traces.ts";

const ROOT = join(import.meta.dirname, "..", "..");

const [commit] = process.argv.slice(2);
if (!commit) throw new Error("Usage: npm run rollback -- <commit>");

/** The files of the commit, with the packages of this work tree. */
function checkout(folder: string): void {
  const archive = spawnSync("git", ["archive", commit as string], { cwd: ROOT, maxBuffer: 1024 ** 3 });
  if (archive.status !== 0) throw new Error(archive.stderr.toString());
  spawnSync("tar", ["-xf", "-", "-C", folder], { input: archive.stdout });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  mkdirSync(join(folder, "dist", "web"), { recursive: true });
}

/** The older configuration for this machine. The list of required secrets would hide the others. */
function writeConfig(folder: string): string {
  const file = join(folder, "wrangler.local.toml");
  const given = readFileSync(join(folder, "wrangler.toml"), "utf8");
  writeFileSync(file, given.replace(/^\[secrets\]\n[^[]+\[[^\]]*\]\n/m, ""));
  return file;
}

interface Made {
  finished: string;
  running: string;
  project: string;
}

/** Threads with a finished and a running run, traces, an export and a cron. */
async function make(api: Api): Promise<Made> {
  const [finished, running] = [crypto.randomUUID(), crypto.randomUUID()];
  await turn(api, finished, "agent", "count to 3");
  const { id: project } = await sendProject(api, "rollback", 2, 5);
  const destination = await api.post<{ id: string }>("/api/v1/bulk-exports/destinations", {
    destination_type: "r2",
    display_name: "rollback",
    config: { prefix: "rollback" },
  });
  await api.post("/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id: project,
    start_time: "2026-03-01T00:00:00Z",
    end_time: "2026-03-05T00:00:00Z",
  });
  await api.post(`/threads/${finished}/runs/crons`, {
    assistant_id: "echo",
    schedule: "0 12 * * *",
    input: human("x"),
  });
  const body = { assistant_id: "agent", if_not_exists: "create", input: human("count to 200") };
  await api.post(`/threads/${running}/runs`, body);
  return { finished, running, project };
}

type Check = [what: string, method: string, path: string, body?: object];

const checks = ({ finished, running, project }: Made): Check[] => [
  ["D1 answers", "GET", "/ok?check_db=1"],
  ["thread", "GET", `/threads/${finished}`],
  ["runs of a thread", "GET", `/threads/${finished}/runs`],
  ["state", "GET", `/threads/${finished}/state`],
  ["history", "POST", `/threads/${finished}/history`, {}],
  ["a run on a thread", "POST", `/threads/${finished}/runs/wait`, { assistant_id: "echo", input: human("again") }],
  ["a run that was running", "GET", `/threads/${running}/runs`],
  ["list of threads", "POST", "/threads/search", {}],
  ["a new thread", "POST", "/threads", {}],
  ["traces", "POST", "/runs/query", { session: [project] }],
  ["exports", "GET", "/api/v1/bulk-exports"],
  ["crons", "POST", "/runs/crons/search", {}],
];

const state = mkdtempSync(join(tmpdir(), "weir-state-"));
const older = mkdtempSync(join(tmpdir(), "weir-older-"));
try {
  checkout(older);
  const now = await startOn(state, { ...SECRETS, OFFLINE_MODEL_DELAY_MS: "50" });
  const { key, workspaceId } = await newKey(now.url, SECRETS.WEIR_ADMIN_KEY);
  const headers = { "x-api-key": key, "x-tenant-id": workspaceId };
  const made = await make(new Api(now.url, headers));
  await now.kill();
  const port = await quietPort();
  const envFile = join(state, "secrets.env");
  const then = await serve({ port, persistTo: state, envFile, config: writeConfig(older), group: "own" });
  try {
    const api = new Api(then.url, headers);
    for (const [what, method, path, body] of checks(made)) {
      const response = await api.send(method, path, body);
      const text = await response.text();
      console.log(`${what.padEnd(24)} ${response.status} ${text.replaceAll(/\s+/g, " ").slice(0, 160)}`);
    }
  } finally {
    await then.stop("SIGKILL");
  }
} finally {
  rmSync(state, { recursive: true, force: true });
  rmSync(older, { recursive: true, force: true });
}

/** `npm start`: prepares what is missing, serves Weir on this machine, and says how to talk to it. */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { LOCAL_WORKSPACE_ID } from "../src/auth/principal.ts";
import { buildPage } from "./build-page.ts";
import { freePort, type LocalServer, migrate, newKey, serve } from "./local-server.ts";

const ROOT = join(import.meta.dirname, "..");
const STATE = join(ROOT, ".wrangler", "state");
const KEY_FILE = join(ROOT, ".wrangler", "local-key");

/** The secrets in `.dev.vars`, made on the first start and completed when one is missing. */
function secrets(): Record<string, string | undefined> {
  const file = join(ROOT, ".dev.vars");
  const first = !existsSync(file);
  const text = first ? "# Made by `npm start`, for this machine only.\n" : readFileSync(file, "utf8");
  const found = parseEnv(text);
  const fresh = {
    ...(found.ENCRYPTION_KEY ? {} : { ENCRYPTION_KEY: randomBytes(32).toString("base64") }),
    ...(found.WEIR_ADMIN_KEY ? {} : { WEIR_ADMIN_KEY: randomBytes(24).toString("base64url") }),
    // Calls from this machine need no key. A deployment never reads this file.
    ...(first ? { AUTH: "open" } : {}),
  };
  const kept = text.split("\n").filter((line) => !Object.keys(fresh).some((name) => line.startsWith(`${name}=`)));
  const added = Object.entries(fresh).map(([name, value]) => `${name}="${value}"`);
  if (added.length > 0)
    writeFileSync(file, `${[...kept.join("\n").trimEnd().split("\n"), ...added].join("\n")}\n`, { mode: 0o600 });
  return { ...found, ...fresh };
}

/** The key of the local workspace: made once, and kept in a file beside the state, since the server keeps only its hash. */
async function localKey(url: string, adminKey: string): Promise<string> {
  if (existsSync(KEY_FILE)) {
    const key = readFileSync(KEY_FILE, "utf8").trim();
    const known = await fetch(`${url}/api/v1/api-keys`, { headers: { "x-api-key": key } });
    if (known.ok) return key;
  }
  const { key } = await newKey(url, adminKey, LOCAL_WORKSPACE_ID);
  writeFileSync(KEY_FILE, `${key}\n`, { mode: 0o600 });
  return key;
}

/** Three lines: where it is, who you are, and a run of `agent` to try. */
function introduce(url: string, key: string): string {
  const input = { messages: [{ role: "user", content: "What is 17 * 24, and what time is it in Tokyo?" }] };
  const run = { assistant_id: "agent", if_not_exists: "create", stream_mode: ["messages-tuple"], input };
  const headers = `-H "content-type: application/json" -H "x-api-key: ${key}"`;
  return [
    "",
    `  Weir listens on  ${url}`,
    `  Workspace, key   ${LOCAL_WORKSPACE_ID}  ${key}`,
    `  Try              curl -N ${url}/threads/${randomUUID()}/runs/stream ${headers} -d '${JSON.stringify(run)}'`,
    "",
  ].join("\n");
}

/** Locally nothing fires the cron trigger, so this does, at each full minute. */
function everyMinute(url: string): void {
  const wait = 60_000 - (Date.now() % 60_000);
  setTimeout(() => {
    void fetch(`${url}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`).catch(() => undefined);
    everyMinute(url);
  }, wait).unref();
}

/** npm, told to end, leaves its script running. So the script watches for it. */
function endWithNpm(end: () => void): void {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && end(), 300).unref();
}

const port = await freePort(Number(process.env.PORT ?? 8787));
const { WEIR_ADMIN_KEY = "" } = secrets();
buildPage();
console.log("Preparing the database…");
migrate(STATE);
const server: LocalServer = await serve({ port, persistTo: STATE, group: "shared" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void server.stop());
endWithNpm(() => void server.stop());
console.log(introduce(server.url, await localKey(server.url, WEIR_ADMIN_KEY)));
everyMinute(server.url);
await server.ended;

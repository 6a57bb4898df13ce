/**
 * `npm run fixture -- <name>`: makes a fixture of the release in this work tree. Run it for each release and
 * commit the two files in `fixtures/`. It takes about 12 minutes, because the server compacts the log of a thread after
 * ten idle minutes.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newKey } from "../../scripts/local-server.ts";
import { startOn, type StateServer } from "../support/server.ts";
import { Api } from "../support/api.ts";
import { pack } from "./fixture.ts";
import { EXPORTED, makeSchedule, startExports } from "./make/exports.ts";
import {
  makeA2aWaiting,
  makeQueued,
  makeWebhook,
  NOWHERE,
  startA2aTask,
  startReaders,
  startStateless,
} from "./make/in-flight.ts";
import { makeOAuth } from "./make/oauth.ts";
import { makeRest } from "./make/rest.ts";
import { finishLong, makeAtRest, startLong, turn } from "./make/threads.ts";
import { makeTraces, sendProject } from "./make/traces.ts";
import type { Manifest } from "./manifest.ts";

/** Traces are kept for a hundred years. */
const LASTING = { TRACE_RETENTION_DAYS: "36500", TRACE_RETENTION_DAYS_SHORT: "36500" };

/** See `Manifest.prepare`. Leases and queue messages of the killed server are lost. */
const PREPARE: Manifest["prepare"] = {
  d1: [
    "UPDATE oauth_tokens SET expires_at = expires_at + :shift",
    "UPDATE oauth_codes SET expires_at = expires_at + :shift + 3600000",
    "UPDATE oauth_grants SET created_at = created_at + :shift",
    "UPDATE idempotency_keys SET created_at = created_at + :shift",
    "UPDATE feedback_tokens SET expires_at = expires_at + :shift",
    "UPDATE bulk_exports SET started_at = started_at + :shift, next_attempt_at = 0 WHERE status = 'RUNNING'",
    "UPDATE export_runs SET lease_until = 0 WHERE lease_until IS NOT NULL",
    "UPDATE export_runs SET sent_at = 0 WHERE sent_at IS NOT NULL",
    "UPDATE export_destinations SET config = replace(config, :from, :to)",
  ],
  thread: [
    "UPDATE runs SET outcome = json_set(outcome, '$.began', json_extract(outcome, '$.began') + :shift) WHERE status = 'running'",
    `UPDATE outbox SET body = replace(body, '${NOWHERE}', :receiver), due = 0`,
    `UPDATE tasks SET body = replace(body, '${NOWHERE}', :receiver)`,
  ],
};

const [name] = process.argv.slice(2);
if (!name || !/^[\w.-]+$/.test(name)) throw new Error("Usage: npm run fixture -- <name>");

const secrets = {
  ENCRYPTION_KEY: randomBytes(32).toString("base64"),
  WEIR_ADMIN_KEY: `fixture-${randomBytes(12).toString("hex")}`,
};
const state = mkdtempSync(join(tmpdir(), "weir-"));
const vars = { ...secrets, ...LASTING, ALLOW_PRIVATE_ADDRESSES: "true" };

let server: StateServer | undefined;
try {
  // Without own traces, because each trace of the long thread contains its state.
  server = await startOn(state, { ...vars, OFFLINE_MODEL_DELAY_MS: "0", TRACE_PROJECT: "" });
  const access = await newKey(server.url, secrets.WEIR_ADMIN_KEY);
  const headers = { "x-api-key": access.key, "x-tenant-id": access.workspaceId };
  let api = new Api(server.url, headers);
  console.log("Long thread…");
  const long = await startLong(api);
  console.log("Traces, OAuth, assistants, crons, store…");
  const traces = await makeTraces(api);
  const exported = await sendProject(api, "upgrade export", EXPORTED.days, EXPORTED.perDay);
  const schedule = await makeSchedule(api, exported);
  const oauth = await makeOAuth(api, access.key);
  const rest = await makeRest(api, access.key);
  console.log("Waiting for the long thread's compaction…");
  await finishLong(api, long);
  console.log("Threads at rest…");
  const atRest = await makeAtRest(api, long);
  await server.kill();

  // A slow model keeps runs in progress until the kill.
  server = await startOn(state, { ...vars, OFFLINE_MODEL_DELAY_MS: "30" });
  api = new Api(server.url, headers);
  console.log("Runs in flight…");
  const expired = crypto.randomUUID();
  await api.post("/threads", { thread_id: expired, ttl: { strategy: "delete", ttl: 1 } });
  await turn(api, expired, "echo", "for a minute");
  const waiting = await makeA2aWaiting(api);
  const webhook = await makeWebhook(api);
  const queued = await makeQueued(api);
  const stateless = await startStateless(api);
  const cutTask = await startA2aTask(api);
  const { readers, reading } = await startReaders(api);
  const jobs = await startExports(api, exported);
  await server.kill();
  await Promise.all(reading);
  const cut = readers.filter((reader) => !reader.ended);
  const midway = cut.filter(({ finishedNodes }) => finishedNodes > 0).length;
  console.log(`${cut.length} runs cut off, ${midway} of them after a node had finished`);
  if (cut.length < 3 || midway === 0) throw new Error("Too few runs were interrupted. Run the script again.");

  const manifest: Manifest = {
    name,
    made_at: new Date().toISOString(),
    url: server.url,
    secrets,
    workspace_id: access.workspaceId,
    key: access.key,
    prepare: PREPARE,
    threads: {
      ...atRest,
      cut: cut.map((reader) => reader.cut),
      queued,
      expired,
      webhook,
      stateless,
      traced: [...readers.map(({ run }) => run), ...queued.flatMap(({ runs }) => runs), stateless],
    },
    a2a: { waiting, cut: cutTask },
    traces,
    exports: { jobs, schedule },
    oauth,
    rest,
  };
  const bytes = pack(state, manifest);
  console.log(`test/upgrade/fixtures/${name}.tar.gz: ${(bytes / 1e6).toFixed(2)} MB`);
} finally {
  await server?.kill();
  rmSync(state, { recursive: true, force: true });
}

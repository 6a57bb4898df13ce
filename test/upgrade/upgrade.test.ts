/** Opens the state of older releases with this release: all data is present, and interrupted work continues. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { localConfig } from "../../scripts/local-server.ts";
import { quietPort } from "../support/ports.ts";
import { migrate } from "../../src/cli/dev/config.ts";
import { databaseIn } from "../support/new-state.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { startOn, type StateServer } from "../support/server.ts";
import { Api } from "../support/api.ts";
import { expectExported, expectSchedule } from "./check/exports.ts";
import {
  expectAllEnd,
  expectInOrder,
  expectStateless,
  expectTasks,
  expectDelivered,
  expectWhole,
} from "./check/in-flight.ts";
import { isUsed, readLayout, readName } from "./check/layout.ts";
import { expectTokens } from "./check/oauth.ts";
import { expectAssistant, expectCrons, expectIdempotent, expectItems, expectKeys } from "./check/rest.ts";
import { expectAnswered, expectAtRest, expectLifetimes, expectMiddle } from "./check/threads.ts";
import {
  expectDataset,
  expectFeedback,
  expectPayloads,
  expectProject,
  expectTraced,
  readEveryPartition,
} from "./check/traces.ts";
import { d1Folder, databases, fixtures, objectFolder, prepare, remove, unpack } from "./fixture.ts";
import { turn } from "./make/threads.ts";
import { sendProject } from "./make/traces.ts";
import { pickCases } from "../support/thorough.ts";
import { itThorough } from "../support/thorough-test.ts";

const all = fixtures();

it("has a fixture", () => {
  expect(all.length).toBeGreaterThan(0);
});

describe.each(all)("state of $name", (manifest) => {
  const { threads, a2a, traces, exports, oauth, rest } = manifest;
  let state: string;
  let server: StateServer;
  let api: Api;
  let receiver: Receiver;
  const files = () => databases(d1Folder(state)).map((file) => basename(file));
  let before: string[];

  beforeAll(async () => {
    state = unpack(manifest);
    before = files();
    const port = await quietPort();
    receiver = await startReceiver();
    prepare(state, manifest, { to: `http://127.0.0.1:${port}`, receiver: receiver.url });
    const vars = {
      ...manifest.secrets,
      ALLOW_PRIVATE_ADDRESSES: "true",
      OFFLINE_MODEL_DELAY_MS: "0",
      TRACE_RETENTION_DAYS: "36500",
      TRACE_RETENTION_DAYS_SHORT: "36500",
    };
    server = await startOn(state, vars, { port });
    api = new Api(server.url, { "x-api-key": manifest.key, "x-tenant-id": manifest.workspace_id });
  });
  afterAll(async () => {
    receiver?.stop();
    await server?.stop();
    if (state) remove(state);
  });

  it("uses the same database file", () => {
    expect(files()).toEqual(before);
  });

  it("ends every open run without a request", () => expectAllEnd(api, threads));
  it.each(threads.cut)("repeats no finished node and loses no event: run $run", (run) => expectWhole(api, run));
  it.each(threads.queued)("runs queued runs in order: thread $thread", (one) => expectInOrder(api, one));
  it("writes one trace for each of these runs", () => expectTraced(api, threads.traced));
  it("ends the stateless run and deletes its thread", () => expectStateless(api, threads));
  it("delivers the outbox", () => expectDelivered(threads, a2a.waiting, receiver));
  it("continues A2A tasks", () => expectTasks(api, a2a));

  it.each(threads.rest)("keeps the thread and takes another turn: $what", (thread) => expectAtRest(api, thread));
  it("reads an old checkpoint", () => expectMiddle(api, threads.middle));
  it.each(threads.waiting)("resumes an interrupted thread with a $by", (one) => expectAnswered(api, one));
  it("applies TTLs", () => expectLifetimes(api, threads));

  it.each(traces.projects)("keeps every trace run of $name", (project) => expectProject(api, project));
  it("reads payloads and attachments from R2", () => expectPayloads(api, traces));
  it("keeps feedback and accepts an existing link", () => expectFeedback(api, traces));
  it("keeps datasets and experiments", () => expectDataset(api, traces));

  it.each(pickCases(exports.jobs, 1))("completes the interrupted export with each row once: $id", (job) =>
    expectExported(api, job),
  );
  it("continues the schedule", () => expectSchedule(api, exports.schedule));

  it("accepts and refreshes tokens, and refuses ended ones", () => expectTokens(api, oauth));
  it("keeps assistants with their versions", () => expectAssistant(api, rest));
  it("accepts and refuses the same API keys", () => expectKeys(api, rest));
  itThorough("keeps crons and fires the due one", () => expectCrons(api, rest));
  it("keeps Store items", () => expectItems(api, rest));
  it("keeps idempotent answers", () => expectIdempotent(api, rest));

  itThorough("migrates old state to a layout that this version has", async () => {
    const thread = crypto.randomUUID();
    await turn(api, thread, "echo", "new");
    const project = await sendProject(api, "new project", 1, 3);
    // An object migrates when it is opened.
    await readEveryPartition(api);
    await server.kill();
    for (const [className, id] of [
      ["Thread", thread],
      ["TracePartition", project.id],
    ] as const) {
      const objects = databases(objectFolder(state, className)).map((file) => ({ file, name: readName(file) ?? "" }));
      const fresh = readLayout(objects.find(({ name }) => name.includes(id))?.file ?? "");
      const old = objects
        .filter(({ name }) => name.startsWith(manifest.workspace_id) && !name.includes(id))
        .filter(({ file }) => isUsed(file));
      const layouts = old.map(({ file, name }) => ({ name, layout: readLayout(file) }));
      // A deleted object has no tables.
      const kept = layouts.filter(({ layout }) => Object.keys(layout).length > 0);
      expect(kept.length).toBeGreaterThan(layouts.length / 2);
      // A new day has the tables that it has needed so far, an old one all. An old thread keeps its tables, and a new one has one.
      const isOldThread = ({ layout }: (typeof kept)[number]) => layout.thread?.includes("only INTEGER") ?? false;
      for (const { name, layout } of kept.filter((one) => !isOldThread(one)))
        expect({ ...fresh, ...layout }, `the tables of ${name}`).toMatchObject(fresh);
      const [least, most, oldThreads] = className === "Thread" ? [1, 1, 4] : [4, Infinity, 0];
      expect(Object.keys(fresh).length).toBeGreaterThanOrEqual(least);
      expect(Object.keys(fresh).length).toBeLessThanOrEqual(most);
      expect(kept.filter(isOldThread).length).toBeGreaterThanOrEqual(oldThreads);
    }
    const empty = mkdtempSync(join(tmpdir(), "weir-"));
    await migrate(databaseIn(localConfig()), empty);
    expect(readLayout(databases(d1Folder(state))[0] ?? "")).toEqual(readLayout(databases(d1Folder(empty))[0] ?? ""));
    remove(empty);
  });
});

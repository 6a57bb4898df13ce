/** This version on the state of the previous release, and the previous release on the state of this version. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Api, human, waitUntil } from "../support/api.ts";
import { type Deployment, fillDeployment, readDeployment, REFUSED, runTurn, startRun } from "./deployment.ts";
import { checkOutRelease, CURRENT, migrateState, readFormats, serveState, type Version } from "./release.ts";

let release: Version;
const folders: string[] = [];
beforeAll(() => {
  release = checkOutRelease();
  folders.push(release.folder);
});
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A deployment of `version` that was killed while `run` was in flight: the folder of its state, what it holds and what it said. */
async function makeDeployment(version: Version) {
  const state = mkdtempSync(join(tmpdir(), "weir-state-"));
  folders.push(state);
  migrateState(version, state);
  const server = await serveState(version, state);
  try {
    const made = await fillDeployment(server.url);
    const api = new Api(server.url, made.headers);
    return { state, made, said: await readDeployment(api, made), run: await startRun(api) };
  } finally {
    await server.stop("SIGKILL");
  }
}

/** Serves the state with `version` while `work` is done. */
async function serveWhile(version: Version, state: string, made: Deployment, work: (api: Api) => Promise<void>) {
  const server = await serveState(version, state);
  await work(new Api(server.url, made.headers)).finally(() => server.stop("SIGKILL"));
}

const endOf = (api: Api, run: string) =>
  waitUntil(`${run} ends`, 90, async () => {
    const { status } = await api.get<{ status: string }>(run);
    return status === "pending" || status === "running" ? undefined : status;
  });

it("this version reads the state of the previous release, and continues its work", async () => {
  const { state, made, said, run } = await makeDeployment(release);
  migrateState(CURRENT, state);
  await serveWhile(CURRENT, state, made, async (api) => {
    expect(await readDeployment(api, made)).toMatchObject(said);
    expect(await endOf(api, run)).toBe("success");
    await runTurn(api, made.waiting, "approval", { command: { resume: "approve" } });
    expect(await api.get(`/threads/${made.waiting}`)).toMatchObject({ status: "idle", interrupts: {} });
    expect(await runTurn(api, made.finished, "echo", { input: human("again") })).toHaveProperty("messages");
    await api.call("PATCH", `/api/v1/runs/${made.traced}`, { outputs: { late: true } });
  });
});

it("the previous release works on the state of this version, or refuses it", async () => {
  const { state, made, said, run } = await makeDeployment(CURRENT);
  const [newer, older] = [readFormats(CURRENT), readFormats(release)];
  const isReadable = (of: string) => (newer[of] ?? 0) <= (older[of] ?? 0);
  await serveWhile(release, state, made, async (api) => {
    const expected = Object.entries(said).map(([what, { of, says }]) => [
      what,
      { of, says: isReadable(of) ? says : REFUSED },
    ]);
    expect(Object.fromEntries(expected)).toMatchObject(await readDeployment(api, made));
    const runs = ["thread", "index", "limiter", "ledger"].every(isReadable);
    expect(runs ? await endOf(api, run) : "success").toBe("success");
    const turn = async () => runTurn(api, crypto.randomUUID(), "echo", { input: human("new") });
    expect(runs ? await turn() : { messages: [] }).toHaveProperty("messages");
  });
});

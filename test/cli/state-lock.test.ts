/** One process owns a folder of state: real processes on one folder. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { serve } from "../../scripts/local-server.ts";
import { ALL } from "../support/thorough.ts";
import { lockState, type StateOwner } from "../../src/cli/dev/state-lock.ts";

const ROOT = join(import.meta.dirname, "../..");
const MODULE = join(ROOT, "src/cli/dev/state-lock.ts");
/** Waits for a line, takes the lock, says so or why not, and keeps it until it is ended. */
const PROGRAM = `
import { lockState } from ${JSON.stringify(MODULE)};
process.stdin.once("data", () => {
  try {
    lockState(process.argv[1], "http://127.0.0.1:" + process.argv[2]);
    console.log("owner");
    setInterval(() => {}, 1_000);
  } catch (error) {
    console.log(error.name + ": " + error.message);
    process.exit(1);
  }
});
console.log("ready");
`;

const ROUNDS = ALL ? 10 : 2;

const started: ChildProcess[] = [];

interface Opener {
  pid: number;
  /** Has it take the lock. Gives what it says. */
  open(): Promise<string>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** A process that is about to open the folder. `uid` is the user that it runs as. */
async function startOpener(folder: string, port = 1, uid?: number): Promise<Opener> {
  const args = ["--input-type=module", "--no-warnings", "--eval", PROGRAM, folder, String(port)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], uid });
  started.push(child);
  child.stdout.setEncoding("utf8");
  const readLine = async () => String((await once(child.stdout, "data"))[0]).trim();
  expect(await readLine()).toBe("ready");
  return {
    pid: child.pid as number,
    open() {
      child.stdin.write("\n");
      return readLine();
    },
    async kill(signal) {
      child.kill(signal);
      await once(child, "exit");
    },
  };
}

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-lock-"));
  state = join(folder, "state");
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Writes the file of an owner. */
function writeOwner(text: string | StateOwner): void {
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "owner.7"), typeof text === "string" ? text : JSON.stringify(text));
}
const listOwners = () => readdirSync(state).filter((name) => name.startsWith("owner."));
const readOwner = () => JSON.parse(readFileSync(join(state, listOwners()[0] ?? ""), "utf8")) as StateOwner;

describe("a folder of state", () => {
  it("has one owner: the second process is told which one, and takes over when it is killed", async () => {
    const [first, second, third] = [
      await startOpener(state, 11),
      await startOpener(state, 12),
      await startOpener(state, 13),
    ];
    expect(await first.open()).toBe("owner");
    expect(await second.open()).toBe(
      `Fault: ${state} is in use: process ${first.pid} serves it on http://127.0.0.1:11. Stop that process, or use another folder: --state <folder>.`,
    );
    await first.kill("SIGKILL");
    expect(await third.open()).toBe("owner");
    expect(listOwners()).toHaveLength(1);
    expect(readOwner()).toMatchObject({ pid: third.pid, url: "http://127.0.0.1:13" });
  });

  it.each([
    ["is new", () => {}],
    [
      "was left by a process that was killed",
      () => writeOwner({ pid: 2 ** 22 + 1, started: "x", url: "http://127.0.0.1:1" }),
    ],
  ])("that %s goes to one of five that start at the same moment", async (_, prepare) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      rmSync(state, { recursive: true, force: true });
      prepare();
      const openers = await Promise.all(Array.from({ length: 5 }, () => startOpener(state)));
      const said = await Promise.all(openers.map((one) => one.open()));
      const owner = openers[said.indexOf("owner")];
      expect(said.filter((line) => line === "owner")).toHaveLength(1);
      expect(said.filter((line) => line.includes(`process ${owner?.pid} `))).toHaveLength(4);
      expect(listOwners()).toHaveLength(1);
      for (const child of started.splice(0)) child.kill("SIGKILL");
    }
  });

  it("is free when its owner's pid is another process now", () => {
    lockState(state, "http://127.0.0.1:1").release();
    writeOwner({ pid: process.pid, started: "another boot 1", url: "http://127.0.0.1:1" });
    lockState(state, "http://127.0.0.1:2");
    expect(readOwner()).toMatchObject({ pid: process.pid, url: "http://127.0.0.1:2" });
  });

  it("is in use when the system does not say when the owner started, with the file to delete", () => {
    writeOwner({ pid: process.pid, url: "http://127.0.0.1:1" });
    const fault = `If process ${process.pid} is another program, delete ${join(state, "owner.7")}.`;
    expect(() => lockState(state, "http://127.0.0.1:2")).toThrow(fault);
  });

  it.each(["", "not JSON", "null", "[]", '{"pid":0}', '{"pid":-1}', '{"pid":"1"}', '{"pid":1e99}'])(
    "is free when the file of its owner is %j",
    (content) => {
      writeOwner(content);
      lockState(state, "http://127.0.0.1:1");
      expect(readOwner()).toMatchObject({ pid: process.pid });
    },
  );

  it("is free once its owner has released it, and is not made again when it was deleted", () => {
    const first = lockState(state, "http://127.0.0.1:1");
    expect(() => lockState(state, "http://127.0.0.1:2")).toThrow(/is in use: process/);
    first.release();
    const second = lockState(state, "http://127.0.0.1:2");
    rmSync(state, { recursive: true });
    second.release();
    expect(existsSync(state)).toBe(false);
  });

  it("that cannot be written is named", async () => {
    chmodSync(folder, 0o555);
    const nobody = process.getuid?.() === 0 ? 65_534 : undefined;
    const said = await (await startOpener(state, 1, nobody)).open();
    expect(said).toBe(
      `Fault: The folder of state ${state} cannot be written (EACCES). Make it writable, or name another one with --state.`,
    );
    chmodSync(folder, 0o755);
  });
});

it.each([
  ["weir dev", ["src/cli/main.ts", "dev"]],
  ["npm start", ["scripts/start.ts"]],
])("%s refuses a folder that is in use, and says so in one line", (_, [script = "", ...args]) => {
  lockState(state, "http://127.0.0.1:1");
  // The project that `npm start` serves.
  const project = args.length > 0 ? [join(ROOT, "examples", "demo")] : [];
  const given = [join(ROOT, script), ...args, ...project, "--state", state];
  const { status, stdout, stderr } = spawnSync(process.execPath, given, { encoding: "utf8" });
  const fault = `${state} is in use: process ${process.pid} serves it on http://127.0.0.1:1. `;
  expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: "", stderr: expect.stringContaining(fault) });
  expect(stderr.trim().split("\n")).toHaveLength(1);
});

it("the servers of tests refuse a folder that is in use", async () => {
  lockState(state, "http://127.0.0.1:1");
  await expect(serve({ port: 2, persistTo: state, group: "own" })).rejects.toThrow(`process ${process.pid} serves it`);
});

/** The two servers of the comparison, each in a folder of its own with the same graphs in its own language. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietPort } from "../../support/ports.ts";
import { newProject, startDev } from "../../support/project.ts";
import { FOLDER, program, pythonEnv } from "./environment.ts";

export interface Server {
  url: string;
  /** Everything that it has printed. */
  readLog(): string;
  stop(): Promise<void>;
}

const GRAPHS = join(FOLDER, "peers");
/** A free port may be taken before the server listens on it. */
const TRIES = 3;
const START_MS = 60_000;

async function startAgain(start: () => Promise<Server>): Promise<Server> {
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      return await start();
    } catch (error) {
      if (left === 0) throw error;
      console.log(`Started again: ${String(error)}`);
    }
  }
}

/** `weir dev` on the graphs in JavaScript. */
export async function startWeir(): Promise<Server> {
  const folder = join(GRAPHS, "javascript");
  const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]);
  return startAgain(async () => {
    const project = newProject(Object.fromEntries(files) as Record<string, string>);
    const dev = await startDev(project.root);
    const stop = async () => {
      await dev.stop();
      project.remove();
    };
    try {
      await dev.says(/Weir listens on/);
    } catch (error) {
      await stop();
      throw error;
    }
    return { url: dev.url, readLog: () => dev.readPrinted(), stop };
  });
}

/** `langgraph dev` on the graphs in Python. */
export async function startPeer(): Promise<Server> {
  return startAgain(async () => {
    const folder = mkdtempSync(join(tmpdir(), "weir-peer-"));
    cpSync(join(GRAPHS, "python"), folder, { recursive: true });
    const port = await quietPort();
    const args = ["dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", "4", "--port", String(port)];
    const child = spawn(program("server", "langgraph"), args, {
      cwd: folder,
      env: { ...pythonEnv(), LANGSMITH_TRACING: "false", LANGGRAPH_NO_ANALYTICS: "1", NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let log = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (log += text));
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const stop = async () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    };
    const url = `http://127.0.0.1:${port}`;
    if (!(await answers(url, () => child.exitCode !== null))) {
      await stop();
      throw new Error(`langgraph dev did not start.\n${log}`);
    }
    return { url, readLog: () => log, stop };
  });
}

/** Whether the server answers before it ends. */
async function answers(url: string, hasEnded: () => boolean): Promise<boolean> {
  const until = Date.now() + START_MS;
  while (Date.now() < until && !hasEnded()) {
    const ok = await fetch(`${url}/ok`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}

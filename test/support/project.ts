/** A small LangGraph project in a temporary folder, and `weir` run in it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { quietPort } from "./ports.ts";

const ROOT = join(import.meta.dirname, "..", "..");
/** The command line from the sources of this repository. */
export const CLI = join(ROOT, "src", "cli", "main.ts");

/** A graph that answers what `answer`, an expression over `state` and `config`, gives. */
export const answering = (answer: string, head = ""): string => `
import { AIMessage } from "@langchain/core/messages";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
${head}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", async (state, config) => ({ messages: [new AIMessage(String(${answer}))] }))
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile();
`;

export interface TestProject {
  root: string;
  write(path: string, content: string | object): void;
  remove(): void;
}

/** Writes the files. Packages are this repository's, and those that `files` has under node_modules. */
export function newProject(files: Record<string, string | object>): TestProject {
  const root = mkdtempSync(join(tmpdir(), "weir-project-"));
  mkdirSync(join(root, "node_modules"));
  for (const name of ["@langchain", "zod", "hono"])
    symlinkSync(join(ROOT, "node_modules", name), join(root, "node_modules", name));
  writeFiles(root, files);
  return {
    root,
    write: (path, content) => writeFiles(root, { [path]: content }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Writes files by their path in the folder: texts, and objects as JSON. */
export function writeFiles(folder: string, files: Record<string, string | object>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }
}

export interface RunningDev {
  url: string;
  pid: number;
  /** Everything that it has printed. */
  readPrinted(): string;
  /** Waits until it has printed this. */
  says(pattern: RegExp): Promise<void>;
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>;
  /** Asks it to end. Gives its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** `weir dev` in a folder, with more arguments. `command` is the program's file, this repository's if left out. */
export async function startDev(root: string, command: string = CLI, more: string[] = []): Promise<RunningDev> {
  const port = await quietPort();
  const child: ChildProcess = spawn(process.execPath, [command, "dev", root, "--port", String(port), ...more], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      for (const look of waiting) look();
    });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  void ended.then(() => waiting.forEach((look) => look()));
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid as number,
    ended,
    readPrinted: () => text,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!pattern.test(text) && child.exitCode === null) return;
          waiting.delete(look);
          if (pattern.test(text)) resolve();
          else reject(new Error(`It ended before it said ${pattern}:\n${text}`));
        };
        waiting.add(look);
        look();
      }),
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return ended;
    },
  };
}

/** The processes that descend from this one, without those that have ended and were not waited for. */
export function descendants(pid: number): number[] {
  const listDescendants = (one: number): number[] =>
    listProcesses()
      .filter(({ parent }) => parent === one)
      .flatMap(({ pid: child }) => [child, ...listDescendants(child)]);
  return listDescendants(pid);
}

/** Every process of this machine that runs. */
export function listProcesses(): { pid: number; parent: number }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [state, parent] = readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
        return state === "Z" ? [] : [{ pid: Number(name), parent: Number(parent) }];
      } catch {
        return []; // It has ended since.
      }
    });
}

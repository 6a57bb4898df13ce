/** The demo project as its users serve it: with `weir dev` of the built package of a checkout, or with `langgraphjs dev`. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { quietPort } from "../../../test/support/ports.ts";
import { peerCommand, setUpPeer } from "./peer.ts";
import { connectServer, type Server, type Spawned, spawnServer } from "./server.ts";

export interface DevProject {
  /** How the figures call its server. */
  name: string;
  /** Starts the server, which took some milliseconds until its first answer. */
  start(): Promise<Server & { took: number }>;
  /** Has `echo` answer with this in front. */
  edit(greeting: string): void;
  remove(): void;
}

export function devProject(checkout: string): DevProject {
  const root = resolve(checkout);
  const command = join(root, "dist", "cli", "main.js");
  if (!existsSync(command)) throw new Error(`${command} is missing: npm run build:package`);
  const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
  cpSync(join(root, "examples", "demo"), folder, { recursive: true, filter: (path) => !path.includes(".weir") });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, ".dev.vars"), "OFFLINE_MODEL_DELAY_MS=0\n");
  const start = (port: number) =>
    spawnServer(process.execPath, [command, "dev", folder, "--port", `${port}`], folder, process.env);
  return projectIn("weir dev", folder, start);
}

/** Installs `langgraphjs dev`. Throws when it cannot be installed. */
export function peerProject(): DevProject {
  const folder = setUpPeer();
  return projectIn("langgraphjs dev", folder, (port) => {
    const { args, env } = peerCommand(folder, port);
    return spawnServer(process.execPath, args, folder, env);
  });
}

function projectIn(name: string, folder: string, spawn: (port: number) => Spawned): DevProject {
  const echo = join(folder, "src", "echo.ts");
  const source = readFileSync(echo, "utf8");
  return {
    name,
    async start() {
      const port = await quietPort();
      const url = `http://127.0.0.1:${port}`;
      const began = performance.now();
      const child = spawn(port);
      await child.up(`${url}/ok`);
      const took = performance.now() - began;
      const persistTo = name === "weir dev" ? join(folder, ".weir", "state") : undefined;
      return {
        ...connectServer({ url, pid: child.pid }),
        name,
        persistTo,
        took,
        [Symbol.asyncDispose]: () => child.stop(),
      };
    },
    edit: (greeting) => writeFileSync(echo, source.replace("You said", greeting)),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }),
  };
}

/** Proportional set size of a process in MB: its own memory, and its part of what it shares. */
export function pss(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024;
  } catch {
    return 0; // It has ended since.
  }
}

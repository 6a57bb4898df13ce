/** A server under measurement. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Client } from "@langchain/langgraph-sdk";

/** It ends when the block that holds it with `await using` does. */
export interface Server extends AsyncDisposable {
  /** How the figures call it. */
  name: string;
  url: string;
  client: Client;
  /** The root of its process tree on this machine; without one there are no processor times. */
  pid: number | undefined;
  /** The folder of its state, where that is known. */
  persistTo?: string;
  /** What a call carries. */
  headers: Record<string, string>;
}

/** A Weir that was started here, with a workspace and a key of it. */
export interface Weir extends Server {
  pid: number;
  persistTo: string;
  workspaceId: string;
  key: string;
  /** Where V8's inspector listens, if it does. */
  inspectorPort?: number;
  /** Ends the process; its state stays as long as the server is in use. */
  end(): Promise<void>;
}

/** A server that runs already. */
export function connectServer({ url, key, pid }: { url: string; key?: string; pid?: number }): Server {
  const headers: Record<string, string> = key ? { "x-api-key": key } : {};
  const client = new Client({ apiUrl: url, apiKey: key ?? null });
  return { name: url, url, client, pid, headers, [Symbol.asyncDispose]: () => Promise.resolve() };
}

export interface Spawned {
  pid: number;
  /** Waits until the address answers with 200. Rejects with what the process wrote when it ends before that. */
  up(url: string): Promise<void>;
  /** SIGTERM, and SIGKILL after ten seconds. */
  stop(): Promise<void>;
}

/** Starts a server in a child process, whose output is kept to be shown when it fails. */
export function spawnServer(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): Spawned {
  const child: ChildProcess = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => (output = (output + String(chunk)).slice(-4_000)));
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    async up(url) {
      for (let attempt = 0; attempt < 1_800 && !hasEnded(); attempt += 1) {
        const ok = await fetch(url).then(
          ({ ok }) => ok,
          () => false,
        );
        if (ok) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      child.kill("SIGKILL");
      throw new Error(`The server did not start.\n${output}`);
    },
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

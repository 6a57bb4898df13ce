/**
 * The JavaScript Agent Server in memory, from the npm registry, in a project of its own outside this repository, with the
 * same `echo` and `agent` as Weir's: their files are copied, and their dependencies have this repository's versions.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietPort } from "../../../test/support/ports.ts";
import { connectServer, type Server, spawnServer } from "./server.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const SERVER = "1.5.1";

/** Packages that the graphs import. The SDK is named because npm does not find a version of it in reasonable time. */
const SHARED = [
  "@langchain/core",
  "@langchain/langgraph",
  "@langchain/langgraph-checkpoint",
  "@langchain/langgraph-sdk",
  "@langchain/openai",
  "@langchain/protocol",
  "fparser",
  "zod",
] as const;

const entryWith = (delayMs: number) => `import { agent as factory } from "./src/agent.ts";
export { echo } from "./src/echo.ts";
export const agent = factory({}, { OFFLINE_MODEL_DELAY_MS: "${delayMs}" } as never);
`;

/** What a project of the reference server serves. */
export interface PeerProject {
  /** `langgraph.json`'s graphs. */
  graphs: Record<string, string>;
  /** The text of its `graphs.ts`. */
  entry: string;
  /** What becomes its folder `src`. */
  source: string;
}

const DEMO: PeerProject = {
  graphs: { echo: "./graphs.ts:echo", agent: "./graphs.ts:agent" },
  entry: entryWith(0),
  source: join(ROOT, "examples", "demo", "src"),
};

function raise(text: string): never {
  throw new Error(text);
}

/** Writes and installs the project. Gives its folder. `delayMs`: milliseconds between two tokens of the demo's model. */
export function setUpPeer(project = DEMO, delayMs = 0): string {
  const { graphs, entry, source } = delayMs > 0 ? { ...project, entry: entryWith(delayMs) } : project;
  const folder = mkdtempSync(join(tmpdir(), "weir-peer-"));
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  const version = (name: string) => devDependencies[name] ?? raise(`package.json names no version of ${name}`);
  const write = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value, null, 2));
  write("package.json", {
    private: true,
    type: "module",
    dependencies: {
      ...Object.fromEntries(SHARED.map((name) => [name, version(name)])),
      "@langchain/langgraph-api": SERVER,
      "@langchain/langgraph-cli": SERVER,
      typescript: "5.9.3",
    },
    // What the server brings would else have a second copy of them.
    overrides: Object.fromEntries(["@langchain/core", "@langchain/protocol"].map((name) => [name, version(name)])),
  });
  write("langgraph.json", { node_version: "22", dependencies: ["."], graphs });
  writeFileSync(join(folder, "graphs.ts"), entry);
  cpSync(source, join(folder, "src"), { recursive: true });
  try {
    execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: "pipe", timeout: 300_000 });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(
      `npm cannot install the JavaScript Agent Server ${SERVER}, which is the peer. ${(error as Error).message}`,
      { cause: error },
    );
  }
  return folder;
}

/** What is made with the peer's packages; nothing, with the reason printed, where npm cannot install them. */
export function useIfInstalled<T>(make: () => T): T[] {
  try {
    return [make()];
  } catch (error) {
    console.log(`${(error as Error).message}\n`);
    return [];
  }
}

/** What `langgraphjs dev` is started with. */
export function peerCommand(folder: string, port: number): { args: string[]; env: NodeJS.ProcessEnv } {
  const cli = join(folder, "node_modules", "@langchain", "langgraph-cli", "dist", "cli", "cli.mjs");
  return {
    args: [cli, "dev", "--host", "127.0.0.1", "--port", String(port), "--no-browser"],
    env: { ...process.env, LANGGRAPH_CLI_NO_ANALYTICS: "1", LANGSMITH_TRACING: "false" },
  };
}

/** Sets the project up and starts it as its users do. The folder is deleted with the server. */
export async function startPeer(folder = setUpPeer()): Promise<Server> {
  const port = await quietPort();
  const url = `http://127.0.0.1:${port}`;
  const { args, env } = peerCommand(folder, port);
  const child = spawnServer(process.execPath, [...args, "--no-reload"], folder, env);
  await child.up(`${url}/ok`);
  return {
    ...connectServer({ url, pid: child.pid }),
    name: `langgraph-api ${SERVER}`,
    async [Symbol.asyncDispose]() {
      await child.stop();
      // The server writes its state when it ends.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}

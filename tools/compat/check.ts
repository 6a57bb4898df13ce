/** Serves a project with `weir dev` and makes complete runs with the stock client. */
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { quietPort } from "../../test/support/ports.ts";
import { readLanggraphVersion } from "./prepare.ts";
import type { Project } from "./projects.ts";

const MAIN = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

export interface Outcome {
  /** The version of LangGraph that is installed. */
  langgraph: string;
  /** By graph: how many tokens the client saw, and how the run ended; an error says why it did not. */
  graphs: Record<string, { tokens: number; status: string; error?: string }>;
}

/** Makes the project's runs. `provider` is the address of the fake provider. Throws when the server does not start. */
export async function check(project: Project, root: string, provider: string): Promise<Outcome> {
  const port = await quietPort();
  const env = { ...process.env, ...environment(provider), ...project.env };
  const child = spawn(process.execPath, [MAIN, "dev", root, "--port", String(port), "--verbose"], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(join(root, "weir-compat.log"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      log.write(text);
    });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  try {
    const key = await waitUntilReady(() => output, ended);
    const client = new Client({ apiUrl: `http://127.0.0.1:${port}`, apiKey: key, callerOptions: { maxRetries: 0 } });
    const graphs: Outcome["graphs"] = {};
    for (const [graph, input] of Object.entries(project.runs ?? (await findUsualInput(client))))
      graphs[graph] = await run(client, graph, input);
    return { langgraph: readLanggraphVersion(root), graphs };
  } finally {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(late);
    log.end();
  }
}

function environment(provider: string): Record<string, string> {
  const key = "sk-of-the-fake-provider";
  return {
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: `${provider}/v1`,
    ANTHROPIC_API_KEY: key,
    ANTHROPIC_BASE_URL: provider,
    TAVILY_API_KEY: "tvly-of-no-account",
    GOOGLE_API_KEY: "of-no-account",
  };
}

/** The key that `weir dev` prints when it is ready. Rejects with what it printed when it ends, or after two minutes. */
async function waitUntilReady(output: () => string, ended: Promise<void>): Promise<string> {
  const over = ended.then(() => "over" as const);
  for (let attempt = 0; attempt < 240; attempt += 1) {
    const [, key] = /x-api-key: ([^"\s]+)/.exec(output()) ?? [];
    if (key) return key;
    const pause = new Promise((resolve) => setTimeout(resolve, 500));
    if ((await Promise.race([over, pause])) === "over") break;
  }
  throw new Error(output().slice(-1_500) || "weir dev printed nothing.");
}

/** A message to the first assistant. */
async function findUsualInput(client: Client): Promise<Record<string, unknown>> {
  const assistants = await client.assistants.search({ limit: 100 });
  const graph =
    assistants.find(({ graph_id }) => graph_id === "agent")?.graph_id ?? assistants.at(-1)?.graph_id ?? "agent";
  return { [graph]: { messages: [{ role: "user", content: "Hello. What can you do?" }] } };
}

async function run(client: Client, graph: string, input: unknown): Promise<Outcome["graphs"][string]> {
  let tokens = 0;
  let error: string | undefined;
  const thread = await client.threads.create();
  try {
    const config = { recursion_limit: 40, configurable: { user_id: "compat", userId: "compat" } };
    const options = { input: input as never, config, streamMode: ["values" as const, "messages-tuple" as const] };
    const signal = AbortSignal.timeout(90_000);
    for await (const { event, data } of client.runs.stream(thread.thread_id, graph, {
      ...options,
      streamSubgraphs: true,
      signal,
    })) {
      if (event.startsWith("messages")) tokens += 1;
      if (event === "error") error = (data as { message?: string }).message ?? JSON.stringify(data);
    }
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  const { status, values } = await client.threads.get(thread.thread_id);
  // A graph that pauses in its first node may have none yet.
  if (Object.keys(values ?? {}).length === 0 && status !== "interrupted") error ??= "The run left no state.";
  return { tokens, status, ...(error !== undefined && { error: error.slice(0, 400) }) };
}

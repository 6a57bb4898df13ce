import { Client, RunTree } from "langsmith";
import type { Access } from "./server.ts";

/** Sends a trace with LangSmith's SDK: a root, and below it a tool that gave `text`, or failed with it. Its id. */
export async function sendTrace(
  { url, key }: Access,
  { project, name, text, failed = false }: { project: string; name: string; text: string; failed?: boolean },
): Promise<string> {
  const client = new Client({ apiUrl: url, apiKey: key, autoBatchTracing: false });
  const now = Date.now();
  const root = new RunTree({
    client,
    name,
    project_name: project,
    run_type: "chain",
    inputs: { question: "What now?" },
    metadata: { thread_id: "a thread of somewhere else", customer: "Ada" },
    start_time: now - 2_000,
    tracingEnabled: true,
  });
  const child = root.createChild({ name: "look_up", run_type: "tool", inputs: { key: "x" }, start_time: now - 1_000 });
  for (const run of [child, root]) await run.end(failed ? undefined : { text }, failed ? text : undefined, now);
  for (const run of [root, child]) await run.postRun();
  return root.id;
}

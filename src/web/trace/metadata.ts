/** The metadata of a run, apart by who sets it. */

/** Longer values are clipped; the API has them whole. */
const CLIP = 500;

/** What LangSmith's SDKs, LangChain and LangGraph add. */
const PREFIX = /^(ls|lc|langgraph|__pregel|LANGSMITH|LANGCHAIN)_/;

/** What the server adds to each run (`mergeMetadata`), and LangGraph to those of a thread. */
const NAMES = new Set([
  "assistant_id",
  "checkpoint_id",
  "checkpoint_map",
  "checkpoint_ns",
  "created_by",
  "cron_id",
  "graph_id",
  "revision_id",
  "run_attempt",
  "run_id",
  "thread_id",
]);

type Entry = [key: string, text: string];

/** The entries as texts: those that a person or a program set, and those of the platform. */
export function splitMetadata(metadata: Record<string, unknown>): { own: Entry[]; platform: Entry[] } {
  const own: Entry[] = [];
  const platform: Entry[] = [];
  for (const [key, value] of Object.entries(metadata)) {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    const shown: Entry = [key, text.length > CLIP ? `${text.slice(0, CLIP)}…` : text];
    (NAMES.has(key) || PREFIX.test(key) ? platform : own).push(shown);
  }
  return { own, platform };
}

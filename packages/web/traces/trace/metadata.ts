/** The metadata of a run, apart by who sets it. */

/** Longer values are clipped; the API has them whole. */
const CLIP = 500;

/** What LangSmith's SDKs, LangChain and LangGraph add, and what the server adds to each run (`mergeMetadata`). */
const PLATFORM =
  /^((ls|lc|langgraph|__pregel|LANGSMITH|LANGCHAIN)_.*|(assistant|checkpoint|cron|graph|revision|run|thread)_id|checkpoint_(map|ns)|created_by|run_attempt)$/;

type Entry = [key: string, text: string];

/** The entries as texts: those that a person or a program set, and those of the platform. */
export function splitMetadata(metadata: Record<string, unknown>): { own: Entry[]; platform: Entry[] } {
  const own: Entry[] = [];
  const platform: Entry[] = [];
  for (const [key, value] of Object.entries(metadata)) {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    const shown: Entry = [key, text.length > CLIP ? `${text.slice(0, CLIP)}…` : text];
    (PLATFORM.test(key) ? platform : own).push(shown);
  }
  return { own, platform };
}

/** `weir threads list`. */
import type { createApi } from "../api.ts";
import { Fault } from "../fault.ts";
import { readTime } from "../numbers.ts";
import { oneLine, printJson, formatTime } from "../console.ts";

interface Thread {
  thread_id: string;
  updated_at: string;
  status: string;
  metadata: Record<string, unknown>;
  error?: unknown;
}

interface Options {
  status?: string;
  search?: string;
  metadata?: string[];
  since?: string;
  until?: string;
  limit: number;
  json?: boolean;
}

const PAGE = 100;
const FIELDS = ["thread_id", "created_at", "updated_at", "status", "metadata", "error"];

export async function listThreads(call: ReturnType<typeof createApi>, options: Options): Promise<void> {
  const { threads, more } = await find(call, options);
  if (options.json) return printJson(threads);
  for (const thread of threads) console.log(formatLine(thread));
  if (threads.length === 0) console.error("No threads match.");
  if (more) console.error(`There are more than ${options.limit}. --limit shows more, --until those before a time.`);
}

/** The threads that changed last come first, so the search ends at the first one that is too old. */
async function find(
  call: ReturnType<typeof createApi>,
  options: Options,
): Promise<{ threads: Thread[]; more: boolean }> {
  const { status, search, metadata = [], limit } = options;
  const since = options.since === undefined ? "" : readTime("since", options.since);
  const until = options.until === undefined ? "9999" : readTime("until", options.until);
  const chosen = {
    sort_by: "updated_at",
    sort_order: "desc",
    select: FIELDS,
    ...(status !== undefined && { status }),
    ...(search !== undefined && { query: search }),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata.map(splitPair)) }),
  };
  const threads: Thread[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = await call<Thread[]>("POST", "/threads/search", { ...chosen, limit: PAGE, offset });
    threads.push(...page.filter(({ updated_at: at }) => at >= since && at < until));
    if (threads.length > limit) return { threads: threads.slice(0, limit), more: true };
    if (page.length < PAGE || (page.at(-1)?.updated_at ?? "") < since) return { threads, more: false };
  }
}

function splitPair(text: string): [string, unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw new Fault(`--metadata is "${text}". Give <key>=<value>.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function formatLine({ updated_at, status, thread_id, metadata }: Thread): string {
  const { graph_id: graph, title } = metadata;
  const names = [graph, title].map((name) => (typeof name === "string" ? oneLine(name, 60) : ""));
  return [formatTime(updated_at), status.padEnd(11), thread_id, ...names].filter(Boolean).join("  ");
}

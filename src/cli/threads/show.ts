/** `weir threads show`, `history` and `runs`: one thread. */
import type { createApi } from "../api.ts";
import { cutText, indent, oneLine, printJson, formatTime } from "../console.ts";

type Call = ReturnType<typeof createApi>;

interface Thread {
  status: string;
  updated_at: string;
  metadata: object;
  values: Record<string, unknown> | null;
  interrupts: Record<string, unknown>;
  error?: { error: string; message: string };
}

interface Checkpoint {
  checkpoint: { checkpoint_id: string } | null;
  created_at: string | null;
  next: string[];
  metadata: { step?: number; source?: string; run_id?: string } | null;
  tasks: { name: string; error: string | null; interrupts: unknown[] }[];
}

interface Run {
  run_id: string;
  created_at: string;
  updated_at: string;
  status: string;
  assistant_id: string;
}

const path = (id: string) => `/threads/${encodeURIComponent(id)}`;

export async function showThread(call: Call, id: string, { json, chars }: { json?: boolean; chars: number }) {
  const thread = await call<Thread>("GET", path(id));
  if (json) return printJson(thread);
  const { status, updated_at, metadata, values, interrupts, error } = thread;
  const waits = Object.values(interrupts).flat();
  console.log(`${id}  ${status}  ${formatTime(updated_at)}\nmetadata: ${oneLine(JSON.stringify(metadata), chars)}`);
  if (error) console.log(`error: ${cutText(`${error.error}: ${error.message}`, chars)}`);
  if (waits.length > 0) console.log(`waits for an answer to:\n${indent(cutText(waits, chars), "  ")}`);
  for (const [name, value] of Object.entries(values ?? {}))
    console.log(`${oneLine(name, 100)}:\n${indent(cutText(value, chars), "  ")}`);
}

export async function showHistory(
  call: Call,
  id: string,
  { json, limit, before }: { json?: boolean; limit: number; before?: string },
) {
  // The values of a long thread are large: only JSON has them.
  const select = json ? undefined : ["checkpoint", "created_at", "next", "metadata", "tasks"];
  const body = { limit, ...(before !== undefined && { before }), ...(select && { select }) };
  const states = await call<Checkpoint[]>("POST", `${path(id)}/history`, body);
  if (json) return printJson(states);
  for (const state of states) console.log(formatCheckpoint(state));
  const last = states.at(-1)?.checkpoint?.checkpoint_id;
  if (states.length === limit && last) console.error(`--before ${last} shows those before.`);
}

function formatCheckpoint({ checkpoint, created_at, next, metadata, tasks }: Checkpoint): string {
  const errors = tasks.flatMap(({ name, error }) => (error ? `error in ${name}: ${error}` : []));
  const waits = tasks.some(({ interrupts }) => interrupts.length > 0) ? "waits for an answer" : "";
  const then = next.length > 0 ? `next ${next.join(", ")}` : "end";
  const step = `step ${metadata?.step ?? "?"} (${metadata?.source ?? "?"})`;
  const parts = [formatTime(created_at), checkpoint?.checkpoint_id, step, then, waits, ...errors];
  return oneLine(parts.filter(Boolean).join("  "), 400);
}

export async function showRuns(call: Call, id: string, { json, limit }: { json?: boolean; limit: number }) {
  const runs = await call<Run[]>("GET", `${path(id)}/runs?limit=${limit}`);
  if (json) return printJson(runs);
  for (const { run_id, created_at, updated_at, status, assistant_id } of runs)
    console.log([formatTime(created_at), status.padEnd(11), run_id, assistant_id, formatTime(updated_at)].join("  "));
}

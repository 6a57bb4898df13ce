/** Multipart bodies of 100 runs, as the LangSmith SDK sends them. */
import { gzipSync } from "node:zlib";
import { segment } from "../../../src/traces/time.ts";

export const BATCH = 100;
export const BOUNDARY = "----WeirBench";

const WORDS = "the river holds measures and lets through what it was given in the order it came".split(" ");

/** Milliseconds of a day over which scattered traces begin. */
const SCATTER = 80_000_000;
/** The names of scattered runs of one kind. */
const NAMES = 20;

/**
 * Runs `first` to `first + 99` of a project, in traces of ten; `days` are the milliseconds that days begin at. Scattered traces
 * begin at any time of the day, as those of a backfill, and their runs have more names.
 */
export function batch(
  project: string,
  first: number,
  days: number[],
  isScattered = false,
): { body: Uint8Array; bytes: number } {
  const parts: string[] = [];
  const part = (name: string, value: unknown) => {
    const json = JSON.stringify(value);
    parts.push(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json; length=${json.length}\r\n\r\n${json}\r\n`,
    );
  };
  let root: { id: string; dotted: string } | undefined;
  for (let n = first; n < first + BATCH; n++) {
    // Traces of ten runs: a chain, and under it model and tool calls.
    const place = n % 10;
    const trace = Math.floor(n / 10);
    // The golden ratio spreads numbers evenly, in an order that looks random.
    const offset = isScattered ? Math.floor(((trace * 0.618_033_988_75) % 1) * SCATTER) + place : n % SCATTER;
    const start = ((days[trace % days.length] ?? 0) + offset) * 1000;
    const id = uuid(start, n);
    const own = segment(start, id);
    if (place === 0) root = { id, dotted: own };
    const dotted = place === 0 || !root ? own : `${root.dotted}.${own}`;
    const kind = place === 0 ? "chain" : place % 2 === 1 ? "llm" : "tool";
    const text = (length: number) =>
      Array.from({ length }, (_, i) => WORDS[(n * 7 + i * 3 + (n % 13) * i) % WORDS.length]).join(" ");
    const iso = new Date(start / 1000).toISOString();
    part(`post.${id}`, {
      id,
      trace_id: root?.id ?? id,
      ...(place === 0 ? {} : { parent_run_id: root?.id }),
      dotted_order: dotted,
      name: isScattered ? `${kind} ${(n * 7) % NAMES}` : kind,
      run_type: kind,
      session_name: project,
      start_time: iso,
      end_time: start / 1000 + (n % 5_000),
      tags: n % 1_000 === 7 ? ["bench", "rare"] : ["bench"],
    });
    part(`post.${id}.inputs`, { messages: [{ role: "user", content: `${text(115)} ${n % 997}` }] });
    const usage =
      kind === "llm"
        ? { usage_metadata: { input_tokens: n % 900, output_tokens: n % 300, total_tokens: (n % 900) + (n % 300) } }
        : {};
    part(`post.${id}.outputs`, {
      role: "assistant",
      content: n % 9_973 === 5 ? "a needle in the haystack" : text(140),
      ...usage,
    });
    part(`post.${id}.extra`, {
      metadata: {
        user_id: `u${n % 500}`,
        thread_id: `t-${Math.floor(n / 100)}`,
        ls_provider: "openai",
        ls_model_name: "gpt-4o",
      },
      runtime: { library: "langsmith", runtime: "node", sdk: "langsmith-js", sdk_version: "0.12.0" },
    });
    if (n % 50 === 3) part(`post.${id}.error`, "Error: boom");
  }
  const whole = `${parts.join("")}--${BOUNDARY}--\r\n`;
  return { body: gzipSync(whole, { level: 1 }), bytes: whole.length };
}

function uuid(start: number, n: number): string {
  const time = Math.floor(start / 1000)
    .toString(16)
    .padStart(12, "0");
  const random = Math.floor(Math.random() * 2 ** 24)
    .toString(16)
    .padStart(6, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${n.toString(16).padStart(6, "0").slice(-6)}${random}`;
}
